import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { Sandbox } from './sandbox.ts';

const SWEEP_SANDBOXES = 'sweep-sandboxes';

/** Defines the job and its times. Call before `jobs.start`. */
export function defineSandboxJobs(jobs: Jobs, sandbox: Pick<Sandbox, 'sweep'>): void {
  jobs.define(SWEEP_SANDBOXES, ({ signal }) => sandbox.sweep(signal), { concurrency: 1 });
  jobs.schedule(SWEEP_SANDBOXES, '22 * * * *', {});
}
