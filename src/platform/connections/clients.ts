/** The OAuth clients by which accounts are connected: of saved providers, registered at issuers, or our own document. */
import type { Vault } from '../../kernel/vault/vault.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { ClientAuthMethod, ClientKind } from '../tables.ts';
import { openSealed } from './credential.ts';
import type { OAuthClient } from './protocol/client-authentication.ts';
import { clientSecretContext } from './secret-context.ts';
import { findWellKnown, type ProviderQuirks } from './well-known-providers.ts';

/** Which client got a credential, or is to get one. */
export interface ClientReference {
  readonly client_kind: ClientKind | null;
  readonly client_provider: string | null;
  readonly client_id: string | null;
  readonly server_id: string | null;
}

export interface FoundClient {
  readonly client: OAuthClient;
  readonly quirks: ProviderQuirks;
  /** Where it is used today; null: where it was registered. */
  readonly tokenEndpoint: string | null;
}

export interface ClientDependencies {
  readonly vault: Pick<Vault, 'open'>;
  /** Where our own document is; undefined: no issuer could read it. */
  readonly documentUrl: string | undefined;
}

/** Undefined: there is no such client any more. Throws `broker_unavailable`. */
export async function findClient(
  deps: ClientDependencies,
  db: TenantDb,
  reference: ClientReference,
): Promise<FoundClient | undefined> {
  const row = await findClientRow(deps, db, reference);
  if (row === undefined || row.client_id !== reference.client_id) return undefined;
  const { secret_id, sealed_client_secret: sealed, client_id: id, method } = row;
  const secret =
    secret_id === null || sealed === null
      ? undefined
      : openSealed(deps.vault, sealed, clientSecretContext(db.projectId, secret_id));
  return {
    client: { id, method, ...(secret === undefined ? {} : { secret }) },
    quirks: (reference.client_provider === null ? undefined : findWellKnown(reference.client_provider)) ?? {},
    tokenEndpoint: row.token_endpoint,
  };
}

interface ClientRow {
  readonly client_id: string;
  readonly method: ClientAuthMethod;
  readonly secret_id: string | null;
  readonly sealed_client_secret: string | null;
  readonly token_endpoint: string | null;
}

async function findClientRow(
  { documentUrl }: ClientDependencies,
  db: TenantDb,
  { client_kind, client_provider, server_id }: ClientReference,
): Promise<ClientRow | undefined> {
  const unsealed = { secret_id: null, sealed_client_secret: null, token_endpoint: null };
  switch (client_kind) {
    case null:
      return undefined;
    case 'metadata_document':
      return documentUrl === undefined
        ? undefined
        : { ...unsealed, client_id: documentUrl, method: 'private_key_jwt' as const };
    case 'provider':
      return db
        .selectFrom('oauth_providers')
        .select(['client_id', 'token_endpoint_auth_method as method'])
        .select(['secret_id', 'sealed_client_secret', 'token_endpoint'])
        .where('provider', '=', client_provider ?? '')
        .executeTakeFirst();
    case 'dynamic': {
      const row = await db
        .selectFrom('mcp_issuers')
        .select(['client_id', 'token_endpoint_auth_method as method', 'secret_id', 'sealed_client_secret'])
        .where('server_id', '=', server_id ?? '')
        .executeTakeFirst();
      if (row === undefined || row.client_id === null) return undefined;
      return { ...row, client_id: row.client_id, method: row.method ?? 'none', token_endpoint: null };
    }
  }
}
