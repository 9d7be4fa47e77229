/**
 * The tools and the choice among them of a chat completion or a response: two spellings of one thing. A function is the
 * caller's to run; `file_search` is this server's; an `mcp` server's tools are called from here. Every other type of tool is
 * refused.
 */

import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { requireReferences } from '../../access/references.ts';
import type { ClientTool, ToolChoice } from '../../engine/index.ts';
import { parseFilter } from '../../knowledge/search/index.ts';
import { type CheckParameters, createParameterCheck } from '../../schemas/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';
import { FILE_SEARCH } from '../../tools/file-search.ts';
import type { McpToolFilter } from '../../tools/request-servers.ts';
import type { FileSearchConfig } from '../../tools/tool.ts';
import { type ParsedMcpTool, parseMcpTool } from './parse-mcp-tool.ts';

const MAX_TOOLS = 128;
/** Each is asked for its tools before the turn begins. */
const MAX_MCP_SERVERS = 16;
const MAX_SEARCHED_STORES = 20;
const MAX_SEARCH_RESULTS = 50;

export interface ParsedTools {
  readonly tools: readonly ClientTool[];
  readonly toolChoice: ToolChoice;
  /** Undefined: the smith's own stores, if it has any. */
  readonly fileSearch: FileSearchConfig | undefined;
  /** Each under a label of its own. */
  readonly mcp: readonly ParsedMcpTool[];
}

/**
 * Throws `unsupported_tools`, `invalid_tool_choice`, `schema_error` (parameters that are no object), `url_required` and
 * `invalid_request` (also parameters over the limits of schemas), each naming the member at fault. That a named tool exists is
 * the engine's to say, for it knows the smith's own.
 */
export function parseTools(tools: unknown, toolChoice: unknown): ParsedTools {
  const list = tools ?? [];
  if (!Array.isArray(list)) throw invalid('tools', 'must be a list');
  if (list.length > MAX_TOOLS) throw invalid('tools', `must hold at most ${MAX_TOOLS} tools`);
  const functions: ClientTool[] = [];
  const checkParameters = createParameterCheck();
  const searches: (FileSearchConfig | undefined)[] = [];
  const mcp: ParsedMcpTool[] = [];
  for (const [index, tool] of (list as unknown[]).entries()) {
    const at = `tools.${index}`;
    if (!isObject(tool)) throw invalid(at, 'must be an object with a type');
    if (tool.type === 'function') functions.push(parseFunction(tool, at, checkParameters));
    else if (tool.type === 'file_search') searches.push(parseFileSearch(tool, at));
    else if (tool.type === 'mcp') mcp.push(parseMcpTool(tool, at));
    else throw unsupported(tool.type, at);
  }
  checkServers(mcp);
  if (searches.length > 1) throw invalid('tools', 'must hold `file_search` once; name all stores in it');
  const { choice, only } = parseChoice(toolChoice, mcp);
  return {
    tools: only === undefined ? functions : keepAllowed(functions, only.names),
    toolChoice: choice,
    fileSearch: searches[0],
    mcp: only === undefined ? mcp : keepAllowedServers(mcp, only.servers),
  };
}

function checkServers(servers: readonly ParsedMcpTool[]): void {
  if (servers.length > MAX_MCP_SERVERS) throw invalid('tools', `must hold at most ${MAX_MCP_SERVERS} of type \`mcp\``);
  const labels = new Set<string>();
  for (const { label, at } of servers) {
    if (labels.has(label)) throw invalid(`${at}.server_label`, `is the label of another server: ${label}`);
    labels.add(label);
  }
}

/**
 * Throws `not_found` for a store that this caller could not get: a smith token gets its smith's own, others the project's.
 */
export async function requireStores(
  db: TenantDb,
  caller: ProjectCaller,
  fileSearch: FileSearchConfig | undefined,
): Promise<void> {
  await requireReferences(db, caller, 'vector_store', fileSearch?.vector_store_ids ?? [], (id) => {
    const message = `No vector store ${id} is visible to this token. Take an id from \`GET /v1/vector_stores\`.`;
    return new ApiError('not_found', { param: 'tools', message });
  });
}

