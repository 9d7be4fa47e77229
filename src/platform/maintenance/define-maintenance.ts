/** Jobs that remove what has expired, in bounded batches; one replica at a time runs each. */
import type { BlobStore } from '../../kernel/blobs/blobs.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { reconcileStorage } from './reconcile-storage.ts';
import { sweepConnectionWaits } from './sweep-connection-waits.ts';
import { sweepOrphanedBlobs } from './sweep-orphaned-blobs.ts';
import { sweepPushedTraces } from './sweep-pushed-traces.ts';
import { sweepRunCredentials } from './sweep-run-credentials.ts';
import { sweepTombstones } from './sweep-tombstones.ts';
import { sweepUnclaimedBlobs } from './sweep-unclaimed-blobs.ts';

const SWEEP_IDEMPOTENCY_KEYS = 'sweep-idempotency-keys';
const SWEEP_UNCLAIMED_BLOBS = 'sweep-unclaimed-blobs';
const SWEEP_ORPHANED_BLOBS = 'sweep-orphaned-blobs';
const RECONCILE_STORAGE = 'reconcile-storage';
const SWEEP_PUSHED_TRACES = 'sweep-pushed-traces';
const SWEEP_RUN_CREDENTIALS = 'sweep-run-credentials';
const SWEEP_CONNECTION_WAITS = 'sweep-connection-waits';
const SWEEP_TOMBSTONES = 'sweep-tombstones';
/** Rows a statement: a batch must not hold locks for long. */
const BATCH_SIZE = 5_000;

/** Defines the jobs and their times. Call before `jobs.start`. */
export function defineMaintenance(
  jobs: Jobs,
  deps: { readonly db: Database; readonly blobs: BlobStore; readonly logger: Logger },
): void {
  const { db } = deps;
  jobs.define(SWEEP_IDEMPOTENCY_KEYS, ({ signal }) => sweepIdempotencyKeys(db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_IDEMPOTENCY_KEYS, '7 * * * *', {});
  jobs.define(SWEEP_UNCLAIMED_BLOBS, ({ signal }) => sweepUnclaimedBlobs(deps, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_UNCLAIMED_BLOBS, '37 * * * *', {});
  jobs.define(SWEEP_ORPHANED_BLOBS, ({ signal }) => sweepOrphanedBlobs(deps, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_ORPHANED_BLOBS, '47 * * * *', {});
  jobs.define(RECONCILE_STORAGE, ({ signal }) => reconcileStorage(deps, signal), { concurrency: 1 });
  jobs.schedule(RECONCILE_STORAGE, '52 * * * *', {});
  jobs.define(SWEEP_PUSHED_TRACES, ({ signal }) => sweepPushedTraces(db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_PUSHED_TRACES, '27 * * * *', {});
  jobs.define(SWEEP_RUN_CREDENTIALS, ({ signal }) => sweepRunCredentials(db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_RUN_CREDENTIALS, '57 * * * *', {});
  jobs.define(SWEEP_CONNECTION_WAITS, ({ signal }) => sweepConnectionWaits(db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_CONNECTION_WAITS, '17 * * * *', {});
  jobs.define(SWEEP_TOMBSTONES, ({ signal }) => sweepTombstones(db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_TOMBSTONES, '42 * * * *', {});
}

/** Removes stored answers that are past their 24 hours. */
export async function sweepIdempotencyKeys(db: Database, signal: AbortSignal): Promise<void> {
  for (let removed = BATCH_SIZE; removed === BATCH_SIZE && !signal.aborted; ) {
    const { rowCount } = await db.query({
      text: `
        delete from idempotency_keys where ctid in (
          select ctid from idempotency_keys where expires_at <= now() limit ${BATCH_SIZE})`,
      values: [],
    });
    removed = rowCount;
  }
}
