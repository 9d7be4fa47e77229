/** Who may let a client in, and what the browser is told then. */
import type { Executor } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { actorOf, type Caller, TENANT_MARKER } from '../access/caller.ts';
import { requireScope } from '../access/gate.ts';
import { tenantDb } from '../store/tenant-db.ts';
import { mintCredential } from './credentials.ts';
import { type ConnectorTarget, findTarget } from './find-target.ts';
import { withParameters } from './redirect-uri.ts';
import { type AuthorizeRequest, approveRequest, denyRequest } from './request-store.ts';
import { CONNECTOR_SCOPE } from './requested-scopes.ts';

/**
 * Lets the connector in, for the smith of a smith token, or the one that a tenant-admin token names. The address to send the
 * browser to, with the code. Throws `tenant_token_required`, `insufficient_scope`, `not_found` (a token of another project),
 * `smith_required`, `smith_unresolved`, `smith_mismatch`, `forbidden_target` and `invalid_state`.
 */
export async function approve(
  tx: Executor,
  publicUrl: string,
  request: AuthorizeRequest,
  { caller, smithId }: { readonly caller: Caller; readonly smithId: string | undefined },
): Promise<string> {
  requireConnectorOwner(request, caller);
  const target = await findTarget(tx, request.deployment_id);
  if (target === undefined) throw gone();
  const smith = await chooseSmith(tx, target, caller.kind === 'smith' ? caller.smithId : smithId, smithId);
  const { text: code, hash: codeHash } = mintCredential('code');
  if (!(await approveRequest(tx, request.id, { smithId: smith, actor: actorOf(caller), codeHash }))) throw gone();
  await tx.query({
    text: 'update oauth_clients set used_at = now() where id = $1 and used_at is null',
    values: [request.client_id],
  });
  return withParameters(request.redirect_uri, { code, state: request.state, iss: publicUrl });
}

/** Sends the client away; whoever has the request's id may. Throws `invalid_state`. */
export async function deny(db: Executor, publicUrl: string, request: AuthorizeRequest): Promise<string> {
  if (!(await denyRequest(db, request.id))) throw gone();
  return withParameters(request.redirect_uri, {
    error: 'access_denied',
    error_description: 'The request was declined.',
    state: request.state,
    iss: publicUrl,
  });
}

/** Throws where the caller has no say in who connects to this deployment. */
function requireConnectorOwner(request: AuthorizeRequest, caller: Caller): void {
  if (caller.kind === 'organization') throw new ApiError('tenant_token_required');
  if (caller.projectId !== request.project_id) throw new ApiError('not_found');
  requireScope(caller, caller.kind === 'tenant' ? TENANT_MARKER : CONNECTOR_SCOPE);
  // A connector must not make itself another, which would outlive it.
  if (caller.kind === 'tenant' || caller.audience === undefined) return;
  throw new ApiError('tenant_token_required', {
    message: 'This token was itself issued to a program. Use one that you have minted.',
  });
}

async function chooseSmith(
  db: Executor,
  target: ConnectorTarget,
  own: string | undefined,
  named: string | undefined,
): Promise<string> {
  if (named !== undefined && named !== own) throw new ApiError('smith_mismatch');
  if (target.smith_id !== null) {
    if (own === undefined || own === target.smith_id) return target.smith_id;
    throw new ApiError('smith_mismatch', {
      message: 'This MCP server is one smith’s. Use that smith, or leave it out.',
    });
  }
  if (own === undefined) {
    const message = 'This MCP server is an agent’s: say which of its smiths the program is to speak to.';
    throw new ApiError('smith_required', { param: 'smith_id', message });
  }
  const smith = await tenantDb(db, target.project_id)
    .selectFrom('smiths')
    .select('agent_id')
    .where('id', '=', own)
    .where('archived_at', 'is', null)
    .executeTakeFirst();
  if (smith === undefined) {
    throw new ApiError('smith_unresolved', {
      param: 'smith_id',
      message: '`smith_id` names no smith of this project. Correct it, or create the smith.',
    });
  }
  if (smith.agent_id === target.agent_id) return own;
  throw new ApiError('forbidden_target', {
    message: 'This MCP server is an agent’s, and the smith is none of that agent. Use a smith that runs on it.',
  });
}

export function gone(): ApiError {
  return new ApiError('invalid_state', {
    message: 'This request is settled, or too old. Start again from the program that wants to connect.',
  });
}
