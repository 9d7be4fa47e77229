/**
 * What is left of conversations, files, skills and vector stores that are gone, for walks through the lists that they were
 * in: a client pages on the last id that it was given, and may have deleted that object since. These lists are in the order
 * of their ids, so that an id itself says where it stood. Only a row can say that it was an object of this project, and of
 * this smith. Files in vector stores have a table of their own, which keeps their positions.
 */
import type { TombstoneKind } from '../tables.ts';
import type { TenantDb, TenantTransaction } from './tenant-db.ts';

/** Call it in the transaction that removes the object, once. */
export async function insertTombstone(
  tx: TenantTransaction,
  kind: TombstoneKind,
  object: { readonly id: string; readonly smith_id: string | null },
): Promise<void> {
  await tx.insertInto('tombstones').values({ kind, id: object.id, smith_id: object.smith_id }).execute();
}

/** Whether the project, or its smith where one is given, had this object and lost it in the last 30 days. */
export async function hasTombstone(
  db: TenantDb,
  kind: TombstoneKind,
  id: string,
  smithId: string | null | undefined,
): Promise<boolean> {
  let found = db.selectFrom('tombstones').select('id').where('kind', '=', kind).where('id', '=', id);
  if (typeof smithId === 'string') found = found.where('smith_id', '=', smithId);
  return (await found.executeTakeFirst()) !== undefined;
}
