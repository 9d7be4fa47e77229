import { isIP } from 'node:net';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import {
  type FoundServer,
  findProvider,
  findServerByName,
  findWellKnown,
  planForProvider,
  providerNameOf,
  serverNameOf,
} from '../../connections/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { ConnectionOperationDependencies } from './dependencies.ts';
import type { AuthorizeIn, AuthorizeOut, SmithPath } from './schema.ts';
import { isLiveSmith } from './store.ts';

/** The provider is asked, and a client is registered where none is, before anything is stored. */
export function authorizeConnection({ connections }: Pick<ConnectionOperationDependencies, 'connections'>) {
  return async ({ db, params, body }: ProjectRead<{ params: SmithPath; body: AuthorizeIn }>): Promise<AuthorizeOut> => {
    if (!(await isLiveSmith(db, params.sid))) throw new ApiError('not_found');
    const returnUrl = readReturnUrl(body.return_url);
    const server = await findServer(db, body);
    const provider = server === undefined ? body.provider : providerNameOf(server.name);
    const plan = server === undefined ? await planFor(db, body.provider) : await connections.planForServer(db, server);
    if (plan === null) return { authorize_url: null, provider };
    const owner = { smithId: params.sid, provider, serverId: server?.id ?? null };
    return { authorize_url: await connections.createLink(db, owner, plan, returnUrl), provider };
  };
}

async function planFor(db: TenantDb, provider: string) {
  const saved = await findProvider(db, provider);
  if (saved !== undefined) return planForProvider(saved);
  const isKnown = findWellKnown(provider) !== undefined;
  throw new ApiError(isKnown ? 'auth_not_configured' : 'unknown_provider', { param: 'provider' });
}

/** Undefined: the account is a provider's, and for whatever names that. */
async function findServer(db: TenantDb, { provider, mcp_server }: AuthorizeIn): Promise<FoundServer | undefined> {
  const named = serverNameOf(provider);
  const name = mcp_server ?? named;
  if (name === undefined) return undefined;
  const server = await findServerByName(db, name);
  if (server === undefined) {
    throw named === undefined
      ? new ApiError('not_found', { param: 'mcp_server' })
      : new ApiError('unknown_provider', { param: 'provider' });
  }
  const own = [server.name, providerNameOf(server.name), server.auth_provider];
  if (own.includes(provider)) return server;
  const message = `The MCP server ${server.name} takes no account of ${provider}. Send \`${providerNameOf(server.name)}\` as \`provider\`.`;
  throw new ApiError('unknown_provider', { param: 'provider', message });
}

function readReturnUrl(given: string | null | undefined): string | null {
  if (given == null) return null;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url === undefined || !isSafe || url.username !== '' || url.password !== '') {
    throw new ApiError('invalid_return_url', { param: 'return_url' });
  }
  return url.href;
}

function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true;
  return isIP(hostname) === 4 && hostname.startsWith('127.');
}
