/** Rows of connections. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { json } from '../../kernel/db/values.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { JsonObject, TenantTables } from '../tables.ts';
import type { SealedCredential } from './credential.ts';

type Columns = Selectable<TenantTables['connections']>;

/** What a connection is, without its credential. */
export type ConnectionRow = Pick<Columns, 'id' | 'provider' | 'scopes' | 'status' | 'metadata' | 'created_at'> & {
  readonly expires_at: Date | null;
  readonly has_refresh_token: boolean;
};

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

/** Whose a credential is, and what it takes to refresh it. */
export interface Origin {
  readonly server_id: string | null;
  readonly issuer: string | null;
  readonly server_url: string | null;
  readonly resource: string | null;
  readonly token_endpoint: string | null;
  readonly revocation_endpoint: string | null;
  readonly client_kind: Columns['client_kind'];
  readonly client_provider: string | null;
  readonly client_id: string | null;
}

export interface NewConnection extends Origin, SealedCredential {
  readonly smith_id: string;
  readonly provider: string;
  readonly scopes: string[];
  /** By the link; absent: nobody was asked. */
  readonly scopes_asked?: string[];
  /** Null: those of the one that is replaced, if any. */
  readonly metadata: JsonObject | null;
  readonly expiry: Expiry;
  /** When the user was asked; now when absent. */
  readonly granted_at?: Date;
}

/** Of the access token; null: it does not expire, as far as anybody says. */
export type Expiry = { readonly at: Date } | { readonly inSeconds: number } | null;

const NOT_REFRESHING = { works_once: null, refresh_id: null, refresh_until: null, refresh_again_at: null } as const;

/** A smith has one of each provider: connecting again replaces it. Hold the smith. */
export async function saveConnection(
  db: TenantDb,
  { metadata, expiry, ...connection }: NewConnection,
): Promise<{ readonly row: ConnectionRow; readonly isNew: boolean }> {
  const credential = {
    ...connection,
    ...NOT_REFRESHING,
    scopes_asked: connection.scopes_asked ?? null,
    granted_at: connection.granted_at ?? sql<Date>`now()`,
    credential_at: sql<Date>`now()`,
    expires_at: expiresAt(expiry),
  };
  const replaced = await db
    .updateTable('connections')
    .set({
      ...credential,
      ...(metadata === null ? {} : { metadata: json(metadata) }),
      status: 'active',
      updated_at: sql<Date>`now()`,
    })
    .where('smith_id', '=', connection.smith_id)
    .where('provider', '=', connection.provider)
    .returning(SHOWN)
    .executeTakeFirst();
  if (replaced !== undefined) return { row: replaced, isNew: false };
  const row = await db
    .insertInto('connections')
    .values({ ...credential, id: mintId('con'), metadata: json(metadata ?? {}), status: 'active' })
    .returning(SHOWN)
    .executeTakeFirstOrThrow();
  return { row, isNew: true };
}

export async function countConnections(db: TenantDb, smithId: string): Promise<number> {
  const { rows } = await db.raw<{ count: number }>({
    text: 'select count(*)::int as count from connections where project_id = $1 and smith_id = $2',
    values: [smithId],
  });
  return rows[0]?.count ?? 0;
}

function expiresAt(expiry: Expiry) {
  if (expiry === null) return null;
  return 'at' in expiry ? expiry.at : sql<Date>`now() + make_interval(secs => ${expiry.inSeconds})`;
}
