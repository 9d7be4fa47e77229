/** The tools of MCP servers, for turns. They come from the store: no turn waits for a server to list its tools. */
import { LRUCache } from 'lru-cache';
import { tenantDb } from '../store/tenant-db.ts';
import type { JsonObject, McpToolEntry } from '../tables.ts';
import { isOffered, needsApproval, type OfferedRequestServer } from '../tools/request-servers.ts';
import type { McpConfig, OfferedTools, Tool, ToolSource } from '../tools/tool.ts';
import { toolNameFor } from '../tools/tool-names.ts';
import { requiresApproval } from './approval-policy.ts';
import { callRequestTool } from './call-request-tool.ts';
import { type CallDependencies, callTool } from './call-tool.ts';
import { type McpLimits, mcpLimits } from './client/limits.ts';
import { createSessionPool } from './client/session-pool.ts';
import { describeWithheld } from './discovery.ts';
import { createCallEnder } from './end-calls.ts';
import { listServersWithTools, type ServerLists } from './server-store.ts';
import { findSuspendedCall, type SuspendedCallKey } from './suspended-calls.ts';

/** What providers take of tools. */
const MAX_TOOLS = 128;
/** Lists that the process remembers, by their tools. */
const TOOLS_REMEMBERED = 20_000;

export type McpToolDependencies = Omit<CallDependencies, 'sessions' | 'held' | 'limits'> & {
  /** Where they differ from the usual ones. */
  readonly limits?: Partial<McpLimits> | undefined;
};

export interface McpTools extends ToolSource {
  /** From now on sessions end whose calls nobody waits for any more. */
  start(): Promise<void>;
  /** Ends the connections. */
  stop(): Promise<void>;
}

type Warnings = { readonly code: string; readonly message: string }[];
type ToolIndex = ReadonlyMap<string, readonly McpToolEntry[]>;

export function createMcpTools(given: McpToolDependencies): McpTools {
  const deps: CallDependencies = {
    ...given,
    limits: { ...mcpLimits, ...given.limits },
    sessions: createSessionPool(),
    held: new Map(),
  };
  const callEnder = createCallEnder(deps);
  const remembered = new LRUCache<string, readonly McpToolEntry[]>({
    maxSize: TOOLS_REMEMBERED,
    sizeCalculation: (tools) => tools.length + 1,
  });
  return {
    async toolsFor({ projectId, mcp, requestServers }) {
      if (mcp === null && requestServers.length === 0) return { tools: [] };
      const offered = new Offered();
      for (const each of requestServers) offerRequestTools(deps, each, offered);
      if (mcp === null) return offered.all();
      const wanted = mcp.servers.map(({ id, hash }) => {
        const known = hash !== null && remembered.has(listKey(id, hash)) ? [hash] : [];
        return { id, hash, known };
      });
      const servers = await listServersWithTools(tenantDb(deps.db, projectId), wanted);
      for (const { id, lists } of servers) {
        for (const { hash, tools } of lists ?? []) remembered.set(listKey(id, hash), tools);
      }
      for (const { id, is_stale } of servers) if (is_stale) deps.discovery.refreshSoon(projectId, id);
      return offerTools(deps, mcp, servers, remembered, offered);
    },
    async start() {
      callEnder.start();
    },
    async stop() {
      await callEnder.stop();
      for (const held of [...deps.held.values()]) held.end();
      await deps.sessions.close();
    },
  };
}

function listKey(serverId: string, hash: string | null): string {
  return `${serverId} ${hash}`;
}

/** The tools of a turn, each under a name of its own, as many as providers take. */
class Offered {
  readonly #tools = new Map<string, Tool>();
  readonly warnings: Warnings = [];
  #left = 0;

