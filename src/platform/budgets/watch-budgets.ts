/** Budgets at work on one replica, and the job that counts them anew. */
import { systemClock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Worker } from '../../kernel/http/service-lifecycle.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { createPeriodicWorker, SPARE_LOOK_MS } from '../../kernel/periodic/periodic-worker.ts';
import { announceThresholds } from './announce-thresholds.ts';
import { releaseExpired } from './reserve.ts';
import { type Budget, settlePeriod } from './settle-period.ts';
import { BUDGETS_CHANNEL } from './spending-sql.ts';

/** Crossings wake it; this looks for what was lost, and for reservations that have expired. */
const INTERVAL_MS = 15_000;
const SETTLE_BUDGETS = 'settle-budgets';
const BATCH = 500;

export function createBudgetWatch({ db, logger }: { readonly db: Database; readonly logger: Logger }): Worker {
  const watch = createPeriodicWorker({
    name: 'budgets',
    intervalMs: INTERVAL_MS,
    store: db,
    quietMs: SPARE_LOOK_MS,
    pass: async (signal) => {
      while ((await announceThresholds(db)) && !signal.aborted);
      await releaseExpired(db);
    },
    logger,
  });
  let stopListening: (() => Promise<void>) | undefined;
  const stop = async (): Promise<void> => {
    await stopListening?.();
    stopListening = undefined;
    await watch.stop();
  };
  return {
    async start() {
      const wake = () => watch.wake();
      stopListening = await db.listen(BUDGETS_CHANNEL, wake, wake);
      watch.start();
    },
    drain: stop,
    stop,
  };
}

/** Defines the hourly job. Call before `jobs.start`. */
export function defineBudgetJobs(jobs: Jobs, { db }: { readonly db: Database }): void {
  jobs.define(SETTLE_BUDGETS, ({ signal }) => settleBudgets(db, signal), { concurrency: 1 });
  jobs.schedule(SETTLE_BUDGETS, '22 * * * *', {});
}

/**
 * Counts the present period of every budget anew. They change with the usage itself; what was under way while a budget was
 * created is found here.
 */
export async function settleBudgets(db: Database, signal: AbortSignal): Promise<void> {
  let after = ['', ''];
  for (let budgets: Budget[] | undefined; budgets === undefined || budgets.length === BATCH; ) {
    const { rows } = await db.query<Budget>({
      text: `
        select project_id, id, scope, scope_id, period, limit_micros from budgets
        where (project_id, id) > ($1, $2) order by project_id, id limit ${BATCH}`,
      values: after,
    });
    budgets = rows;
    for (const budget of budgets) {
      if (signal.aborted) return;
      await db.transaction((tx) => settlePeriod(tx, budget, systemClock.now()));
      after = [budget.project_id, budget.id];
    }
  }
  await db.query({
    text: `
      delete from budget_periods p
      where not exists (select from budgets b where b.project_id = p.project_id and b.id = p.budget_id)`,
    values: [],
  });
}
