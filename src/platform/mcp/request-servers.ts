/** Servers that requests bring: their addresses, what they list, and what may be sent to them as long as the run is open. */
import type { Tool } from '@modelcontextprotocol/client';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { type Outbound, OutboundError } from '../../kernel/outbound/outbound.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { ForeignSchemas } from '../schemas/index.ts';
import type { JsonObject } from '../tables.ts';
import type { ListedTools, RequestServer, RequestServers } from '../tools/request-servers.ts';
import { connect } from './client/connection.ts';
import { describeFailure, findStatus, McpFailure } from './client/failure.ts';
import { type McpLimits, mcpLimits } from './client/limits.ts';
import { readToolList } from './list-entries.ts';
import { describeWithout, findHeaders, openCredentials, sealCredentials } from './run-credentials.ts';

export interface RequestServerDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly outbound: Pick<Outbound, 'fetch' | 'checkUrl'>;
  readonly schemas: Pick<ForeignSchemas, 'findProblem'>;
  readonly logger: Logger;
  /** Where they differ from the usual ones. */
  readonly limits?: Partial<McpLimits> | undefined;
}

export function createRequestServers(given: RequestServerDependencies): RequestServers {
  const { outbound, schemas, vault } = given;
  const limits = { ...mcpLimits, ...given.limits };
  const deps = { ...given, limits };
  return {
    async checkUrl(address) {
      const url = await outbound.checkUrl(address, { policy: 'public', httpsOnly: true });
      if (url.hash !== '') throw new OutboundError('malformed', 'it has a fragment, which is never sent');
      return url.href;
    },
    async readTools(projectId, tools) {
      try {
        return await readToolList(schemas, projectId, tools.map(readTool), limits);
      } catch (error) {
        if (!(error instanceof McpFailure)) throw error;
        return { problem: error.message };
      }
    },
    seal(run, fresh, before) {
      const kept = before === null ? new Map() : openCredentials(vault, run, before);
      return sealCredentials(vault, run, new Map([...kept, ...fresh]));
    },
    list: (run, server, signal) => listTools(deps, run, server, signal),
  };
}

async function listTools(
  deps: RequestServerDependencies & { readonly limits: McpLimits },
  run: { readonly projectId: string; readonly runId: string },
  server: RequestServer,
  signal: AbortSignal,
): Promise<ListedTools> {
  let headers: Readonly<Record<string, string>> = {};
  try {
    headers = await findHeaders(deps, run, server.label);
    const endpoint = { url: server.url, headers, protocol: null };
    const connection = await connect(deps, endpoint, { signal, together: true });
    try {
      const listed = await connection.listTools(signal);
      const { tools } = await readToolList(deps.schemas, run.projectId, listed, deps.limits);
      return { tools, protocol: connection.protocol };
    } finally {
      void connection.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError) throw error;
    const failure = describeFailure(error);
    const why = isRedirect(failure) ? REDIRECTS : describeWithout(headers, failure);
    deps.logger.debug({ label: server.label, why }, 'the tools of a request’s MCP server were not listed');
    throw new ApiError(codeOf(failure), {
      message: `The tools of the MCP server ${server.label} could not be listed: ${why}.`,
    });
  }
}

/** What the guard of outgoing requests says of the address itself, at whichever hop. */
const REFUSED_ADDRESS: ReadonlySet<unknown> = new Set(['malformed', 'scheme', 'credentials', 'address']);
const MAX_CAUSES = 8;
/** The client of the protocol follows none to another origin. */
const REDIRECTS = 'the server redirects to another address, which is not followed; use its final URL';

function isRedirect(failure: McpFailure): boolean {
  const status = findStatus(failure) ?? 0;
  return status >= 300 && status < 400;
}

function codeOf(failure: McpFailure): 'invalid_url' | 'connect_failed' | 'auth_required' | 'discovery_failed' {
  if (isRedirect(failure)) return 'invalid_url';
  let cause: unknown = failure;
  for (let depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth += 1) {
    if (cause instanceof OutboundError && REFUSED_ADDRESS.has(cause.reason)) return 'invalid_url';
    cause = cause.cause;
  }
  switch (failure.kind) {
    case 'connect':
    case 'time':
      return 'connect_failed';
    case 'auth':
      return 'auth_required';
    case 'protocol':
    case 'refused':
      return 'discovery_failed';
  }
}

/** As `mcp_list_tools` items have tools. Throws McpFailure for what is none. */
function readTool(given: JsonObject): Tool {
  const { name, description, input_schema: schema, annotations } = given;
  if (typeof name !== 'string') throw new McpFailure('protocol', 'a tool has no name');
  if (!isObject(schema)) throw new McpFailure('protocol', `the tool ${name.slice(0, 64)} has no input_schema`);
  const hints = isObject(annotations) ? annotations : {};
  const hint = (member: string) => (typeof hints[member] === 'boolean' ? { [member]: hints[member] } : {});
  return {
    name,
    inputSchema: schema as Tool['inputSchema'],
    ...(typeof description === 'string' ? { description } : {}),
    annotations: {
      ...hint('readOnlyHint'),
      ...hint('destructiveHint'),
      ...hint('idempotentHint'),
      ...hint('openWorldHint'),
    },
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
