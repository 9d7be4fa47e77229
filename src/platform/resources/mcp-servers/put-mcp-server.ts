import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { VaultError } from '../../../kernel/vault/vault.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { expireConnections, findProvider } from '../../connections/index.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { mcpSecretContext } from '../../mcp/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import type { McpAuthKind } from '../../tables.ts';
import { type CheckedMcpServer, checkMcpServer, unknownProvider } from './check-mcp-server.ts';
import type { McpServerDependencies } from './dependencies.ts';
import { renderMcpServer } from './render-mcp-server.ts';
import type { McpServerIn, McpServerPath } from './schema.ts';
import {
  countMcpServers,
  findMcpServer,
  type HeldMcpServer,
  holdMcpServer,
  insertMcpServer,
  replaceMcpServer,
} from './store.ts';

/** A turn reads all of its project's. */
const SERVERS_MAX = 100;

type Request = ProjectRead<{ params: McpServerPath; body: McpServerIn }>;

/** The host is looked up before the transaction begins; the server itself is asked for its tools after it. */
export function putMcpServer(deps: McpServerDependencies) {
  return async (request: Request) => {
    const checked = await checkMcpServer(deps, request.body);
    return request.db.transaction(async (tx) => {
      const { name } = request.params;
      await checkClient(tx, checked);
      const present = await holdMcpServer(tx, name);
      const created = present === undefined && (await register(deps, tx, name, checked));
      if (!created) await replace(deps, tx, present ?? (await holdAgain(tx, name)), checked);
      await tell(tx, request, checked, created ? undefined : (present?.auth_kind ?? checked.auth_kind));
      const row = await findMcpServer(tx, name);
      if (row === undefined) throw new Error('a server that was just saved is not there');
      await deps.discovery.refreshAfter(tx, row.id);
      return new HttpReply(created ? 201 : 200, renderMcpServer(row));
    });
  };
}

/** Throws `unknown_provider`. */
async function checkClient(
  tx: TenantTransaction,
  { auth_client_mode, auth_provider }: CheckedMcpServer,
): Promise<void> {
  if (auth_client_mode !== 'registered') return;
  if ((await findProvider(tx, auth_provider ?? '')) === undefined) throw unknownProvider();
}

/** Registered by another request in between. */
async function holdAgain(tx: TenantTransaction, name: string): Promise<HeldMcpServer> {
  const present = await holdMcpServer(tx, name);
  if (present === undefined) throw new ApiError('service_overloaded', { retryAfterSeconds: 1 });
  return present;
}

/** False where the name has been taken since. */
async function register(
  { vault }: McpServerDependencies,
  tx: TenantTransaction,
  name: string,
  { secret, ...server }: CheckedMcpServer,
): Promise<boolean> {
  if ((await countMcpServers(tx)) >= SERVERS_MAX) {
    const message = `A project has at most ${SERVERS_MAX} MCP servers. Delete one first.`;
    throw new ApiError('invalid_request', { message });
  }
  if (server.auth_kind === 'bearer' && secret === undefined) throw secretRequired();
  const id = mintId('mcp');
  const sealed_secret = secret === undefined ? null : vault.seal(secret, mcpSecretContext(tx.projectId, id));
  return insertMcpServer(tx, { ...server, id, name, sealed_secret });
}

async function replace(
  { vault }: McpServerDependencies,
  tx: TenantTransaction,
  present: HeldMcpServer,
  { secret, ...server }: CheckedMcpServer,
): Promise<void> {
  const context = mcpSecretContext(tx.projectId, present.id);
  const isElsewhere = server.url !== present.url;
  const keeps = server.auth_kind === 'bearer' && secret === undefined;
  // Whoever edits the address must not have the secret sent to another server.
  const mayKeep = present.sealed_secret !== null && new URL(server.url).origin === new URL(present.url).origin;
  if (keeps && !mayKeep) throw secretRequired();
  const isOtherSecret = !keeps && secret !== openSecret(() => vault.open(present.sealed_secret ?? '', context));
  const sealed = secret === undefined ? null : vault.seal(secret, context);
  const sealed_secret = keeps || !isOtherSecret ? present.sealed_secret : sealed;
  const next = { ...server, id: present.id, sealed_secret };
  const isOtherAccess =
    isElsewhere || sealed_secret !== present.sealed_secret || server.auth_kind !== present.auth_kind;
  await replaceMcpServer(tx, next, {
    isOther: isOtherAccess || !isDeepStrictEqual(next, present),
    isPending: isOtherAccess,
    isElsewhere,
    isOtherIssuer: isElsewhere || server.auth_provider !== present.auth_provider,
  });
  if (isElsewhere) await expireConnections(tx, present.id);
}

/** Undefined where there is none, or the master key that sealed it is lost: a new secret mends that. */
function openSecret(open: () => string): string | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof VaultError) return undefined;
    throw error;
  }
}

function secretRequired(): ApiError {
  return new ApiError('secret_required', {
    param: 'auth.secret',
    message:
      'A bearer token is needed: the first one, and a new one when the origin of `url` changes. Send it in `auth.secret`.',
  });
}

async function tell(
  tx: TenantTransaction,
  { caller, params, requestId }: Request,
  { url, auth_kind }: CheckedMcpServer,
  previous: McpAuthKind | undefined,
): Promise<void> {
  await appendEvent(tx, {
    type: previous === undefined ? 'mcp_server.created' : 'mcp_server.updated',
    actor: actorOf(caller),
    data: { name: params.name, url, auth_kind, previous_auth_kind: previous ?? null, request_id: requestId },
  });
}
