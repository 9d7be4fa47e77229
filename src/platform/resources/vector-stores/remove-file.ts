import { FILE_DELETED, failFile, holdStore, removeFiles } from '../../knowledge/ingest/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';

/**
 * What deleting a file means to the stores that hold it, in the deletion's own transaction: where it was being indexed it
 * fails with `invalid_file`, everywhere else it is taken out, chunks and all. Call it before the file's row is deleted; it
 * holds that row, so that nobody adds the file to a store meanwhile.
 */
export async function removeFileFromStores(tx: TenantTransaction, fileId: string): Promise<void> {
  await tx.raw({
    text: 'select from files where project_id = $1 and id = $2 for update',
    values: [fileId],
  });
  const { rows } = await tx.raw<{ vector_store_id: string }>({
    text: `select vector_store_id from vector_store_files where project_id = $1 and file_id = $2
           order by vector_store_id`,
    values: [fileId],
  });
  for (const { vector_store_id } of rows) {
    // A store that is deleted loses its rows by itself.
    const store = await holdStore(tx, vector_store_id);
    if (store === undefined) continue;
    const failed = await failFile(tx, store, { fileId }, FILE_DELETED);
    if (!failed) await removeFiles(tx, store, [fileId]);
  }
}
