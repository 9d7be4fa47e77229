/** Rows of OAuth clients at providers. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

/** Without the sealed secret. */
export type ProviderRow = Omit<
  Selectable<TenantTables['oauth_providers']>,
  'project_id' | 'secret_id' | 'sealed_client_secret' | 'created_at' | 'updated_at'
> & { readonly has_secret: boolean };

export type NewProvider = Omit<ProviderRow, 'has_secret'>;

export interface NewSecret {
  readonly secret_id: string | null;
  readonly sealed_client_secret: string | null;
}

function selectProviders(db: TenantDb) {
  return db
    .selectFrom('oauth_providers')
    .select(['provider', 'client_id', 'scopes_allowed', 'issuer', 'authorization_endpoint', 'token_endpoint'])
    .select(['revocation_endpoint', 'token_endpoint_auth_method', 'names_itself'])
    .select(sql<boolean>`sealed_client_secret is not null`.as('has_secret'));
}

export async function listProviders(db: TenantDb): Promise<ProviderRow[]> {
  return selectProviders(db).orderBy(sql`provider collate "C"`).execute();
}

export async function findProvider(db: TenantDb, provider: string): Promise<ProviderRow | undefined> {
  return selectProviders(db).where('provider', '=', provider).executeTakeFirst();
}

/** Nobody else changes the row until the transaction ends. */
export async function holdProvider(db: TenantDb, provider: string): Promise<ProviderRow | undefined> {
  return selectProviders(db).where('provider', '=', provider).forUpdate().executeTakeFirst();
}

export async function countProviders(db: TenantDb): Promise<number> {
  const { rows } = await db.raw<{ count: number }>({
    text: 'select count(*)::int as count from oauth_providers where project_id = $1',
  });
  return rows[0]?.count ?? 0;
}

/** `secret`: absent, the one that is there stays. */
export async function putProvider(db: TenantDb, saved: NewProvider, secret: NewSecret | undefined): Promise<void> {
  await db
    .insertInto('oauth_providers')
    .values({ ...saved, ...secret })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'provider']).doUpdateSet({ ...saved, ...secret, updated_at: sql<Date>`now()` }),
    )
    .execute();
}

export async function removeProvider(db: TenantDb, provider: string): Promise<void> {
  await db.deleteFrom('oauth_providers').where('provider', '=', provider).execute();
}
