/** Asks servers which tools they have: at once for a refresh, else as a job behind whatever asked for it. */

import { LRUCache } from 'lru-cache';
import { systemClock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Outbound } from '../../kernel/outbound/outbound.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { ForeignSchemas } from '../schemas/index.ts';
import { type TenantDb, type TenantTransaction, tenantDb } from '../store/tenant-db.ts';
import type { McpServerStatus } from '../tables.ts';
import { connect } from './client/connection.ts';
import { describeFailure, McpFailure } from './client/failure.ts';
import { type McpLimits, mcpLimits } from './client/limits.ts';
import { openEndpoint } from './endpoint.ts';
import { readToolList } from './list-entries.ts';
import {
  findServer,
  type RegisteredServer,
  storeDiscoveryError,
  storeTools,
  UNUSED_LISTS_SQL,
} from './server-store.ts';
import type { SignIn } from './sign-in.ts';

const DISCOVER = 'discover-mcp-tools';
const SWEEP_LISTS = 'sweep-mcp-tool-lists';
const ROWS_A_BATCH = 500;
/** Within this time a process asks once for the list of a server. */
const ASKED_AGAIN_MS = 60_000;
/** The same where the server itself says that its tools have changed. */
const CHANGED_AGAIN_MS = 5_000;
const SERVERS_REMEMBERED = 10_000;

export interface DiscoveryDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly outbound: Pick<Outbound, 'fetch'>;
  readonly schemas: Pick<ForeignSchemas, 'findProblem'>;
  readonly jobs: Jobs;
  readonly logger: Logger;
  readonly signIn: Pick<SignIn, 'findAnyAccess'>;
  /** Where they differ from the usual ones. */
  readonly limits?: Partial<McpLimits> | undefined;
}

interface DiscoverJob {
  readonly projectId: string;
  readonly serverId: string;
}

export interface Discovery {
  /** Asks now. Throws McpFailure, which is noted with the server too, and `service_overloaded`. */
  refresh(projectId: string, serverId: string, signal: AbortSignal): Promise<void>;
  /** Asks once the transaction has committed. */
  refreshAfter(tx: TenantTransaction, serverId: string): Promise<void>;
  /** Asks soon, unless it was asked lately; `isChanged`: the server says that its tools are others. Never throws. */
  refreshSoon(projectId: string, serverId: string, why?: { readonly isChanged: boolean }): void;
}

/** Defines the jobs too: call before `jobs.start`. */
export function createDiscovery(deps: DiscoveryDependencies): Discovery {
  const { db, jobs, logger } = deps;
  const limits = { ...mcpLimits, ...deps.limits };
  const asked = new LRUCache<string, number>({ max: SERVERS_REMEMBERED, ttl: ASKED_AGAIN_MS });
  const refresh = (projectId: string, serverId: string, signal: AbortSignal) =>
    discover({ ...deps, limits }, tenantDb(db, projectId), projectId, serverId, signal);
  jobs.define<DiscoverJob>(
    DISCOVER,
    async ({ data, signal }) => {
      try {
        await refresh(data.projectId, data.serverId, signal);
      } catch (error) {
        // Noted with the server: whoever looks at it is told, and asks again.
        if (!(error instanceof McpFailure)) throw error;
        logger.debug({ err: error, server: data.serverId }, 'the tools of an MCP server were not listed');
      }
    },
    { concurrency: 8, concurrencyPerGroup: 2, retryLimit: 1, timeoutSeconds: 120 },
  );
  jobs.define(SWEEP_LISTS, ({ signal }) => sweepLists(db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_LISTS, '43 * * * *', {});
  const optionsOf = (projectId: string, serverId: string) => ({
    singletonKey: `${projectId}/${serverId}`,
    group: projectId,
  });
  return {
    refresh,
    async refreshAfter(tx, serverId) {
      const data = { projectId: tx.projectId, serverId } satisfies DiscoverJob;
      await tx.enqueue(jobs, DISCOVER, data, optionsOf(tx.projectId, serverId));
    },
    refreshSoon(projectId, serverId, { isChanged } = { isChanged: false }) {
      const key = `${projectId}/${serverId}`;
      const since = asked.get(key);
      // A change may have come after the list was asked for; a server that tells of changes all the time is not believed.
      if (since !== undefined && (!isChanged || systemClock.now().getTime() - since < CHANGED_AGAIN_MS)) return;
      asked.set(key, systemClock.now().getTime());
      const data = { projectId, serverId } satisfies DiscoverJob;
      jobs.enqueue(db, DISCOVER, data, optionsOf(projectId, serverId)).catch((error: unknown) => {
        asked.delete(key);
        logger.warn({ err: error, server: serverId }, 'the tools of an MCP server are not asked for');
      });
    },
  };
}

async function discover(
  deps: DiscoveryDependencies & { readonly limits: McpLimits },
  home: TenantDb,
  projectId: string,
  serverId: string,
  signal: AbortSignal,
): Promise<void> {
  const server = await findServer(home, serverId);
  if (server === undefined) return;
  try {
    await listTools(deps, home, projectId, server, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError) throw error;
    const failure = describeFailure(error);
    await storeDiscoveryError(home, server, STATUSES[failure.kind], failure.message);
    throw failure;
  }
}

const STATUSES: Readonly<Record<McpFailure['kind'], McpServerStatus>> = {
  connect: 'unreachable',
  time: 'unreachable',
  auth: 'auth_required',
  protocol: 'failed',
  refused: 'failed',
};

async function listTools(
  deps: DiscoveryDependencies & { readonly limits: McpLimits },
  home: TenantDb,
  projectId: string,
  server: RegisteredServer,
  signal: AbortSignal,
): Promise<void> {
  // What the server speaks is asked anew: a list is also how an upgraded server is noticed.
  const token =
    server.auth_kind === 'oauth'
      ? await deps.signIn.findAnyAccess({ projectId, serverId: server.id, signal })
      : undefined;
  const endpoint = { ...openEndpoint(deps.vault, projectId, server, token), protocol: null };
  const connection = await connect(deps, endpoint, { signal, together: true });
  try {
    const listed = await connection.listTools(signal);
    const list = await readToolList(deps.schemas, projectId, listed, deps.limits);
    await storeTools(home, server, list, connection.protocol, describeWithheld(list.tools));
  } finally {
    void connection.close();
  }
}

const WITHHELD_SHOWN = 5;

/** Says which of the tools are not offered to models, and why. */
export function describeWithheld(
  tools: readonly { readonly name: string; readonly withheld?: string }[],
): string | null {
  const withheld = tools.filter(({ withheld: why }) => why?.startsWith('its ') === true);
  if (withheld.length === 0) return null;
  const shown = withheld.slice(0, WITHHELD_SHOWN).map(({ name, withheld: why }) => `${name.slice(0, 64)}: ${why}`);
  const more = withheld.length > shown.length ? `, and ${withheld.length - shown.length} more` : '';
  return `Not offered to models: ${shown.join('; ')}${more}.`;
}

async function sweepLists(db: Database, signal: AbortSignal): Promise<void> {
  for (let removed = ROWS_A_BATCH; removed === ROWS_A_BATCH && !signal.aborted; ) {
    const { rowCount } = await db.query({
      text: `
        delete from mcp_tool_lists l using (${UNUSED_LISTS_SQL} limit ${ROWS_A_BATCH}) as over
        where l.project_id = over.project_id and l.server_id = over.server_id and l.hash = over.hash`,
      values: [],
    });
    removed = rowCount;
  }
}
