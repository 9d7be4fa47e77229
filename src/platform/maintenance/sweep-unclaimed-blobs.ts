/** Blobs whose rows never came, because a process died between the two, or went, and left them behind. */
import type { BlobStore } from '../../kernel/blobs/blobs.ts';
import type { Database } from '../../kernel/db/database.ts';

/** Blobs a statement. */
const BATCH_SIZE = 100;

interface UnclaimedBlob {
  readonly project_id: string;
  readonly blob_key: string;
}

/**
 * Removes the blobs whose time to be claimed is over. Throws the store's error when none of a batch could be removed; a
 * later sweep removes what is left.
 */
export async function sweepUnclaimedBlobs(
  { db, blobs }: { readonly db: Database; readonly blobs: BlobStore },
  signal: AbortSignal,
): Promise<void> {
  for (let taken = BATCH_SIZE; taken === BATCH_SIZE && !signal.aborted; ) {
    const rows = await takeUnclaimed(db);
    const outcomes = await Promise.allSettled(rows.map((row) => removeOne(db, blobs, row)));
    const failures = outcomes.filter((outcome) => outcome.status === 'rejected');
    if (failures.length > 0 && failures.length === rows.length) throw failures[0]?.reason;
    taken = rows.length;
  }
}

/** From here on no upload can claim them. Those that an upload is just claiming are left alone. */
async function takeUnclaimed(db: Database): Promise<UnclaimedBlob[]> {
  const { rows } = await db.query<UnclaimedBlob>({
    text: `
      update unclaimed_blobs set removable_at = '-infinity'
      where (project_id, blob_key) in (
        select project_id, blob_key from unclaimed_blobs
        where removable_at <= now() order by removable_at desc limit ${BATCH_SIZE} for update skip locked)
      returning project_id, blob_key`,
    values: [],
  });
  return rows;
}

async function removeOne(db: Database, blobs: BlobStore, { project_id, blob_key }: UnclaimedBlob): Promise<void> {
  await blobs.remove(blob_key);
  await db.query({
    text: 'delete from unclaimed_blobs where project_id = $1 and blob_key = $2',
    values: [project_id, blob_key],
  });
}
