/**
 * Writes the timelines of all live turns in batches, off the hot path: a few statements a tick, whatever the number of
 * turns. Then wakes readers on other replicas. A turn's first unflushed frame sets the timer; without any the writer has none.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { LiveTurn } from './live-turn.ts';
import type { RunSignals } from './run-signals.ts';

export const FLUSH_INTERVAL_MS = 200;
/** A longer statement holds the event loop up, while it is written, for longer than a word may be late. */
const TURNS_A_STATEMENT = 100;

export interface TimelineWriter {
  /** Flushes from now on. */
  start(): void;
  /** A live turn has unflushed frames. */
  wake(): void;
  /** Writes everything that is pending now. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

export function createTimelineWriter(deps: {
  db: Pick<Database, 'query'>;
  signals: Pick<RunSignals, 'announce'>;
  logger: Pick<Logger, 'warn'>;
  liveTurns: () => Iterable<LiveTurn>;
}): TimelineWriter {
  let timer: Timer | undefined;
  let current: Promise<void> = Promise.resolve();
  /** A timer must not be set in the context of a turn, which may be that of a transaction. Undefined: not started. */
  let runOutside: ReturnType<typeof AsyncLocalStorage.snapshot> | undefined;
  let stopped = false;
  let ticking = false;

  const flush = async (): Promise<void> => {
    const dirty = [...deps.liveTurns()].filter(isDue);
    for (let from = 0; from < dirty.length; from += TURNS_A_STATEMENT) {
      // Some have been written, or have ended, while those before them were.
      const due = dirty.slice(from, from + TURNS_A_STATEMENT).filter(isDue);
      if (due.length > 0) await write(due);
    }
  };

  const write = async (turns: readonly LiveTurn[]): Promise<void> => {
    const { promise: settled, resolve } = Promise.withResolvers<boolean>();
    const rows = turns.flatMap((turn) =>
      turn.beginFlush(settled).map((frame) => ({
        p: turn.key.projectId,
        r: turn.key.runId,
        a: turn.key.attempt,
        s: frame.seq,
        t: frame.type,
        d: frame.data,
        c: frame.created_at,
      })),
    );
    try {
      await deps.db.query({ ...statement, values: [json(rows)] });
      resolve(true);
      deps.signals.announce(turns.map((turn) => turn.key.runId));
    } catch (error) {
      resolve(false);
      deps.logger.warn({ err: error }, 'timeline not written yet; trying again');
    }
    await settled;
  };

  const tick = () => {
    timer = undefined;
    ticking = true;
    current = flush().finally(() => {
      ticking = false;
      // Frames came meanwhile, were not written, or are of a turn whose start is not stored yet.
      if (hasFrames()) wake();
    });
  };

  const hasFrames = () => [...deps.liveTurns()].some(({ hasUnflushed }) => hasUnflushed);

  const wake = () => {
    if (runOutside === undefined || stopped || ticking) return;
    timer ??= runOutside(() => setTimer(tick, FLUSH_INTERVAL_MS, { keepsProcess: true }));
  };

  return {
    start() {
      runOutside = AsyncLocalStorage.snapshot();
      if (hasFrames()) wake();
    },
    wake,
    async flush() {
      await current;
      await flush();
    },
    async stop() {
      stopped = true;
      timer?.cancel();
      await current;
      await flush();
    },
  };
}

function isDue({ hasUnflushed, flush, starting }: LiveTurn): boolean {
  return hasUnflushed && flush === undefined && starting === undefined;
}

/** Fenced by the attempt: the former executor of a turn that was taken over writes nothing. */
const statement = {
  text: `
    insert into run_events (project_id, run_id, seq, type, data, created_at)
    select f.p, f.r, f.s, f.t, f.d, f.c
    from jsonb_to_recordset($1::jsonb) as f (p text, r text, a int, s bigint, t text, d jsonb, c timestamptz)
    join runs on runs.project_id = f.p and runs.id = f.r and runs.attempt = f.a
    on conflict do nothing`,
};
