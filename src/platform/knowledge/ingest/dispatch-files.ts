/**
 * The fair queue of files to be indexed. Each project has a few places in it, however many files it adds at once: a batch
 * of thousands takes no more of them than a batch of ten, so that another project's single file is soon next. Further
 * files are rows without a place, dispatched as places become free.
 */

import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';

export const INGEST_FILE = 'ingest-file';

/** Places of a project in the queue. More of them than one process works on, so that several processes can share a batch. */
export const PLACES_PER_PROJECT = 8;

export interface IngestJob {
  readonly projectId: string;
  readonly vectorStoreId: string;
  readonly fileId: string;
  readonly position: number;
}

/**
 * Gives the free places of the transaction's project to the files that wait longest. Call it in the transaction that adds files, after
 * every other lock of it.
 */
export async function dispatchFiles(tx: TenantTransaction, jobs: Jobs): Promise<void> {
  await tx.raw({
    text: "select pg_advisory_xact_lock(hashtextextended('ingestion/' || $1::text, 0))",
  });
  const { rows } = await tx.raw<{ vector_store_id: string; file_id: string; position: number }>({
    // A locked row is being cancelled or removed; waiting for it here could deadlock.
    text: `
      with taken as (
        select count(*) as places from vector_store_files
        where project_id = $1 and status = 'in_progress' and queued_at is not null
      ), next as (
        select f.vector_store_id, f.file_id, f.position from vector_store_files f
        where f.project_id = $1 and f.status = 'in_progress' and f.queued_at is null
          and exists (select from vector_stores s
                      where s.project_id = $1 and s.id = f.vector_store_id and s.deleted_at is null)
        order by f.position
        limit (select greatest($2 - places, 0) from taken)
        for update of f skip locked
      )
      update vector_store_files f set queued_at = now(), updated_at = now() from next
      where f.project_id = $1 and f.vector_store_id = next.vector_store_id and f.file_id = next.file_id
        and f.position = next.position
      returning f.vector_store_id, f.file_id, f.position`,
    values: [PLACES_PER_PROJECT],
  });
  for (const row of rows.sort((a, b) => a.position - b.position)) {
    const { vector_store_id: vectorStoreId, file_id: fileId, position } = row;
    const data: IngestJob = { projectId: tx.projectId, vectorStoreId, fileId, position };
    await tx.enqueue(jobs, INGEST_FILE, data, { singletonKey: String(position), group: tx.projectId });
  }
}
