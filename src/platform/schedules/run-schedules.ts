/** Schedules at work on one replica: one worker passes due times, one begins the turns of what waits. */
import type { Database } from '../../kernel/db/database.ts';
import type { Worker } from '../../kernel/http/service-lifecycle.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import { createPeriodicWorker } from '../../kernel/periodic/periodic-worker.ts';
import type { Engine } from '../engine/index.ts';
import { FIRES_CHANNEL } from './channel.ts';
import { createFireDispatcher } from './dispatch-fires.ts';
import { removeSettled } from './due-store.ts';
import { passAllDue } from './pass-due-times.ts';

/**
 * Due times are whole minutes; each look is one read of an index. Wake-ups begin the turns of what waits at once; there this
 * looks for what was lost, and for waits that are over.
 */
const INTERVAL_MS = 1_000;

const SWEEP_FIRES = 'sweep-schedule-fires';
const KEPT_MS = 30 * 86_400_000;
const ROWS_A_BATCH = 5_000;

export interface ScheduleDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Of due times and waits. */
  readonly now: () => Date;
  /** How often it looks for both. Default 1,000. */
  readonly intervalMs?: number | undefined;
}

export interface Schedules extends Worker {
  /** A turn of this smith has come to rest on this replica. */
  turnRested(owner: { readonly projectId: string; readonly smithId: string }): void;
}

export function createSchedules(deps: ScheduleDependencies): Schedules {
  const { db, logger, intervalMs = INTERVAL_MS } = deps;
  const dispatcher = createFireDispatcher({ ...deps, wake: () => dispatches.wake() });
  const dispatches = createPeriodicWorker({
    name: 'schedule dispatcher',
    intervalMs,
    store: db,
    pass: (signal) => dispatcher.dispatch(signal),
    logger,
  });
  const dueTimes = createPeriodicWorker({
    name: 'due schedules',
    intervalMs,
    store: db,
    pass: (signal) =>
      passAllDue(deps, signal, () => {
        dispatches.wake();
        db.wake(FIRES_CHANNEL);
      }),
    logger,
  });
  const listeners: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const unlisten of listeners.splice(0)) await unlisten();
    await Promise.all([dueTimes.stop(), dispatches.stop()]);
    await dispatcher.drain();
  };
  return {
    async start() {
      const wake = () => dispatches.wake();
      listeners.push(await db.listen(FIRES_CHANNEL, wake, wake));
      dueTimes.start();
      dispatches.start();
    },
    // What is being begun takes no longer than a statement or two.
    drain: stop,
    stop,
    turnRested: (owner) => dispatcher.turnRested(owner),
  };
}

/** Defines the job that removes old deliveries. Call before `jobs.start`. */
export function defineScheduleJobs(jobs: Jobs, { db, now }: Pick<ScheduleDependencies, 'db' | 'now'>): void {
  jobs.define(
    SWEEP_FIRES,
    async ({ signal }) => {
      const before = new Date(now().getTime() - KEPT_MS);
      for (let removed = ROWS_A_BATCH; removed === ROWS_A_BATCH && !signal.aborted; ) {
        removed = await removeSettled(db, before, ROWS_A_BATCH);
      }
    },
    { concurrency: 1 },
  );
  jobs.schedule(SWEEP_FIRES, '22 * * * *', {});
}
