/** A tool of type `mcp`: a server that the request brings for its turn. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { JsonObject } from '../../tables.ts';
import type { McpApprovalRule, McpToolFilter, RequestServer } from '../../tools/request-servers.ts';

/** As the request names it: its address is not yet looked up, and its tools are not known. */
export interface ParsedMcpTool extends Omit<RequestServer, 'tools'> {
  /** Where the tool stands in the request. */
  readonly at: string;
  /** What is sent to the server besides the protocol's own; undefined: nothing. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

const LABEL = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const MAX_URL_CHARS = 4_096;
const MAX_DESCRIPTION_CHARS = 4_096;
const MAX_TOOL_NAMES = 1_000;
const MAX_TOOL_NAME_CHARS = 256;
const MAX_HEADERS = 32;
const MAX_HEADER_NAME_CHARS = 128;
const MAX_HEADER_VALUE_CHARS = 8_192;
const MAX_HEADERS_CHARS = 16_384;

/** Members that would reach a server by other ways than its address. */
const UNSUPPORTED = ['connector_id', 'tunnel_id'] as const;

/** Characters of a header's name (RFC 9110, section 5.1), and of a value that any server takes. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;
const TOKEN = /^[\x21-\x7e]+$/;

/** Headers that are the connection's, or the protocol's own. */
const RESERVED: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);
const RESERVED_PREFIXES = ['mcp-', 'proxy-', 'sec-'];

/** Throws `unsupported_tools`, `url_required`, `invalid_url` and `invalid_request`, each naming the member at fault. */
export function parseMcpTool(tool: JsonObject, place: string): ParsedMcpTool {
  const isWrapped = isObject(tool.mcp);
  const given = isWrapped ? (tool.mcp as JsonObject) : tool;
  const at = isWrapped ? `${place}.mcp` : place;
  for (const member of UNSUPPORTED) {
    if (given[member] == null) continue;
    throw new ApiError('unsupported_tools', {
      param: `${at}.${member}`,
      message: `\`${member}\` is not offered here. Name the server by its address, in \`server_url\`.`,
    });
  }
  const { server_label: label, server_url: url, server_description: description } = given;
  if (typeof label !== 'string' || !LABEL.test(label)) {
    throw invalid(`${at}.server_label`, 'must be a letter, then up to 63 letters, digits, underscores or hyphens');
  }
  if (url == null || url === '') throw new ApiError('url_required', { param: `${at}.server_url` });
  if (typeof url !== 'string' || url.length > MAX_URL_CHARS) {
    throw invalid(`${at}.server_url`, `must be an address of at most ${MAX_URL_CHARS} characters`);
  }
  if (description != null && (typeof description !== 'string' || description.length > MAX_DESCRIPTION_CHARS)) {
    throw invalid(`${at}.server_description`, `must be text of at most ${MAX_DESCRIPTION_CHARS} characters`);
  }
  return {
    at,
    label,
    url,
    description: description ?? null,
    allowed: parseAllowed(given.allowed_tools, `${at}.allowed_tools`),
    approval: parseApproval(given.require_approval, `${at}.require_approval`),
    headers: parseHeaders(given, at),
  };
}

function parseAllowed(given: unknown, at: string): McpToolFilter | null {
  if (given == null) return null;
  if (Array.isArray(given)) return { tool_names: parseNames(given, at) };
  if (!isObject(given)) throw invalid(at, 'must be a list of names, or an object with `tool_names` or `read_only`');
  return parseFilter(given, at);
}

function parseFilter(given: unknown, at: string): McpToolFilter {
  if (!isObject(given)) throw invalid(at, 'must be an object with `tool_names` or `read_only`');
  const { tool_names: names, read_only: readOnly } = given;
  if (readOnly != null && typeof readOnly !== 'boolean') throw invalid(`${at}.read_only`, 'must be true or false');
  return {
    ...(names == null ? {} : { tool_names: parseNames(names, `${at}.tool_names`) }),
    ...(readOnly == null ? {} : { read_only: readOnly }),
  };
}

function parseNames(given: unknown, at: string): string[] {
  if (!Array.isArray(given) || given.length > MAX_TOOL_NAMES) {
    throw invalid(at, `must be a list of at most ${MAX_TOOL_NAMES} names of tools`);
  }
  for (const [index, name] of (given as unknown[]).entries()) {
    if (typeof name === 'string' && name !== '' && name.length <= MAX_TOOL_NAME_CHARS) continue;
    throw invalid(`${at}.${index}`, `must be the name of a tool, of at most ${MAX_TOOL_NAME_CHARS} characters`);
  }
  return [...new Set(given as string[])];
}

function parseApproval(given: unknown, at: string): McpApprovalRule {
  if (given == null) return 'always';
  if (given === 'always' || given === 'never') return given;
  if (!isObject(given)) throw invalid(at, 'must be `always`, `never`, or an object with one of them or both');
  const { always, never } = given;
  return {
    ...(always == null ? {} : { always: parseFilter(always, `${at}.always`) }),
    ...(never == null ? {} : { never: parseFilter(never, `${at}.never`) }),
  };
}

function parseHeaders(
  { authorization, headers }: JsonObject,
  at: string,
): Readonly<Record<string, string>> | undefined {
  const named = new Map<string, string>();
  if (authorization != null) named.set('authorization', parseAuthorization(authorization, `${at}.authorization`));
  if (headers != null && !isObject(headers)) throw invalid(`${at}.headers`, 'must be an object of names and values');
  const given = Object.entries(headers ?? {});
  if (given.length > MAX_HEADERS) throw invalid(`${at}.headers`, `must hold at most ${MAX_HEADERS} headers`);
  for (const [name, value] of given) {
    const lower = name.toLowerCase();
    // Neither is repeated: a name may have been taken for a value.
    if (!HEADER_NAME.test(name) || name.length > MAX_HEADER_NAME_CHARS) {
      throw invalid(`${at}.headers`, `holds a name that is none of a header, or longer than ${MAX_HEADER_NAME_CHARS}`);
    }
    if (RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix))) {
      throw invalid(`${at}.headers`, `may not set ${lower}: it belongs to the connection or to the protocol`);
    }
    if (typeof value !== 'string' || value.length > MAX_HEADER_VALUE_CHARS || !HEADER_VALUE.test(value)) {
      throw invalid(
        `${at}.headers`,
        `must give ${lower} a text of at most ${MAX_HEADER_VALUE_CHARS} plain characters, without line breaks`,
      );
    }
    if (named.has(lower)) {
      const isTwice = lower === 'authorization' && authorization != null;
      throw invalid(
        `${at}.headers`,
        isTwice ? 'may not set authorization beside `authorization`' : `sets ${lower} twice`,
      );
    }
    named.set(lower, value.trim());
  }
  const chars = [...named].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (chars > MAX_HEADERS_CHARS)
    throw invalid(`${at}.headers`, `must take at most ${MAX_HEADERS_CHARS} characters together`);
  return named.size === 0 ? undefined : Object.fromEntries(named);
}

/** An OAuth access token; some callers put the scheme before it. */
function parseAuthorization(given: unknown, at: string): string {
  const token = typeof given === 'string' ? given.trim().replace(/^bearer +/i, '') : '';
  if (token.length <= MAX_HEADER_VALUE_CHARS && TOKEN.test(token)) return `Bearer ${token}`;
  throw invalid(at, `must be a token of at most ${MAX_HEADER_VALUE_CHARS} letters, digits and signs`);
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function invalid(param: string, problem: string): ApiError {
  return new ApiError('invalid_request', { param, message: `\`${param}\` ${problem}.` });
}
