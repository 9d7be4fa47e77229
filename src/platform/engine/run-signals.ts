/**
 * Wake-ups about runs, within this replica and between replicas: "this run has news" and "cancel this run". Hints only;
 * whoever is woken reads the rows.
 */
import type { Database } from '../../kernel/db/database.ts';

const NEWS_CHANNEL = 'run_news';
const CANCEL_CHANNEL = 'run_cancel';
const ORPHAN_CHANNEL = 'run_orphans';
/** Keeps a message under the limit of a notification. */
const IDS_PER_MESSAGE = 200;

export interface RunSignals {
  start(handlers: { onCancel: (runId: string) => void; onOrphans: () => void }): Promise<void>;
  /** Tells every replica that these runs have news. Does not wait. */
  announce(runIds: readonly string[]): void;
  requestCancel(runId: string): Promise<void>;
  announceOrphans(): Promise<void>;
  /** Takes note of the run's news from now on, until it is closed. Open it before you look, and no news is missed. */
  watch(runId: string): RunWatch;
  stop(): Promise<void>;
}

export interface RunWatch {
  /** Resolves at news since the last call (or the opening), after `timeoutMs`, or when `signal` fires. */
  next(timeoutMs: number, signal?: AbortSignal): Promise<void>;
  close(): void;
}

export function createRunSignals(db: Database, onError: (error: unknown) => void): RunSignals {
  const watches = new Map<string, Set<Watch>>();
  const stops: (() => Promise<void>)[] = [];
  const wake = (runId: string) => {
    for (const watch of watches.get(runId) ?? []) watch.wake();
  };
  const wakeAll = () => {
    for (const runId of watches.keys()) wake(runId);
  };
  return {
    async start({ onCancel, onOrphans }) {
      stops.push(await db.listen(NEWS_CHANNEL, (payload) => payload.split(',').forEach(wake), wakeAll));
      stops.push(await db.listen(CANCEL_CHANNEL, onCancel));
      stops.push(await db.listen(ORPHAN_CHANNEL, onOrphans, onOrphans));
    },
    announce(runIds) {
      runIds.forEach(wake);
      if (db.kind === 'embedded') return;
      for (let from = 0; from < runIds.length; from += IDS_PER_MESSAGE) {
        db.notify(NEWS_CHANNEL, runIds.slice(from, from + IDS_PER_MESSAGE).join(',')).catch(onError);
      }
    },
    requestCancel: (runId) => db.notify(CANCEL_CHANNEL, runId),
    announceOrphans: () => db.notify(ORPHAN_CHANNEL, ''),
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
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

class Watch implements RunWatch {
  readonly #onClose: () => void;
  #hasNews = false;
  #resolve: (() => void) | undefined;

  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  wake(): void {
    this.#hasNews = true;
    this.#resolve?.();
  }

  async next(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (!this.#hasNews && signal?.aborted !== true) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const timer = setTimeout(resolve, timeoutMs);
      const onAbort = () => resolve();
      signal?.addEventListener('abort', onAbort, { once: true });
      await promise;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#resolve = undefined;
    }
    this.#hasNews = false;
  }

  close(): void {
    this.#onClose();
  }
}
