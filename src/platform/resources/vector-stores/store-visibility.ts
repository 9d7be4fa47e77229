import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { type HeldStore, holdStore } from '../../knowledge/ingest/index.ts';
import type { TenantDb, TenantTransaction } from '../../store/tenant-db.ts';
import { findVectorStore, type VectorStoreRow } from './store.ts';

/** The smith whose rows a caller is limited to; null: the caller sees the whole project. */
export function smithOf(caller: ProjectCaller): string | null {
  return caller.kind === 'smith' ? caller.smithId : null;
}

/** Throws `not_found` for a store that is deleted, of another smith, or was never there: all alike. */
export async function getVisibleStore(db: TenantDb, caller: ProjectCaller, id: string): Promise<VectorStoreRow> {
  const row = await findVectorStore(db, id, smithOf(caller));
  if (row === undefined) throw new ApiError('not_found');
  return row;
}

/** As `getVisibleStore`, held for a change of its files. */
export async function holdVisibleStore(tx: TenantTransaction, caller: ProjectCaller, id: string): Promise<HeldStore> {
  const smithId = smithOf(caller);
  const store = await holdStore(tx, id);
  if (store === undefined || (smithId !== null && store.smithId !== smithId)) throw new ApiError('not_found');
  return store;
}

/** Throws `invalid_state` for a store whose time is over: it holds nothing, and takes nothing more. */
export function requireUnexpired(isExpired: boolean): void {
  if (!isExpired) return;
  throw new ApiError('invalid_state', {
    message: 'The vector store has expired and holds nothing any more. Create another with POST /v1/vector_stores.',
  });
}
