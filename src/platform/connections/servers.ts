/** MCP servers as connections know them. */
import type { TenantDb } from '../store/tenant-db.ts';
import type { SignInServer } from './plan-server.ts';

/** What connections to a server have as their provider. Providers' names have no colon. */
export function providerNameOf(serverName: string): string {
  return `mcp:${serverName}`;
}

/** Undefined: the name is that of a provider. */
export function serverNameOf(provider: string): string | undefined {
  return provider.startsWith('mcp:') ? provider.slice('mcp:'.length) : undefined;
}

export type FoundServer = SignInServer & { readonly revision: number };

const COLUMNS = ['id', 'name', 'url', 'auth_kind', 'auth_provider', 'auth_client_mode', 'revision'] as const;

export async function findServerById(db: TenantDb, id: string): Promise<FoundServer | undefined> {
  return db.selectFrom('mcp_servers').select(COLUMNS).where('id', '=', id).executeTakeFirst();
}

export async function findServerByName(db: TenantDb, name: string): Promise<FoundServer | undefined> {
  return db.selectFrom('mcp_servers').select(COLUMNS).where('name', '=', name).executeTakeFirst();
}

/** The servers whose calls may use an account that is connected to this provider. */
export async function findServersOf(db: TenantDb, provider: string): Promise<Pick<FoundServer, 'id' | 'name'>[]> {
  const servers = db.selectFrom('mcp_servers').select(['id', 'name']).where('auth_kind', '=', 'oauth');
  const name = serverNameOf(provider);
  const those = name === undefined ? servers.where('auth_provider', '=', provider) : servers.where('name', '=', name);
  return those.orderBy('id').execute();
}

/** The server stands elsewhere now: accounts that were connected to it have to be connected again. */
export async function expireConnections(db: TenantDb, serverId: string): Promise<void> {
  await db
    .updateTable('connections')
    .set({ status: 'expired', refresh_until: null })
    .where('server_id', '=', serverId)
    .where('status', '=', 'active')
    .execute();
}
