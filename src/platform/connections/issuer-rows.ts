/** What was found out about an MCP server's issuer, and the client that was registered there: one a server. */
import { mintId } from '../../kernel/ids/ids.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { ClientAuthMethod } from '../tables.ts';
import { clientSecretContext } from './secret-context.ts';

export interface RegisteredClient {
  readonly client_id: string;
  readonly client_secret: string | undefined;
  readonly method: ClientAuthMethod;
  readonly secretExpiresAt: Date | null;
  readonly redirectUri: string;
}

/** Another issuer than before: what was registered there is forgotten, and accounts connected there are not used any more. */
export async function noteIssuer(db: TenantDb, serverId: string, issuer: string): Promise<void> {
  await db.raw({
    text: `
      insert into mcp_issuers as present (project_id, server_id, issuer)
      select $1, m.id, $3 from mcp_servers m where m.project_id = $1 and m.id = $2
      on conflict (project_id, server_id) do update set
        issuer = excluded.issuer, found_at = now(), client_id = null, secret_id = null, sealed_client_secret = null,
        secret_expires_at = null, token_endpoint_auth_method = null, redirect_uri = null
      where present.issuer <> excluded.issuer`,
    values: [serverId, issuer],
  });
}

/** The id of the client that is registered there and can be used; undefined: none is. */
export async function findRegisteredId(
  db: TenantDb,
  serverId: string,
  { issuer, redirectUri }: { readonly issuer: string; readonly redirectUri: string },
): Promise<string | undefined> {
  const { rows } = await db.raw<{ client_id: string }>({
    text: `
      select client_id from mcp_issuers
      where project_id = $1 and server_id = $2 and issuer = $3 and redirect_uri = $4 and client_id is not null
        and (secret_expires_at is null or secret_expires_at > now() + interval '15 minutes')`,
    values: [serverId, issuer, redirectUri],
  });
  return rows[0]?.client_id;
}

/** Keeps the client, unless another one was registered meanwhile that can be used. */
export async function keepClient(
  vault: Pick<Vault, 'seal'>,
  db: TenantDb,
  serverId: string,
  issuer: string,
  client: RegisteredClient,
): Promise<void> {
  const secretId = client.client_secret === undefined ? null : mintId('secret');
  const sealed =
    client.client_secret === undefined || secretId === null
      ? null
      : vault.seal(client.client_secret, clientSecretContext(db.projectId, secretId));
  await db.raw({
    text: `
      update mcp_issuers set
        client_id = $4, secret_id = $5, sealed_client_secret = $6, secret_expires_at = $7,
        token_endpoint_auth_method = $8, redirect_uri = $9
      where project_id = $1 and server_id = $2 and issuer = $3
        and (client_id is null or redirect_uri <> $9 or secret_expires_at <= now() + interval '15 minutes')`,
    values: [
      serverId,
      issuer,
      client.client_id,
      secretId,
      sealed,
      client.secretExpiresAt,
      client.method,
      client.redirectUri,
    ],
  });
}
