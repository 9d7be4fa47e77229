/** Rows of a project's tokens. Their texts are kept nowhere. */
import type { Selectable } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

export type TokenRow = Omit<
  Selectable<TenantTables['tokens']>,
  'project_id' | 'client_id' | 'deployment_id' | 'app_id'
>;

function selectTokens(db: TenantDb) {
  return db
    .selectFrom('tokens')
    .select(['id', 'scope', 'smith_id', 'scopes', 'name', 'expires_at', 'created_at', 'revoked_at']);
}

/** Up to one row more than the page holds. */
export async function listTokens(db: TenantDb, page: PageRequest): Promise<TokenRow[]> {
  return pageById(selectTokens(db), 'tokens.id', page).execute();
}

export async function hasLiveSmith(db: TenantDb, smithId: string): Promise<boolean> {
  const row = await db
    .selectFrom('smiths')
    .select('id')
    .where('id', '=', smithId)
    .where('archived_at', 'is', null)
    .executeTakeFirst();
  return row !== undefined;
}
