/** Files into vector stores: a durable job a file, which survives the death of its server. */
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { IngestionDependencies } from './dependencies.ts';
import { INGEST_FILE, type IngestJob } from './dispatch-files.ts';
import { MAX_RUNS } from './ingest-failure.ts';
import { ingestFile } from './ingest-file.ts';
import { createIngestionMetrics } from './ingestion-metrics.ts';
import { REMOVE_STORE, type RemoveStoreJob, removeStore } from './remove-store.ts';
import { SWEEP_CRON, SWEEP_INGESTION, sweepIngestion } from './sweep-ingestion.ts';

export type { IngestionDependencies } from './dependencies.ts';
export { dispatchFiles } from './dispatch-files.ts';
export {
  addFiles,
  cancelBatchFiles,
  failFile,
  type HeldStore,
  holdStore,
  listAttached,
  type NewStoreFile,
  removeFiles,
} from './file-status.ts';
export { FILE_DELETED } from './ingest-failure.ts';
export { enqueueStoreRemoval } from './remove-store.ts';

/** Files that one process indexes at a time. */
const FILES_AT_A_TIME = 4;

/** Defines the jobs. Call before `jobs.start`. */
export function defineIngestion(jobs: Jobs, deps: IngestionDependencies): void {
  const metrics = createIngestionMetrics(deps.metrics);
  jobs.define<IngestJob>(INGEST_FILE, (job) => ingestFile(deps, metrics, jobs, job), {
    concurrency: FILES_AT_A_TIME,
    retryLimit: MAX_RUNS,
    abruptEndLimit: Number.POSITIVE_INFINITY,
    retryDelaySeconds: 1,
    retryDelayMaxSeconds: 30,
    timeoutSeconds: 900,
  });
  jobs.define<RemoveStoreJob>(REMOVE_STORE, ({ data, signal }) => removeStore(deps.db, data, signal), {
    concurrency: 1,
    retryLimit: 20,
    retryDelayMaxSeconds: 300,
  });
  jobs.define(SWEEP_INGESTION, ({ signal }) => sweepIngestion(deps.db, jobs, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_INGESTION, SWEEP_CRON, {});
}
