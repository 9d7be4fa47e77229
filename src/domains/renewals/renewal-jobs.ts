/** When the renewal worker runs: every five minutes, and after an event that may make a charge possible. */
import type { Executor } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { RenewalWorker } from './renewal-worker.ts';

const QUEUE = 'domains.renewals';
const EVERY_FIVE_MINUTES = '*/5 * * * *';

/** Before the jobs are started. */
export function defineRenewals(jobs: Jobs, worker: Pick<RenewalWorker, 'runDue'>): void {
  // The next run comes within minutes: a failed one is not repeated.
  const options = { concurrency: 1, retryLimit: 0 };
  jobs.define(QUEUE, async ({ signal }) => void (await worker.runDue(signal)), options);
  jobs.schedule(QUEUE, EVERY_FIVE_MINUTES, {});
}

/** Runs the worker once the transaction commits, such as that of a top-up. */
export async function wakeRenewals(jobs: Jobs, executor: Executor): Promise<void> {
  await jobs.enqueue(executor, QUEUE, {}, { singletonKey: 'wake' });
}
