/**
 * Wake-ups about runs, within this replica and between replicas: "this run has changed", "cancel this run", "this run is
 * that replica's to execute" and "this replica holds turns". Hints only; whoever is woken reads the rows.
 */
import { setTimer, sleep } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';

export interface HandedOverRun {
  readonly replicaId: string;
  readonly projectId: string;
  readonly runId: string;
}

const CHANGES_CHANNEL = 'run_changes';
const CANCEL_CHANNEL = 'run_cancel';
const ORPHAN_CHANNEL = 'run_orphans';
const HAND_OVER_CHANNEL = 'run_hand_over';
const ACTIVE_CHANNEL = 'replicas_active';
/** Keeps a message under the limit of a notification. */
const IDS_PER_MESSAGE = 200;
/**
 * Changes within this time are sent together, after the first at once: PostgreSQL serializes the commits of all
 * notifications.
 */
const SEND_INTERVAL_MS = 20;

export interface RunSignals {
  start(handlers: {
    onCancel: (runId: string) => void;
    onOrphans: () => void;
    /** Of this replica as well; undefined: wake-ups may have been missed. */
    onActive: (replicaId: string | undefined) => void;
    onHandOver: (run: HandedOverRun) => void;
  }): Promise<void>;
  /** Tells every replica that these runs have changed. Does not wait. */
  announce(runIds: readonly string[]): void;
  /** Has whichever replica executes the run, or holds a call of it, end it. */
  requestCancel(runId: string): Promise<void>;
  handOver(run: HandedOverRun): Promise<void>;
  announceOrphans(): Promise<void>;
  /** Tells every replica that this one sends heartbeats after a rest. */
  announceActive(replicaId: string): Promise<void>;
  /** Remembers the run's changes from now on, until it is closed. Opened before a read, it misses none behind the read. */
  watch(runId: string): RunWatch;
  stop(): Promise<void>;
}

export interface RunWatch {
  /** Resolves at a change since the last call (or the opening), after `timeoutMs`, or when `signal` fires. */
  next(timeoutMs: number, signal?: AbortSignal): Promise<void>;
  close(): void;
}

export function createRunSignals(db: Database, onError: (error: unknown) => void): RunSignals {
  const watches = new Map<string, Set<Watch>>();
  const stops: (() => Promise<void>)[] = [];
  const stopping = new AbortController();
  const changed = new Set<string>();
  let sending: Promise<void> | undefined;
  const wake = (runId: string) => {
    for (const watch of watches.get(runId) ?? []) watch.wake();
  };
  const wakeAll = () => {
    for (const runId of watches.keys()) wake(runId);
  };
  return {
    async start({ onCancel, onOrphans, onActive, onHandOver }) {
      stops.push(await db.listen(CHANGES_CHANNEL, (payload) => payload.split(',').forEach(wake), wakeAll));
      stops.push(await db.listen(CANCEL_CHANNEL, onCancel));
      stops.push(await db.listen(ORPHAN_CHANNEL, onOrphans, onOrphans));
      stops.push(await db.listen(ACTIVE_CHANNEL, onActive, () => onActive(undefined)));
      stops.push(
        await db.listen(HAND_OVER_CHANNEL, (payload) => {
          const [replicaId = '', projectId = '', runId = ''] = payload.split(' ');
          onHandOver({ replicaId, projectId, runId });
        }),
      );
    },
    announce(runIds) {
      runIds.forEach(wake);
      if (db.kind === 'embedded') return;
      for (const id of runIds) changed.add(id);
      sending ??= sendChanges();
    },
    requestCancel: (runId) => db.notify(CANCEL_CHANNEL, runId).catch(onError),
    handOver: ({ replicaId, projectId, runId }) =>
      db.notify(HAND_OVER_CHANNEL, `${replicaId} ${projectId} ${runId}`).catch(onError),
    announceOrphans: () => db.notify(ORPHAN_CHANNEL, ''),
    announceActive: (replicaId) => db.notify(ACTIVE_CHANNEL, replicaId).catch(onError),
    watch(runId) {
      const set = watches.get(runId) ?? new Set();
      watches.set(runId, set);
      const watch = new Watch(() => {
        set.delete(watch);
        if (set.size === 0 && watches.get(runId) === set) watches.delete(runId);
      });
      set.add(watch);
      return watch;
    },
    async stop() {
      stopping.abort();
      await sending;
      await Promise.all(stops.map((stop) => stop()));
    },
  };

  /** Until none are left. */
  async function sendChanges(): Promise<void> {
    while (changed.size > 0) {
      const ids = [...changed];
      changed.clear();
      for (let from = 0; from < ids.length; from += IDS_PER_MESSAGE) {
        const payload = ids.slice(from, from + IDS_PER_MESSAGE).join(',');
        await db.notify(CHANGES_CHANNEL, payload).catch(onError);
      }
      if (!stopping.signal.aborted) await sleep(SEND_INTERVAL_MS, stopping.signal).catch(() => {});
    }
    sending = undefined;
  }
}

class Watch implements RunWatch {
  readonly #onClose: () => void;
  #hasChanged = false;
  #resolve: (() => void) | undefined;

  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  wake(): void {
    this.#hasChanged = true;
    this.#resolve?.();
  }

  async next(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (!this.#hasChanged && signal?.aborted !== true) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const timer = setTimer(resolve, timeoutMs, { keepsProcess: true });
      const onAbort = () => resolve();
      signal?.addEventListener('abort', onAbort, { once: true });
      await promise;
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      this.#resolve = undefined;
    }
    this.#hasChanged = false;
  }

  close(): void {
    this.#onClose();
  }
}
