/** The MCP servers of a request, made ready for its turn; and what is never shown again of them. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { OutboundError } from '../../../kernel/outbound/outbound.ts';
import { type Engine, type RunRow, readTurnConfig } from '../../engine/index.ts';
import { type TenantDb, tenantDb } from '../../store/tenant-db.ts';
import type { JsonObject, McpToolEntry } from '../../tables.ts';
import type { RequestServer, ServerCredentials } from '../../tools/request-servers.ts';
import { mcpListItemId } from './item-ids.ts';
import { type ParsedMcpTool, parseMcpTool } from './parse-mcp-tool.ts';

/** A list of tools among the items of an input. */
export interface BroughtList {
  /** Of the item in the request. */
  readonly at: string;
  readonly id: string;
  readonly label: string;
  readonly tools: readonly JsonObject[];
}

export interface PreparedServers {
  /** Undefined: none. */
  readonly servers: readonly RequestServer[] | undefined;
  readonly credentials: ServerCredentials;
}

/** Where lists are looked for before a server is asked. */
export interface KnownLists {
  readonly brought: readonly BroughtList[];
  /** Runs of the smith whose lists hold for their servers: the one that the turn goes on from, and those that items name. */
  readonly runs: readonly RunRow[];
}

/**
 * Looks the hosts up: call it outside of any transaction. Throws `invalid_url`, `invalid_input` (a list that is none) and
 * `service_overloaded`.
 */
export async function prepareServers(
  { db, requestServers }: Pick<Engine, 'db' | 'requestServers'>,
  projectId: string,
  parsed: readonly ParsedMcpTool[],
  known: KnownLists = { brought: [], runs: [] },
): Promise<PreparedServers> {
  const credentials = new Map<string, Readonly<Record<string, string>>>();
  if (parsed.length === 0) return { servers: undefined, credentials };
  const urls = await Promise.all(parsed.map(({ url, at }) => checkUrl(requestServers, url, `${at}.server_url`)));
  const servers: RequestServer[] = [];
  for (const [index, { at: _, headers, ...server }] of parsed.entries()) {
    if (headers !== undefined) credentials.set(server.label, headers);
    const placed = { ...server, url: urls[index] ?? server.url };
    const tools = await findTools(tenantDb(db, projectId), requestServers, placed, known);
    servers.push(tools === undefined ? placed : { ...placed, tools });
  }
  return { servers, credentials };
}

async function checkUrl({ checkUrl: check }: Engine['requestServers'], url: string, param: string): Promise<string> {
  try {
    return await check(url);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw new ApiError('invalid_url', { param, message: `\`${param}\` is refused: ${error.message}.` });
  }
}

/** Undefined: the server is to be asked. What this server listed itself before what a client says. */
async function findTools(
  db: TenantDb,
  requestServers: Engine['requestServers'],
  server: RequestServer,
  { brought, runs }: KnownLists,
): Promise<readonly McpToolEntry[] | undefined> {
  for (const run of runs) {
    const tools = await findStoredTools(db, run, server);
    if (tools !== undefined) return tools;
  }
  // A list of ours that was made for another address says nothing of this one.
  const own = new Set(runs.map(({ id }) => mcpListItemId(id, server.label)));
  const list = brought.findLast(({ label, id }) => label === server.label && !own.has(id));
  if (list === undefined) return undefined;
  const read = await requestServers.readTools(db.projectId, list.tools);
  if ('tools' in read) return read.tools;
  const param = `${list.at}.tools`;
  const message = `\`${param}\` is no list of tools as \`mcp_list_tools\` items have it: ${read.problem}. Leave the item out.`;
  throw new ApiError('invalid_input', { param, message });
}

async function findStoredTools(
  db: TenantDb,
  run: RunRow,
  { label, url }: RequestServer,
): Promise<readonly McpToolEntry[] | undefined> {
  const same = serversOf(run).find((server) => server.label === label && server.url === url);
  if (same === undefined || same.tools !== undefined) return same?.tools;
  const { rows } = await db.raw<{ tools: readonly McpToolEntry[] }>({
    text: `
      select output -> 'tools' as tools from run_steps
      where project_id = $1 and run_id = $2 and kind = 'mcp_list' and name = $3`,
    values: [run.id, label],
  });
  return rows[0]?.tools;
}

function serversOf(run: RunRow): readonly RequestServer[] {
  return readTurnConfig(run.config).settings.tools.mcp ?? [];
}

/**
 * What a request that answers the run's pause lets be sent to its servers from now on. Servers that the run does not have are
 * left aside, as all other tools are. Throws as `parseMcpTool` does, and for another address under a label of the run.
 */
export function readFreshCredentials(run: RunRow, tools: unknown): ServerCredentials {
  const fresh = new Map<string, Readonly<Record<string, string>>>();
  const servers = serversOf(run);
  for (const [index, tool] of (Array.isArray(tools) && servers.length > 0 ? (tools as unknown[]) : []).entries()) {
    if (!isMcpTool(tool)) continue;
    const parsed = parseMcpTool(tool, `tools.${index}`);
    const server = servers.find(({ label }) => label === parsed.label);
    if (server === undefined || parsed.headers === undefined) continue;
    // What was meant for one server is never sent to another.
    if (!URL.canParse(parsed.url) || new URL(parsed.url).href !== server.url) {
      const param = `${parsed.at}.server_url`;
      const message = `\`${param}\` is not where the run calls ${parsed.label}. Answer it with the address that it began with.`;
      throw new ApiError('invalid_request', { param, message });
    }
    fresh.set(parsed.label, parsed.headers);
  }
  return fresh;
}

/** The tools of a request as responses show them: without what was to be sent to MCP servers. */
export function withoutCredentials(tools: unknown): unknown[] {
  return (Array.isArray(tools) ? (tools as unknown[]) : []).map((tool) => {
    if (!isMcpTool(tool)) return tool;
    const { authorization: _, headers: __, mcp, ...shown } = tool;
    return {
      ...shown,
      headers: null,
      ...(isObject(mcp) ? { mcp: withoutCredentials([{ type: 'mcp', ...mcp }])[0] } : {}),
    };
  });
}

function isMcpTool(tool: unknown): tool is JsonObject {
  return isObject(tool) && tool.type === 'mcp';
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
