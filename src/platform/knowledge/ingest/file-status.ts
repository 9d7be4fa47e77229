/**
 * Every change of a file's status in a store, and the store's counters with it: nothing else writes either.
 *
 *   add ─▶ in_progress ─▶ completed | failed | cancelled        any ─▶ removed
 *
 * A change happens under the store's row lock, and locks are taken in one order: files, stores, files of stores, and last
 * the queue of a project. Chunks of a file that leaves `in_progress` unfinished go in the same transaction, by a statement
 * of its own after the file's row was taken: chunks of a writer that was waited for are seen then.
 */
import { json } from '../../../kernel/db/values.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { isExpiredStore } from '../../store/expiry.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { Actor, FileAttributes, IngestErrorCode, VectorStoreFileStatus } from '../../tables.ts';

/** A live store, held by this transaction. */
export interface HeldStore {
  readonly id: string;
  readonly smithId: string | null;
  readonly embeddingModel: string;
  readonly chunkTokens: number;
  readonly overlapTokens: number;
  readonly isExpired: boolean;
}

export interface NewStoreFile {
  readonly fileId: string;
  readonly attributes: FileAttributes | null;
  readonly chunkTokens: number;
  readonly overlapTokens: number;
}

/** One addition of a file to a store: a file that is removed and added again has another position. */
export interface StoreFileRef {
  readonly fileId: string;
  readonly position: number;
}

export interface IngestFailure {
  readonly code: IngestErrorCode;
  /** For the one who added the file. */
  readonly message: string;
}

