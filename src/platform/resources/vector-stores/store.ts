/** Rows of vector stores and batches. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { json } from '../../../kernel/db/values.ts';
import { type OpenAiPageRequest, scanOf } from '../../../kernel/http/openai-paging.ts';
import { storeExpiresAt, storeIsExpired } from '../../store/expiry.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject, TenantTables, VectorStoreFileStatus } from '../../tables.ts';

export type VectorStoreRow = Omit<
  Selectable<TenantTables['vector_stores']>,
  'project_id' | 'deleted_at' | 'expired_at'
> & {
  /** Null: it stays. */
  readonly expires_at: Date | null;
  readonly is_expired: boolean;
};

export interface NewVectorStore {
  readonly id: string;
  readonly smith_id: string | null;
  readonly name: string;
  readonly description: string | null;
  readonly metadata: JsonObject;
  readonly embedding_model: string;
  readonly chunk_tokens: number;
  readonly overlap_tokens: number;
  readonly expires_after_seconds: number | null;
}

export interface VectorStoreChange {
  readonly name?: string;
  readonly description?: string | null;
  readonly metadata?: JsonObject;
  readonly expires_after_seconds?: number | null;
}

export type BatchRow = Omit<Selectable<TenantTables['vector_store_batches']>, 'project_id'> & {
  readonly counts: Readonly<Record<VectorStoreFileStatus, number>>;
};

/** The order of the indexes; for ids the same as the id's own. */
const idOfLive = sql<string>`id collate "C"`;

/** Live ones; with a smith, only those that belong to it. */
function selectStores(db: TenantDb, smithId: string | null) {
  const live = db
    .selectFrom('vector_stores')
    .select([
      'id',
      'smith_id',
      'name',
      'description',
      'metadata',
      'embedding_model',
      'chunk_tokens',
      'overlap_tokens',
      'files_in_progress',
      'files_completed',
      'files_failed',
      'files_cancelled',
      'usage_bytes',
      'last_active_at',
      'expires_after_seconds',
      'created_at',
    ])
    .select([storeExpiresAt.as('expires_at'), storeIsExpired.as('is_expired')])
    .where('deleted_at', 'is', null);
  return smithId === null ? live : live.where('smith_id', '=', smithId);
}

export async function insertVectorStore(db: TenantDb, store: NewVectorStore): Promise<void> {
  await db
    .insertInto('vector_stores')
    .values({ ...store, metadata: json(store.metadata) })
    .execute();
}

export async function findVectorStore(
  db: TenantDb,
  id: string,
  smithId: string | null,
): Promise<VectorStoreRow | undefined> {
  return selectStores(db, smithId).where('id', '=', id).executeTakeFirst();
}

/** Up to one row more than the page holds, in the order of its scan. */
export async function listVectorStores(
  db: TenantDb,
  page: OpenAiPageRequest,
  smithId: string | null,
): Promise<VectorStoreRow[]> {
  const { from, direction } = scanOf(page);
  return selectStores(db, smithId)
    .$if(from !== undefined, (query) => query.where(idOfLive, direction === 'desc' ? '<' : '>', from ?? ''))
    .orderBy(idOfLive, direction)
    .limit(page.limit + 1)
    .execute();
}

/** False when there is no such store any more. */
export async function updateVectorStore(db: TenantDb, id: string, change: VectorStoreChange): Promise<boolean> {
  const { metadata, ...rest } = change;
  const result = await db
    .updateTable('vector_stores')
    .set({ ...rest, ...(metadata === undefined ? {} : { metadata: json(metadata) }) })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** From now on the store is gone for everyone. False when it was already. */
export async function markStoreDeleted(db: TenantDb, id: string): Promise<boolean> {
  const result = await db
    .updateTable('vector_stores')
    .set({ deleted_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Remembers a search. Who finds the row held leaves it: the holder writes the time as well, or the next search does. */
export async function touchVectorStore(db: TenantDb, id: string): Promise<void> {
  await db
    .updateTable('vector_stores')
    .set({ last_active_at: sql<Date>`now()` })
    .where('id', 'in', (free) =>
      free.selectFrom('vector_stores').select('id').where('id', '=', id).forNoKeyUpdate().skipLocked(),
    )
    .execute();
}

export async function insertBatch(db: TenantDb, batch: { id: string; vector_store_id: string }): Promise<void> {
  await db.insertInto('vector_store_batches').values(batch).execute();
}

/** With the files that are in the store by this batch still, counted by status. */
export async function findBatch(db: TenantDb, vectorStoreId: string, id: string): Promise<BatchRow | undefined> {
  const batch = await db
    .selectFrom('vector_store_batches')
    .select(['id', 'vector_store_id', 'cancelled_at', 'created_at'])
    .where('vector_store_id', '=', vectorStoreId)
    .where('id', '=', id)
    .executeTakeFirst();
  if (batch === undefined) return undefined;
  const rows = await db
    .selectFrom('vector_store_files')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .where('vector_store_id', '=', vectorStoreId)
    .where('batch_id', '=', id)
    .groupBy('status')
    .execute();
  const counts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0 };
  for (const { status, count } of rows) counts[status] = count;
  return { ...batch, counts };
}

export async function markBatchCancelled(db: TenantDb, vectorStoreId: string, id: string): Promise<void> {
  await db
    .updateTable('vector_store_batches')
    .set({ cancelled_at: sql<Date>`now()` })
    .where('vector_store_id', '=', vectorStoreId)
    .where('id', '=', id)
    .execute();
}
