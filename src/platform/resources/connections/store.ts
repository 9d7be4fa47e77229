/** Rows of connections as operations read and change them, scoped to one project by the handle that they are given. */
import { sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { json } from '../../../kernel/db/values.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { ConnectionStatus, JsonObject } from '../../tables.ts';

export interface ConnectionRow {
  readonly id: string;
  readonly provider: string;
  readonly scopes: string[];
  readonly status: ConnectionStatus;
  readonly metadata: JsonObject;
  readonly expires_at: Date | null;
  readonly has_refresh_token: boolean;
  readonly created_at: Date;
}

const SHOWN = [
  'id',
  'provider',
  'scopes',
  'status',
  'metadata',
  'expires_at',
  'has_refresh_token',
  'created_at',
] as const;

export async function isLiveSmith(db: TenantDb, smithId: string): Promise<boolean> {
  const found = db.selectFrom('smiths').select('id').where('id', '=', smithId).where('archived_at', 'is', null);
  return (await found.executeTakeFirst()) !== undefined;
}

export async function listConnections(db: TenantDb, smithId: string, page: PageRequest): Promise<ConnectionRow[]> {
  const all = db.selectFrom('connections').select(SHOWN).where('smith_id', '=', smithId);
  return pageById(all, 'connections.id', page).execute();
}

export async function findConnection(
  db: TenantDb,
  smithId: string,
  id: string,
): Promise<(ConnectionRow & { readonly credential_id: string }) | undefined> {
  return db
    .selectFrom('connections')
    .select(SHOWN)
    .select('credential_id')
    .where('smith_id', '=', smithId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Nobody else changes the row until the transaction ends. */
export async function holdConnection(db: TenantDb, smithId: string, id: string): Promise<ConnectionRow | undefined> {
  return db
    .selectFrom('connections')
    .select(SHOWN)
    .where('smith_id', '=', smithId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

export interface ConnectionChange {
  readonly scopes?: string[];
  readonly status?: ConnectionStatus;
  readonly metadata?: JsonObject;
}

export async function updateConnection(
  db: TenantDb,
  id: string,
  { metadata, ...change }: ConnectionChange,
): Promise<ConnectionRow> {
  return db
    .updateTable('connections')
    .set({ ...change, ...(metadata === undefined ? {} : { metadata: json(metadata) }), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(SHOWN)
    .executeTakeFirstOrThrow();
}
