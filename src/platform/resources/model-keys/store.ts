/** Rows of model keys. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

/** Without the sealed key: only the engine, which opens it, reads that. */
export type ModelKeyRow = Omit<Selectable<TenantTables['model_keys']>, 'project_id' | 'smith_id' | 'sealed_api_key'>;

export interface NewModelKey {
  provider: string;
  sealed_api_key: string;
  base_url: string | null;
  workspace_id: string | null;
}

/** What a tenant's own keys have in place of a smith's id. */
export const TENANT_OWNER = '';

export async function listModelKeys(db: TenantDb, owner: string): Promise<ModelKeyRow[]> {
  return db
    .selectFrom('model_keys')
    .select(['provider', 'base_url', 'workspace_id', 'updated_at'])
    .where('smith_id', '=', owner)
    .orderBy('provider')
    .execute();
}

/** The providers that any of these owners has a key for. */
export async function listKeyedProviders(db: TenantDb, owners: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('model_keys')
    .select('provider')
    .distinct()
    .where('smith_id', 'in', owners)
    .execute();
  return rows.map((row) => row.provider);
}

/** Inserts the key, or replaces the owner's key of that provider as a whole. */
export async function putModelKey(db: TenantDb, owner: string, key: NewModelKey): Promise<void> {
  await db
    .insertInto('model_keys')
    .values({ ...key, smith_id: owner })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'smith_id', 'provider']).doUpdateSet({
        sealed_api_key: key.sealed_api_key,
        base_url: key.base_url,
        workspace_id: key.workspace_id,
        updated_at: sql<Date>`now()`,
      }),
    )
    .execute();
}

/** False when there is no such key. */
export async function removeModelKey(db: TenantDb, owner: string, provider: string): Promise<boolean> {
  const result = await db
    .deleteFrom('model_keys')
    .where('smith_id', '=', owner)
    .where('provider', '=', provider)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
}
