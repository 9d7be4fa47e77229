/** Removes the rows of a store that was deleted or has expired, in batches that hold no lock for long. */

import type { Database } from '../../../kernel/db/database.ts';
import type { EnqueueOptions, Jobs } from '../../../kernel/jobs/jobs.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';

export const REMOVE_STORE = 'remove-vector-store';

const CHUNKS_A_BATCH = 2_000;
const FILES_A_BATCH = 100;

export interface RemoveStoreJob {
  readonly projectId: string;
  readonly vectorStoreId: string;
}

/** Call it in the transaction that deletes the store. */
export async function enqueueStoreRemoval(tx: TenantTransaction, jobs: Jobs, vectorStoreId: string): Promise<void> {
  await tx.enqueue(jobs, REMOVE_STORE, ...storeRemoval({ projectId: tx.projectId, vectorStoreId }));
}

/** The job's data, and that it waits once. */
export function storeRemoval(job: RemoveStoreJob): [RemoveStoreJob, EnqueueOptions] {
  return [job, { singletonKey: `${job.projectId}/${job.vectorStoreId}` }];
}

/**
 * Goes on where an earlier run ended. A store that is neither deleted nor expired is left alone; the row of an expired one
 * stays.
 */
export async function removeStore(db: Database, job: RemoveStoreJob, signal: AbortSignal): Promise<void> {
  const values = [job.projectId, job.vectorStoreId];
  const { rowCount: isOver } = await db.query({
    text: 'select from vector_stores where project_id = $1 and id = $2 and (deleted_at is not null or expired_at is not null)',
    values,
  });
  if (isOver === 0) return;
  await inBatches(signal, async () => {
    const { rowCount } = await db.query({
      text: `
        delete from vector_store_chunks where ctid in (
          select ctid from vector_store_chunks where project_id = $1 and vector_store_id = $2 limit ${CHUNKS_A_BATCH})`,
      values,
    });
    return rowCount === CHUNKS_A_BATCH;
  });
  await inBatches(signal, () => removeFiles(db, job));
  await db.transaction(async (tx) => {
    await tx.query({
      text: 'delete from vector_store_batches where project_id = $1 and vector_store_id = $2',
      values,
    });
    await tx.query({
      text: `
        update vector_stores set usage_bytes = 0, files_in_progress = 0, files_completed = 0, files_failed = 0,
          files_cancelled = 0
        where project_id = $1 and id = $2 and deleted_at is null`,
      values,
    });
    await tx.query({
      text: 'delete from vector_stores where project_id = $1 and id = $2 and deleted_at is not null',
      values,
    });
  });
}

/**
 * Whoever was still writing chunks of these files is waited for; what it wrote goes with them. Where they stood is kept for an
 * expired store, whose files can be listed still.
 */
async function removeFiles(db: Database, { projectId, vectorStoreId }: RemoveStoreJob): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ file_id: string }>({
      text: `
        with removed as (
          delete from vector_store_files where project_id = $1 and vector_store_id = $2 and file_id in (
            select file_id from vector_store_files where project_id = $1 and vector_store_id = $2 limit ${FILES_A_BATCH})
          returning file_id, position, batch_id
        ), noted as (
          insert into vector_store_file_tombstones (project_id, vector_store_id, file_id, position, batch_id)
          select $1, $2, file_id, position, batch_id from removed
          where exists (select from vector_stores where project_id = $1 and id = $2 and deleted_at is null)
        )
        select file_id from removed`,
      values: [projectId, vectorStoreId],
    });
    await tx.query({
      text: 'delete from vector_store_chunks where project_id = $1 and vector_store_id = $2 and file_id = any($3)',
      values: [projectId, vectorStoreId, rows.map((row) => row.file_id)],
    });
    return rows.length === FILES_A_BATCH;
  });
}

async function inBatches(signal: AbortSignal, batch: () => Promise<boolean>): Promise<void> {
  for (let more = true; more; more = await batch()) signal.throwIfAborted();
}
