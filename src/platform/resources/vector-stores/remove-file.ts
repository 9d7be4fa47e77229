import { sql } from 'kysely';
import type { Transaction } from '../../../kernel/db/database.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { type TenantDb, tenantDb } from '../../tenant-scope.ts';

const CODE = 'invalid_file';
const MESSAGE = 'The file was deleted before it was indexed.';

/**
 * Takes a file that is being deleted out of every vector store: where it was still being indexed it is `failed`, from
 * the others it goes with what was indexed of it. The work grows with what was indexed of the file, not
 * with what else the stores hold.
 */
export async function removeFileFromStores(tx: Transaction, projectId: string, fileId: string): Promise<void> {
  const db = tenantDb(tx, projectId);
  const held = await db
    .selectFrom('vector_store_files')
    .select('vector_store_id')
    .where('file_id', '=', fileId)
    .orderBy('vector_store_id')
    .forUpdate()
    .execute();
  if (held.length === 0) return;
  await adjustStores(db, fileId);
  await db
    .deleteFrom('vector_store_chunks')
    .where('file_id', '=', fileId)
    .where('vector_store_id', 'in', storesOf(db, fileId))
    .execute();
  await db
    .deleteFrom('vector_store_files')
    .where('file_id', '=', fileId)
    .where('status', '<>', 'in_progress')
    .execute();
  const failed = await db
    .updateTable('vector_store_files')
    .set({ status: 'failed', error_code: CODE, error_message: MESSAGE, updated_at: sql<Date>`now()` })
    .where('file_id', '=', fileId)
    .returning('vector_store_id')
    .execute();
  for (const { vector_store_id } of failed) {
    const data = { vector_store_id, file_id: fileId, code: CODE, message: MESSAGE };
    await appendEvent(tx, projectId, { type: 'vector_store.file.failed', actor: null, data });
  }
}

/** Counts the file out of its stores, or over to their failed ones. The stores are locked in one order for everybody. */
async function adjustStores(db: TenantDb, fileId: string): Promise<void> {
  await db
    .selectFrom('vector_stores')
    .select('id')
    .where('id', 'in', storesOf(db, fileId))
    .orderBy('id')
    .forUpdate()
    .execute();
  const is = (status: string) => sql<number>`(vector_store_files.status = ${status})::int`;
  await db
    .updateTable('vector_stores')
    .from('vector_store_files')
    .whereRef('vector_store_files.vector_store_id', '=', 'vector_stores.id')
    .where('vector_store_files.file_id', '=', fileId)
    .set({
      files_in_progress: sql<number>`vector_stores.files_in_progress - ${is('in_progress')}`,
      files_completed: sql<number>`vector_stores.files_completed - ${is('completed')}`,
      files_failed: sql<number>`vector_stores.files_failed - ${is('failed')} + ${is('in_progress')}`,
      files_cancelled: sql<number>`vector_stores.files_cancelled - ${is('cancelled')}`,
      usage_bytes: sql<number>`vector_stores.usage_bytes - vector_store_files.usage_bytes`,
    })
    .execute();
}

function storesOf(db: TenantDb, fileId: string) {
  return db.selectFrom('vector_store_files').select('vector_store_id').where('file_id', '=', fileId);
}
