/**
 * A request to an MCP deployment, in the order in which it is checked: origin, deployment, message, smith, session. What is
 * refused up to there has the platform's envelope; then the protocol's library answers.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../kernel/http/errors.ts';
import type { RawBody } from '../../kernel/http/request-body.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { ProjectCaller } from '../access/caller.ts';
import { mcpAddress } from '../access/mcp-address.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import { createTurnLine, type SmithPlace } from '../surfaces/index.ts';
import { cancelRequest } from './ask.ts';
import { REPLY_WAIT_MS } from './await-reply.ts';
import { checkOrigin } from './check-origin.ts';
import type { Exchange, JsonRpcMessage } from './exchange.ts';
import { findMcpDeployment, type McpDeployment } from './find-deployment.ts';
import { JsonRpcError } from './json-rpc-error.ts';
import { createProtocol, type ProtocolDependencies } from './protocol.ts';
import { readMessage } from './read-message.ts';
import { type McpAnswer, renderResponse } from './render-response.ts';
import { requireNamed, resolveSmith } from './resolve-smith.ts';
import { openSession, SESSION_HEADER, sealSession } from './session.ts';

export interface McpCall {
  readonly db: TenantDb;
  readonly caller: ProjectCaller;
  readonly deploymentId: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: RawBody;
  /** Fires when the client goes away. */
  readonly signal: AbortSignal;
}

export interface McpSurface {
  /**
   * Throws `unauthenticated`, `not_found`, `invalid_state`, `invalid_request`, `smith_required`, `smith_unresolved`, `smith_mismatch`,
   * `forbidden_target`, `session_not_found` and `session_mismatch`.
   */
  answer(call: McpCall): Promise<McpAnswer>;
  /** A turn has come to rest on this replica. */
  turnRested(place: SmithPlace): void;
}

export interface McpSurfaceDependencies extends Omit<ProtocolDependencies, 'line' | 'replyWaitMs'> {
  readonly publicUrl: string;
  readonly vault: Vault;
  /** How long a call waits for its reply; a default when absent. */
  readonly replyWaitMs?: number | undefined;
}

const METHOD_NOT_FOUND = -32_601;
/** These say what the server is, whoever asks. */
const WITHOUT_SMITH: ReadonlySet<unknown> = new Set(['initialize', 'server/discover']);
/** What the library reads. */
const HEADERS = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

export function createMcpSurface({ publicUrl, vault, replyWaitMs, ...deps }: McpSurfaceDependencies): McpSurface {
  const line = createTurnLine();
  const protocol = createProtocol({ ...deps, line, replyWaitMs: replyWaitMs ?? REPLY_WAIT_MS });

  async function identify(call: McpCall, deployment: McpDeployment, message: JsonRpcMessage): Promise<Exchange> {
    const { db, caller, headers } = call;
    const smith = await resolveSmith(db, deployment, caller, headers);
    if (WITHOUT_SMITH.has(message.method)) return { deployment, caller, smith, sessionKey: undefined, message };
    const { id: smithId } = requireNamed(smith);
    const sealed = headers[SESSION_HEADER];
    const sessionKey =
      typeof sealed === 'string' ? openSession(vault, deployment, sealed, { caller, smithId }) : undefined;
    return { deployment, caller, smith, sessionKey, message };
  }

  async function answerMessage(call: McpCall, deployment: McpDeployment, message: JsonRpcMessage): Promise<McpAnswer> {
    const exchange = await identify(call, deployment, message);
    // Nothing that a client could listen for ever changes under way.
    if (message.method === 'subscriptions/listen') {
      throw new JsonRpcError(404, METHOD_NOT_FOUND, 'Method not found');
    }
    if (message.method === 'notifications/cancelled') {
      await cancelRequest(deps.engine, exchange, (message.params as { requestId?: unknown } | undefined)?.requestId);
    }
    const response = await protocol.serve(requestOf(call), exchange);
    const begins = message.method === 'initialize' && response.ok;
    const session = begins ? sealSession(vault, deployment, call.caller, exchange.smith?.id) : undefined;
    return renderResponse(response, session === undefined ? {} : { [SESSION_HEADER]: session });
  }

  return {
    async answer(call) {
      checkOrigin(publicUrl, call.headers);
      checkAudience(publicUrl, call);
      const deployment = await findMcpDeployment(call.db, call.deploymentId);
      let message: JsonRpcMessage = {};
      try {
        message = readMessage(call.body);
        return await answerMessage(call, deployment, message);
      } catch (error) {
        if (error instanceof JsonRpcError) return error.reply(message.id);
        throw error;
      }
    },
    turnRested: line.turnRested,
  };
}

/** A token that was issued for another server is none here (2025-11-25, Authorization, Token Handling). */
function checkAudience(publicUrl: string, { caller, deploymentId }: McpCall): void {
  if (caller.kind !== 'smith' || caller.audience === undefined) return;
  if (caller.audience === mcpAddress(publicUrl, deploymentId)) return;
  throw new ApiError('unauthenticated', {
    message: 'The token was issued for another MCP server. Ask for one with this server’s address as `resource`.',
  });
}

function requestOf({ headers, signal }: McpCall): Request {
  const passed = HEADERS.flatMap((name): [string, string][] => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return new Request('http://mcp.invalid/', { method: 'POST', headers: passed, signal });
}
