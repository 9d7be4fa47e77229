/** When the scheduler of renewals runs: every few minutes, and when somebody has reason to believe that it can charge. */
import type { Executor } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { RenewalWorker } from './renewal-worker.ts';

const QUEUE = 'domains.renewals';
const EVERY_FIVE_MINUTES = '*/5 * * * *';

/** Before the jobs are started. */
export function defineRenewals(jobs: Jobs, worker: Pick<RenewalWorker, 'runDue'>): void {
  // The next minutes bring the next run: nothing is won by repeating one.
  const options = { concurrency: 1, retryLimit: 0 };
  jobs.define(QUEUE, async ({ signal }) => void (await worker.runDue(signal)), options);
  jobs.schedule(QUEUE, EVERY_FIVE_MINUTES, {});
}

/** Has the scheduler look once the transaction commits, such as that of a top-up. */
export async function wakeRenewals(jobs: Jobs, executor: Executor): Promise<void> {
  await jobs.enqueue(executor, QUEUE, {}, { singletonKey: 'wake' });
}
