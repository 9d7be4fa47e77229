/** A call of a tool of a server that the turn's request brought. */
import { hash } from 'node:crypto';
import { tenantDb } from '../store/tenant-db.ts';
import type { McpToolEntry } from '../tables.ts';
import type { OfferedRequestServer } from '../tools/request-servers.ts';
import type { ToolCall, ToolOutcome } from '../tools/tool.ts';
import { answer, type CallDependencies } from './call-tool.ts';
import { describeFailure } from './client/failure.ts';
import { describeWithout, findHeaders, outcomeWithout } from './run-credentials.ts';
import type { RegisteredServer } from './server-store.ts';

export interface CalledRequestTool extends OfferedRequestServer {
  readonly tool: McpToolEntry;
  /** As models see it. */
  readonly name: string;
}

export async function callRequestTool(
  deps: CallDependencies,
  { server: brought, list, tool, name }: CalledRequestTool,
  call: ToolCall,
): Promise<ToolOutcome> {
  const { label, url } = brought;
  const headers = await findHeaders(deps, call, label);
  const server = { ...UNREGISTERED, id: `request/${sessionKey(url, headers)}`, name: label, url };
  try {
    const outcome = await answer(deps, {
      home: tenantDb(deps.db, call.projectId),
      server,
      token: undefined,
      called: { server, tool, name },
      call,
      endpoint: { url, headers, protocol: list.protocol },
    });
    return outcomeWithout(headers, outcome);
  } catch (error) {
    call.signal.throwIfAborted();
    const why = describeWithout(headers, describeFailure(error));
    deps.logger.debug({ label, why }, 'a call of a request’s MCP server failed');
    return { error: `The MCP server ${label} could not be called: ${why}.` };
  }
}

/** What a registration would say. */
const UNREGISTERED: Omit<RegisteredServer, 'id' | 'name' | 'url'> = {
  auth_kind: 'none',
  auth_provider: null,
  sealed_secret: null,
  tool_allowlist: null,
  approval_policy: [],
  revision: 0,
  tools_hash: null,
  protocol: null,
  is_stale: false,
  is_failing: false,
};

/** A session is one caller's: another credential begins another. */
function sessionKey(url: string, headers: Readonly<Record<string, string>>): string {
  return hash('sha256', JSON.stringify([url, Object.entries(headers).sort()]));
}
