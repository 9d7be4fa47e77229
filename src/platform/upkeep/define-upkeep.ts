/** Housekeeping that some replica does on time: what has had its day is removed, in bounded bites. */
import type { BlobStore } from '../../kernel/blobs/blobs.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { sweepUnclaimedBlobs } from './sweep-unclaimed-blobs.ts';

const SWEEP_IDEMPOTENCY_KEYS = 'sweep-idempotency-keys';
const SWEEP_UNCLAIMED_BLOBS = 'sweep-unclaimed-blobs';
/** Rows a statement: a bite must not hold locks for long. */
const BITE = 5_000;

/** Defines the jobs and their times. Call before `jobs.start`. */
export function defineUpkeep(jobs: Jobs, parts: { readonly db: Database; readonly blobs: BlobStore }): void {
  const { db } = parts;
  jobs.define(SWEEP_IDEMPOTENCY_KEYS, ({ signal }) => sweepIdempotencyKeys(db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_IDEMPOTENCY_KEYS, '7 * * * *', {});
  jobs.define(SWEEP_UNCLAIMED_BLOBS, ({ signal }) => sweepUnclaimedBlobs(parts, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_UNCLAIMED_BLOBS, '37 * * * *', {});
}

/** Removes stored answers that are past their 24 hours. */
export async function sweepIdempotencyKeys(db: Database, signal: AbortSignal): Promise<void> {
  for (let removed = BITE; removed === BITE && !signal.aborted; ) {
    const { rowCount } = await db.query({
      text: `
        delete from idempotency_keys where ctid in (
          select ctid from idempotency_keys where expires_at <= now() limit ${BITE})`,
      values: [],
    });
    removed = rowCount;
  }
}
