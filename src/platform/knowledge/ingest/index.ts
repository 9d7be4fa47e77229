/** Files into vector stores: a durable job a file, which survives the death of its server. */
import { sleep } from '../../../kernel/clock/timers.ts';
import type { Job, Jobs } from '../../../kernel/jobs/jobs.ts';
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

/** Files that one process indexes at a time, and those of one project among them: slow ones must not hold up all others. */
const FILES_AT_A_TIME = 6;
const FILES_PER_PROJECT = 4;
/** For runs that were aborted to write down that they ended in order. */
const SETTLE_MS = 2_000;

export interface Ingestion {
  /** Waits for the runs that the end of the jobs has aborted. */
  stop(): Promise<void>;
}

/** Defines the jobs. Call before `jobs.start`. */
export function defineIngestion(jobs: Jobs, deps: IngestionDependencies): Ingestion {
  const metrics = createIngestionMetrics(deps.metrics);
  const running = new Set<Promise<void>>();
  const ingest = (job: Job<IngestJob>): Promise<void> => {
    const run = ingestFile(deps, metrics, jobs, job).finally(() => running.delete(run));
    running.add(run);
    return run;
  };
  jobs.define<IngestJob>(INGEST_FILE, ingest, {
    concurrency: FILES_AT_A_TIME,
    concurrencyPerGroup: FILES_PER_PROJECT,
    retryLimit: MAX_RUNS,
    // A file is judged by the ends of its reading, see reading-mark.ts.
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
  return {
    async stop() {
      const late = new AbortController();
      await Promise.race([Promise.allSettled(running), sleep(SETTLE_MS, late.signal).catch(() => undefined)]);
      late.abort();
    },
  };
}