function parseFunction(tool: JsonObject, at: string, checkParameters: CheckParameters): ClientTool {
  // Chat completions wrap what responses have flat.
  const wrapped = isObject(tool.function);
  const given = wrapped ? (tool.function as JsonObject) : tool;
  const path = wrapped ? `${at}.function` : at;
  const { name, description, parameters, strict } = given;
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw invalid(`${path}.name`, 'must be 1 to 64 letters, digits, underscores or hyphens');
  }
  if (description != null && typeof description !== 'string') throw invalid(`${path}.description`, 'must be a string');
  if (parameters != null && !isObject(parameters)) {
    throw new ApiError('schema_error', {
      param: `${path}.parameters`,
      message: `\`${path}.parameters\` must be a JSON Schema of an object, or be left out.`,
    });
  }
  if (parameters != null) checkParameters(parameters, `${path}.parameters`);
  if (strict != null && typeof strict !== 'boolean') throw invalid(`${path}.strict`, 'must be true or false');
  return {
    name,
    ...(description == null ? {} : { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
    ...(strict == null ? {} : { strict }),
    requires_approval: false,
  };
}

function parseFileSearch(tool: JsonObject, at: string): FileSearchConfig | undefined {
  const wrapped = isObject(tool.file_search);
  const given = wrapped ? (tool.file_search as JsonObject) : tool;
  const path = wrapped ? `${at}.file_search` : at;
  const { vector_store_ids: stores, max_num_results: results, filters, ranking_options: ranking } = given;
  if (stores === undefined || stores === null) {
    if (results == null && filters == null && ranking == null) return undefined;
    throw invalid(`${path}.vector_store_ids`, 'must name the stores that the other members are about');
  }
  if (!isStrings(stores) || stores.length === 0 || stores.length > MAX_SEARCHED_STORES) {
    throw invalid(`${path}.vector_store_ids`, `must hold 1 to ${MAX_SEARCHED_STORES} ids`);
  }
  const inRange = typeof results === 'number' && Number.isInteger(results) && results >= 1;
  if (results != null && !(inRange && results <= MAX_SEARCH_RESULTS)) {
    throw invalid(`${path}.max_num_results`, `must be a whole number from 1 to ${MAX_SEARCH_RESULTS}`);
  }
  if (filters != null) checkFilters(filters, `${path}.filters`);
  if (ranking != null) checkRanking(ranking, `${path}.ranking_options`);
  return {
    vector_store_ids: [...new Set(stores)],
    max_num_results: (results as number | null | undefined) ?? null,
    filters: (filters as JsonObject | null | undefined) ?? null,
    ranking_options: (ranking as JsonObject | null | undefined) ?? null,
  };
}

function checkFilters(filters: unknown, at: string): void {
  if (!isObject(filters)) throw invalid(at, 'must be an object');
  parseFilter(filters, at);
}

function checkRanking(ranking: unknown, at: string): void {
  if (!isObject(ranking)) throw invalid(at, 'must be an object');
  const { score_threshold: threshold, hybrid_search: hybrid } = ranking;
  if (threshold != null && !(isNumberFrom0(threshold) && threshold <= 1)) {
    throw invalid(`${at}.score_threshold`, 'must be a number from 0 to 1');
  }
  if (hybrid == null) return;
  if (!isObject(hybrid) || !isNumberFrom0(hybrid.embedding_weight) || !isNumberFrom0(hybrid.text_weight)) {
    throw invalid(`${at}.hybrid_search`, 'needs `embedding_weight` and `text_weight`, numbers from 0 on');
  }
}

function isNumberFrom0(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}

/** What `allowed_tools` leaves: functions by name, MCP servers by label. */
interface AllowedTools {
  readonly names: ReadonlySet<string>;
  /** With the names of their tools; undefined: all that the request allows. */
  readonly servers: ReadonlyMap<string, readonly string[] | undefined>;
}

/** `only`: what the choice leaves of the tools. */
function parseChoice(given: unknown, mcp: readonly ParsedMcpTool[]): { choice: ToolChoice; only?: AllowedTools } {
  if (given === undefined || given === null) return { choice: 'auto' };
  if (given === 'auto' || given === 'none' || given === 'required') return { choice: given };
  if (!isObject(given)) throw invalidChoice('must be auto, none, required, or an object that names a function');
  switch (given.type) {
    case 'function': {
      const name = isObject(given.function) ? given.function.name : given.name;
      if (typeof name !== 'string' || name === '') throw invalidChoice('of type function needs its `name`');
      return { choice: { name } };
    }
    case 'file_search':
      return { choice: { name: FILE_SEARCH } };
    case 'mcp':
      // The AI SDK leaves the label out.
      return { choice: parseServerChoice({ ...(mcp.length === 1 ? { server_label: mcp[0]?.label } : {}), ...given }) };
    case 'allowed_tools':
      return parseAllowed(isObject(given.allowed_tools) ? given.allowed_tools : given);
    default:
      throw invalidChoice('has an unknown type; use function, file_search, mcp or allowed_tools');
  }
}

function parseServerChoice({ server_label: server, name }: JsonObject): { server: string; tool?: string } {
  if (typeof server !== 'string' || server === '') throw invalidChoice('of type mcp needs its `server_label`');
  if (name == null) return { server };
  if (typeof name !== 'string' || name === '') throw invalidChoice('of type mcp has as `name` a tool of the server');
  return { server, tool: name };
}

function parseAllowed({ mode = 'auto', tools }: JsonObject): { choice: ToolChoice; only: AllowedTools } {
  if (mode !== 'auto' && mode !== 'required')
    throw invalidChoice('of type allowed_tools has the mode auto or required');
  if (!Array.isArray(tools)) throw invalidChoice('of type allowed_tools needs `tools`, a list');
  const names = new Set<string>();
  const servers = new Map<string, readonly string[] | undefined>();
  for (const tool of tools as unknown[]) {
    if (!isObject(tool)) throw invalidChoice('of type allowed_tools lists objects');
    if (tool.type === 'file_search') names.add(FILE_SEARCH);
    else if (tool.type === 'mcp') {
      const { server, tool: one } = parseServerChoice(tool);
      const known = servers.has(server) ? servers.get(server) : [];
      servers.set(server, one === undefined || known === undefined ? undefined : [...known, one]);
    } else {
      const name = isObject(tool.function) ? tool.function.name : tool.name;
      if (typeof name !== 'string') throw invalidChoice('of type allowed_tools lists functions by `name`');
      names.add(name);
    }
  }
  return { choice: mode, only: { names, servers } };
}

function keepAllowed(functions: readonly ClientTool[], only: ReadonlySet<string>): ClientTool[] {
  const known = new Set([FILE_SEARCH, ...functions.map(({ name }) => name)]);
  const unknown = [...only].find((name) => !known.has(name));
  if (unknown !== undefined) throw invalidChoice(`allows ${unknown}, which \`tools\` does not hold`);
  return functions.filter(({ name }) => only.has(name));
}

function keepAllowedServers(mcp: readonly ParsedMcpTool[], only: AllowedTools['servers']): ParsedMcpTool[] {
  const unknown = [...only.keys()].find((label) => !mcp.some((server) => server.label === label));
  if (unknown !== undefined) throw invalidChoice(`allows the MCP server ${unknown}, which \`tools\` does not hold`);
  return mcp
    .filter(({ label }) => only.has(label))
    .map((server) => ({ ...server, allowed: narrow(server.allowed, only.get(server.label)) }));
}

function narrow(allowed: McpToolFilter | null, names: readonly string[] | undefined): McpToolFilter | null {
  if (names === undefined) return allowed;
  const before = allowed?.tool_names;
  return { ...allowed, tool_names: before === undefined ? names : names.filter((name) => before.includes(name)) };
}

function unsupported(type: unknown, at: string): ApiError {
  return new ApiError('unsupported_tools', {
    param: `${at}.type`,
    message: `Tools of type ${typeof type === 'string' ? `\`${type}\`` : 'that kind'} are not offered here. Use \`function\`, \`file_search\` or \`mcp\`.`,
  });
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function invalid(param: string, problem: string): ApiError {
  return new ApiError('invalid_request', { param, message: `\`${param}\` ${problem}.` });
}

function invalidChoice(problem: string): ApiError {
  return new ApiError('invalid_tool_choice', { param: 'tool_choice', message: `\`tool_choice\` ${problem}.` });
}