  add(server: string, tool: string, describe: (name: string) => Tool): void {
    if (this.#tools.size === MAX_TOOLS) {
      this.#left += 1;
      return;
    }
    const name = toolNameFor(server, tool, (taken) => this.#tools.has(taken));
    this.#tools.set(name, describe(name));
  }

  all(): OfferedTools {
    const message = `A turn has at most ${MAX_TOOLS} tools of MCP servers; ${this.#left} are left out. Name fewer servers, or allow fewer of their tools.`;
    const left = this.#left === 0 ? [] : [{ code: 'mcp_tools_left_out', message }];
    return { tools: [...this.#tools.values()], warnings: [...this.warnings, ...left] };
  }
}

/** Before those of registered servers: the request asks for them. */
function offerRequestTools(deps: CallDependencies, { server, list }: OfferedRequestServer, offered: Offered): void {
  const { label, url } = server;
  const note = describeWithheld(list.tools);
  if (note !== null) offered.warnings.push({ code: 'mcp_tools_left_out', message: `The MCP server ${label}: ${note}` });
  for (const tool of list.tools) {
    if (!isOffered(server, tool)) continue;
    offered.add(label, tool.name, (name) => ({
      name,
      description: tool.description ?? '',
      parameters: asObjectSchema(tool.input_schema),
      requiresApproval: needsApproval(server.approval, tool),
      repeatable: isRepeatable(tool),
      target: { url, tool: tool.hash, server_label: label, tool_name: tool.name },
      canGoOn: (call) => isSuspended(deps, call),
      execute: (call) => callRequestTool(deps, { server, list, tool, name }, call),
    }));
  }
}

function isRepeatable({ hints }: McpToolEntry): boolean {
  return hints.readOnly === true || hints.idempotent === true;
}

function offerTools(
  deps: CallDependencies,
  mcp: McpConfig,
  servers: readonly ServerLists[],
  lists: Pick<ToolIndex, 'get'>,
  offered: Offered,
): OfferedTools {
  const present = new Map(servers.map((server) => [server.id, server]));
  const missing = [...mcp.missing, ...mcp.servers.filter(({ id }) => !present.has(id)).map(({ name }) => name)];
  for (const name of missing) {
    const message = `The MCP server ${name} has been deleted: the turn does without it.`;
    offered.warnings.push({ code: 'mcp_server_missing', message });
  }
  for (const { id, hash } of mcp.servers) {
    const server = present.get(id);
    if (server === undefined) continue;
    const fixed = lists.get(listKey(id, hash)) ?? [];
    // What an approval binds to is what the server says today, though the turn's definitions stay.
    const now = server.tools_hash === hash ? fixed : (lists.get(listKey(id, server.tools_hash)) ?? []);
    const today = new Map(now.map((tool) => [tool.name, tool.hash]));
    const allowed = server.tool_allowlist === null ? undefined : new Set(server.tool_allowlist);
    for (const tool of fixed) {
      if (tool.withheld !== undefined || allowed?.has(tool.name) === false) continue;
      const todays = today.get(tool.name) ?? null;
      offered.add(server.name, tool.name, (name) => describeTool(deps, server, tool, { name, hash: todays }));
    }
  }
  return offered.all();
}

function describeTool(
  deps: CallDependencies,
  server: ServerLists,
  tool: McpToolEntry,
  { name, hash }: { readonly name: string; readonly hash: string | null },
): Tool {
  const called = { server: { id: server.id, name: server.name, revision: server.revision }, tool, name };
  return {
    name,
    description: tool.description ?? '',
    parameters: asObjectSchema(tool.input_schema),
    requiresApproval: requiresApproval(server.approval_policy, tool),
    repeatable: isRepeatable(tool),
    target: {
      ...{ server: server.id, revision: server.revision, tool: hash },
      // By which surfaces show the call.
      ...{ server_label: server.name, tool_name: tool.name },
    },
    canGoOn: (call) => isSuspended(deps, call),
    execute: (call) => callTool(deps, called, call),
  };
}

async function isSuspended(deps: CallDependencies, call: SuspendedCallKey): Promise<boolean> {
  return (await findSuspendedCall(tenantDb(deps.db, call.projectId), deps.vault, call)) !== undefined;
}

/** Providers refuse parameters that are no object. */
function asObjectSchema(schema: JsonObject): JsonObject {
  return schema.type === 'object' ? schema : { ...schema, type: 'object' };
}