/** Holds the store until the transaction ends; undefined when there is none, or it is deleted. */
export async function holdStore(tx: TenantDb, id: string): Promise<HeldStore | undefined> {
  const { rows } = await tx.raw<{
    smith_id: string | null;
    embedding_model: string;
    chunk_tokens: number;
    overlap_tokens: number;
    is_expired: boolean;
  }>({
    text: `select smith_id, embedding_model, chunk_tokens, overlap_tokens, ${isExpiredStore('vector_stores')} as is_expired
           from vector_stores where project_id = $1 and id = $2 and deleted_at is null for no key update`,
    values: [id],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    id,
    smithId: row.smith_id,
    embeddingModel: row.embedding_model,
    chunkTokens: row.chunk_tokens,
    overlapTokens: row.overlap_tokens,
    isExpired: row.is_expired,
  };
}

/** Those of the files that are in the store and indexed, or being indexed. */
export async function listAttached(tx: TenantDb, store: HeldStore, fileIds: readonly string[]): Promise<string[]> {
  const { rows } = await tx.raw<{ file_id: string }>({
    text: `select file_id from vector_store_files
           where project_id = $1 and vector_store_id = $2 and file_id = any($3) and status in ('in_progress', 'completed')`,
    values: [store.id, fileIds],
  });
  return rows.map((row) => row.file_id);
}

/**
 * Adds the files as `in_progress`, in this order. Each is there once, and not attached: what failed or was cancelled
 * makes way for the new attempt.
 */
export async function addFiles(
  tx: TenantDb,
  store: HeldStore,
  files: readonly NewStoreFile[],
  origin: { readonly batchId: string | null; readonly actor: Actor | null },
): Promise<void> {
  if (files.length === 0) return;
  await removeFiles(
    tx,
    store,
    files.map(({ fileId }) => fileId),
  );
  await tx.raw({
    text: `
      insert into vector_store_files
        (project_id, vector_store_id, file_id, batch_id, actor, attributes, chunk_tokens, overlap_tokens)
      select $1, $2, added.file_id, $3, $4::jsonb, added.attributes::jsonb, added.chunk_tokens, added.overlap_tokens
      from unnest($5::text[], $6::text[], $7::int[], $8::int[]) with ordinality
        as added (file_id, attributes, chunk_tokens, overlap_tokens, place)
      order by added.place`,
    values: [
      store.id,
      origin.batchId,
      origin.actor === null ? null : json(origin.actor),
      files.map(({ fileId }) => fileId),
      files.map(({ attributes }) => (attributes === null ? null : json(attributes))),
      files.map(({ chunkTokens }) => chunkTokens),
      files.map(({ overlapTokens }) => overlapTokens),
    ],
  });
  await moveCounters(tx, store, { in_progress: files.length });
}

/** in_progress ─▶ completed. False when it is not in progress any more, or is another addition of that file. */
export async function completeFile(
  tx: TenantDb,
  store: HeldStore,
  ref: StoreFileRef,
  { chunkCount, usageBytes }: { readonly chunkCount: number; readonly usageBytes: number },
): Promise<boolean> {
  const { rows } = await tx.raw<{ actor: Actor | null }>({
    text: `
      update vector_store_files
      set status = 'completed', chunk_count = $5, usage_bytes = $6, queued_at = null, updated_at = now()
      where project_id = $1 and vector_store_id = $2 and file_id = $3 and position = $4 and status = 'in_progress'
      returning actor`,
    values: [store.id, ref.fileId, ref.position, chunkCount, usageBytes],
  });
  const [row] = rows;
  if (row === undefined) return false;
  await moveCounters(tx, store, { in_progress: -1, completed: 1 }, usageBytes);
  await appendEvent(tx, {
    type: 'vector_store.file.completed',
    smithId: store.smithId,
    actor: row.actor,
    data: { vector_store_id: store.id, file_id: ref.fileId, usage_bytes: usageBytes },
  });
  return true;
}

/** in_progress ─▶ failed, its chunks removed. False as in `completeFile`; without a position it is any addition. */
export async function failFile(
  tx: TenantDb,
  store: HeldStore,
  ref: { readonly fileId: string; readonly position?: number },
  failure: IngestFailure,
): Promise<boolean> {
  const { rows } = await tx.raw<{ actor: Actor | null }>({
    text: `
      update vector_store_files
      set status = 'failed', error_code = $5, error_message = $6, queued_at = null, updated_at = now()
      where project_id = $1 and vector_store_id = $2 and file_id = $3 and position = coalesce($4, position)
        and status = 'in_progress'
      returning actor`,
    values: [store.id, ref.fileId, ref.position, failure.code, failure.message],
  });
  const [row] = rows;
  if (row === undefined) return false;
  await removeChunks(tx, store, [ref.fileId]);
  await moveCounters(tx, store, { in_progress: -1, failed: 1 });
  await appendEvent(tx, {
    type: 'vector_store.file.failed',
    smithId: store.smithId,
    actor: row.actor,
    data: { vector_store_id: store.id, file_id: ref.fileId, code: failure.code, message: failure.message },
  });
  return true;
}

/** in_progress ─▶ cancelled for every file of the batch, their chunks removed. How many they were. */
export async function cancelBatchFiles(tx: TenantDb, store: HeldStore, batchId: string): Promise<number> {
  const { rows } = await tx.raw<{ file_id: string }>({
    text: `
      update vector_store_files set status = 'cancelled', queued_at = null, updated_at = now()
      where project_id = $1 and vector_store_id = $2 and batch_id = $3 and status = 'in_progress'
      returning file_id`,
    values: [store.id, batchId],
  });
  await removeChunks(
    tx,
    store,
    rows.map((row) => row.file_id),
  );
  await moveCounters(tx, store, { in_progress: -rows.length, cancelled: rows.length });
  return rows.length;
}

/** Takes the files out of the store, whatever their status, with their chunks; where they stood is kept. How many were there. */
export async function removeFiles(tx: TenantDb, store: HeldStore, fileIds: readonly string[]): Promise<number> {
  const { rows } = await tx.raw<{ file_id: string; status: VectorStoreFileStatus; usage_bytes: number }>({
    text: `
      with removed as (
        delete from vector_store_files where project_id = $1 and vector_store_id = $2 and file_id = any($3)
        returning file_id, position, batch_id, status, usage_bytes
      ), noted as (
        insert into vector_store_file_tombstones (project_id, vector_store_id, file_id, position, batch_id)
        select $1, $2, file_id, position, batch_id from removed
      )
      select file_id, status, usage_bytes from removed`,
    values: [store.id, fileIds],
  });
  if (rows.length === 0) return 0;
  await removeChunks(
    tx,
    store,
    rows.map((row) => row.file_id),
  );
  const left: Partial<Record<VectorStoreFileStatus, number>> = {};
  for (const { status } of rows) left[status] = (left[status] ?? 0) - 1;
  const usageBytes = rows.reduce((sum, row) => sum + row.usage_bytes, 0);
  await moveCounters(tx, store, left, -usageBytes);
  return rows.length;
}

async function removeChunks(tx: TenantDb, store: HeldStore, fileIds: readonly string[]): Promise<void> {
  if (fileIds.length === 0) return;
  await tx.raw({
    text: 'delete from vector_store_chunks where project_id = $1 and vector_store_id = $2 and file_id = any($3)',
    values: [store.id, fileIds],
  });
}

async function moveCounters(
  tx: TenantDb,
  store: HeldStore,
  by: Partial<Record<VectorStoreFileStatus, number>>,
  usageBytes = 0,
): Promise<void> {
  await tx.raw({
    text: `
      update vector_stores set
        files_in_progress = files_in_progress + $3,
        files_completed = files_completed + $4,
        files_failed = files_failed + $5,
        files_cancelled = files_cancelled + $6,
        usage_bytes = usage_bytes + $7,
        last_active_at = case when ${isExpiredStore('vector_stores')} then last_active_at else now() end
      where project_id = $1 and id = $2`,
    values: [store.id, by.in_progress ?? 0, by.completed ?? 0, by.failed ?? 0, by.cancelled ?? 0, usageBytes],
  });
}
