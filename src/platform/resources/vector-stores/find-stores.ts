import type { TenantDb } from '../../store/tenant-db.ts';

export interface VisibleStore {
  readonly id: string;
  readonly name: string;
  readonly smith_id: string | null;
  readonly embedding_model: string;
}

/**
 * The live stores among these ids, in the order of the ids. With a smith: only its own; null sees every store of the
 * project.
 */
export async function findStores(
  db: TenantDb,
  ids: readonly string[],
  smithId: string | null,
): Promise<VisibleStore[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('vector_stores')
    .select(['id', 'name', 'smith_id', 'embedding_model'])
    .where('id', 'in', ids)
    .where('deleted_at', 'is', null)
    .$if(smithId !== null, (query) => query.where('smith_id', '=', smithId))
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return [...new Set(ids)].flatMap((id) => byId.get(id) ?? []);
}
