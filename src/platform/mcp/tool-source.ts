/** The tools of MCP servers, for turns. They come from the store: no turn waits for a server to list its tools. */
import { LRUCache } from 'lru-cache';
import { tenantDb } from '../store/tenant-db.ts';
import type { JsonObject, McpToolEntry } from '../tables.ts';
import type { McpConfig, OfferedTools, Tool, ToolSource } from '../tools/tool.ts';
import { requiresApproval } from './approval-policy.ts';
import { type CallDependencies, callTool } from './call-tool.ts';
import { type McpLimits, mcpLimits } from './client/limits.ts';
import { createSessionPool } from './client/session-pool.ts';
import { listServersWithTools, type ServerLists } from './server-store.ts';
import { toolNameFor } from './tool-names.ts';

/** What providers take of tools. */
const MAX_TOOLS = 128;
/** Lists that the process remembers, by their tools. */
const TOOLS_REMEMBERED = 20_000;

export type McpToolDependencies = Omit<CallDependencies, 'sessions' | 'held' | 'limits'> & {
  /** Where they differ from the usual ones. */
  readonly limits?: Partial<McpLimits> | undefined;
};

export interface McpTools extends ToolSource {
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
  const remembered = new LRUCache<string, readonly McpToolEntry[]>({
    maxSize: TOOLS_REMEMBERED,
    sizeCalculation: (tools) => tools.length + 1,
  });
  return {
    async toolsFor({ projectId, mcp }) {
      if (mcp === null) return { tools: [] };
      const servers = await listServersWithTools(
        tenantDb(deps.db, projectId),
        mcp.servers,
        mcp.servers.map(({ id, hash }) => listKey(id, hash)).filter((key) => remembered.has(key)),
      );
      for (const { id, lists } of servers) {
        for (const { hash, tools } of lists ?? []) remembered.set(listKey(id, hash), tools);
      }
      for (const { id, is_stale } of servers) if (is_stale) deps.discovery.refreshSoon(projectId, id);
      return offerTools(deps, mcp, servers, remembered);
    },
    stop: () => deps.sessions.close(),
  };
}

function listKey(serverId: string, hash: string | null): string {
  return `${serverId} ${hash}`;
}

function offerTools(
  deps: CallDependencies,
  mcp: McpConfig,
  servers: readonly ServerLists[],
  lists: Pick<ToolIndex, 'get'>,
): OfferedTools {
  const present = new Map(servers.map((server) => [server.id, server]));
  const missing = [...mcp.missing, ...mcp.servers.filter(({ id }) => !present.has(id)).map(({ name }) => name)];
  const warnings: Warnings = missing.map((name) => ({
    code: 'mcp_server_missing',
    message: `The MCP server ${name} has been deleted: the turn does without it.`,
  }));
  const tools = new Map<string, Tool>();
  let left = 0;
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
      if (tools.size === MAX_TOOLS) left += 1;
      else {
        const name = toolNameFor(server.name, tool.name, (taken) => tools.has(taken));
        tools.set(name, describeTool(deps, server, tool, { name, hash: today.get(tool.name) ?? null }));
      }
    }
  }
  if (left > 0) {
    const message = `A turn has at most ${MAX_TOOLS} tools of MCP servers; ${left} are left out. Name fewer servers, or allow fewer of their tools.`;
    warnings.push({ code: 'mcp_tools_left_out', message });
  }
  return { tools: [...tools.values()], warnings };
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
    repeatable: tool.hints.readOnly === true || tool.hints.idempotent === true,
    target: {
      ...{ server: server.id, revision: server.revision, tool: hash },
      // By which surfaces show the call.
      ...{ server_label: server.name, tool_name: tool.name },
    },
    execute: (call) => callTool(deps, called, call),
  };
}

/** Providers refuse parameters that are no object. */
function asObjectSchema(schema: JsonObject): JsonObject {
  return schema.type === 'object' ? schema : { ...schema, type: 'object' };
}
