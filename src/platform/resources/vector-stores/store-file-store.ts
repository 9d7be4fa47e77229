/** Rows of files in vector stores, as they are read; see knowledge/ingest for how they change. */
import type { Selectable } from 'kysely';
import { json } from '../../../kernel/db/values.ts';
import { type OpenAiPageRequest, scanOf } from '../../../kernel/http/openai-paging.ts';
import { isLiveFile } from '../../store/expiry.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { FileAttributes, TenantTables, VectorStoreFileStatus } from '../../tables.ts';

export type StoreFileRow = Pick<
  Selectable<TenantTables['vector_store_files']>,
  | 'vector_store_id'
  | 'file_id'
  | 'position'
  | 'status'
  | 'attributes'
  | 'chunk_tokens'
  | 'overlap_tokens'
  | 'usage_bytes'
  | 'error_code'
  | 'error_message'
  | 'created_at'
>;

export interface StoreFileFilter {
  readonly status?: VectorStoreFileStatus;
  readonly batchId?: string;
}

function selectStoreFiles(db: TenantDb, vectorStoreId: string) {
  return db
    .selectFrom('vector_store_files')
    .select([
      'vector_store_id',
      'file_id',
      'position',
      'status',
      'attributes',
      'chunk_tokens',
      'overlap_tokens',
      'usage_bytes',
      'error_code',
      'error_message',
      'created_at',
    ])
    .where('vector_store_id', '=', vectorStoreId);
}

export async function findStoreFile(
  db: TenantDb,
  vectorStoreId: string,
  fileId: string,
): Promise<StoreFileRow | undefined> {
  return selectStoreFiles(db, vectorStoreId).where('file_id', '=', fileId).executeTakeFirst();
}

/**
 * Where the file stands in the list, or stood when it was taken out, in the last 30 days. Positions are those of additions:
 * a file that is in the store again stands where it was added last. Undefined for one that was not in the store, or not by
 * the batch.
 */
async function findPosition(
  db: TenantDb,
  vectorStoreId: string,
  fileId: string,
  batchId: string | undefined,
): Promise<number | undefined> {
  let present = selectStoreFiles(db, vectorStoreId).where('file_id', '=', fileId);
  if (batchId !== undefined) present = present.where('batch_id', '=', batchId);
  const row = await present.executeTakeFirst();
  if (row !== undefined) return row.position;
  let removed = db
    .selectFrom('vector_store_file_tombstones')
    .select('position')
    .where('vector_store_id', '=', vectorStoreId)
    .where('file_id', '=', fileId);
  if (batchId !== undefined) removed = removed.where('batch_id', '=', batchId);
  return (await removed.orderBy('position', 'desc').limit(1).executeTakeFirst())?.position;
}

/**
 * Up to one row more than the page holds, in the order of its scan. Undefined when the page starts from a file without a
 * place in the list: see `findPosition`.
 */
export async function listStoreFiles(
  db: TenantDb,
  vectorStoreId: string,
  page: OpenAiPageRequest,
  filter: StoreFileFilter,
): Promise<StoreFileRow[] | undefined> {
  const { from, direction } = scanOf(page);
  let start: number | undefined;
  if (from !== undefined) {
    start = await findPosition(db, vectorStoreId, from, filter.batchId);
    if (start === undefined) return undefined;
  }
  let rows = selectStoreFiles(db, vectorStoreId);
  if (start !== undefined) rows = rows.where('position', direction === 'desc' ? '<' : '>', start);
  if (filter.status !== undefined) rows = rows.where('status', '=', filter.status);
  if (filter.batchId !== undefined) rows = rows.where('batch_id', '=', filter.batchId);
  return rows
    .orderBy('position', direction)
    .limit(page.limit + 1)
    .execute();
}

/** False when the file is not in the store. */
export async function updateAttributes(
  db: TenantDb,
  vectorStoreId: string,
  fileId: string,
  attributes: FileAttributes | null,
): Promise<boolean> {
  const result = await db
    .updateTable('vector_store_files')
    .set({ attributes: attributes === null ? null : json(attributes) })
    .where('vector_store_id', '=', vectorStoreId)
    .where('file_id', '=', fileId)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** The texts of the file's chunks in order; none while it is not completed. */
export async function listChunkTexts(db: TenantDb, vectorStoreId: string, fileId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('vector_store_chunks')
    .innerJoin('vector_store_files', (join) =>
      join
        .onRef('vector_store_files.vector_store_id', '=', 'vector_store_chunks.vector_store_id')
        .onRef('vector_store_files.file_id', '=', 'vector_store_chunks.file_id'),
    )
    .select('vector_store_chunks.text')
    .where('vector_store_chunks.vector_store_id', '=', vectorStoreId)
    .where('vector_store_chunks.file_id', '=', fileId)
    .where('vector_store_files.status', '=', 'completed')
    .orderBy('vector_store_chunks.position')
    .execute();
  return rows.map((row) => row.text);
}

/** Those of the files that exist and, with a smith, are its own; held until the transaction ends, so that they stay. */
export async function holdSourceFiles(
  db: TenantDb,
  ids: readonly string[],
  smithId: string | null,
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('files')
    .select('id')
    .where(isLiveFile)
    .where((eb) => eb('id', '=', eb.fn.any(eb.val(ids))))
    .$if(smithId !== null, (query) => query.where('smith_id', '=', smithId))
    .orderBy('id')
    .forKeyShare()
    .execute();
  return new Set(rows.map((row) => row.id));
}
