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
  /** Resolves at the run's next news, after `timeoutMs`, or when `signal` fires. */
  waitForNews(runId: string, timeoutMs: number, signal?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

export function createRunSignals(db: Database, onError: (error: unknown) => void): RunSignals {
  const waiting = new Map<string, Set<() => void>>();
  const stops: (() => Promise<void>)[] = [];
  const wake = (runId: string) => {
    for (const resolve of waiting.get(runId) ?? []) resolve();
  };
  const wakeAll = () => {
    for (const runId of [...waiting.keys()]) wake(runId);
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
    waitForNews(runId, timeoutMs, signal) {
      return new Promise((resolve) => {
        const set = waiting.get(runId) ?? new Set();
        waiting.set(runId, set);
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', done);
          set.delete(done);
          if (set.size === 0) waiting.delete(runId);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        set.add(done);
        if (signal?.aborted) done();
        else signal?.addEventListener('abort', done, { once: true });
      });
    },
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}
