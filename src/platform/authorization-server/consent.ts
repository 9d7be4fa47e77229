/** Who may let a client in, and what the browser is told then. */
import type { Executor } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { actorOf, type Caller, TENANT_MARKER } from '../access/caller.ts';
import { requireScope } from '../access/gate.ts';
import { tenantDb } from '../store/tenant-db.ts';
import { mintCredential } from './credentials.ts';
import { type ConnectorTarget, findTarget } from './find-target.ts';
import type { IdentityClaims } from './id-token.ts';
import { withParameters } from './redirect-uri.ts';
import { type Approval, type AuthorizeRequest, approveRequest, denyRequest } from './request-store.ts';
import { CONNECTOR_SCOPE } from './requested-scopes.ts';

/** Who lets the client in, and what the consent is for. */
export interface Consent {
  readonly caller: Caller;
  /** Of a connector. */
  readonly smithId: string | undefined;
  /** Of an app. */
  readonly projectId: string | undefined;
  /** The person whom the caller vouches for, of an app. */
  readonly user?: VouchedPerson | undefined;
}

type VouchedPerson = Omit<IdentityClaims, 'sub'> & { readonly id: string };

/**
 * Lets a connector in, for the smith of a smith token or the one that a tenant-admin token names; or an app, into a project of the
 * organization whose key it is. The address to send the browser to, with the code. Throws `tenant_token_required`,
 * `organization_required`, `insufficient_scope`, `not_found` (a token of another project, a project of another organization),
 * `smith_required`, `smith_unresolved`, `smith_mismatch`, `forbidden_target`, `invalid_request` and `invalid_state`.
 */
export async function approve(
  tx: Executor,
  publicUrl: string,
  request: AuthorizeRequest,
  consent: Consent,
): Promise<string> {
  const granted =
    request.deployment_id === null
      ? await grantApp(tx, request, consent)
      : await grantConnector(tx, request, request.deployment_id, consent);
  const { text: code, hash: codeHash } = mintCredential('code');
  const approval = { ...granted, actor: actorOf(consent.caller), codeHash };
  if (!(await approveRequest(tx, request.id, approval))) throw gone();
  await tx.query({
    text: 'update oauth_clients set used_at = now() where id = $1 and used_at is null',
    values: [request.client_id],
  });
  return withParameters(request.redirect_uri, { code, state: request.state, iss: publicUrl });
}

type Granted = Pick<Approval, 'projectId' | 'smithId' | 'claims'>;

async function grantConnector(
  tx: Executor,
  request: AuthorizeRequest,
  deploymentId: string,
  { caller, smithId }: Consent,
): Promise<Granted> {
  requireConnectorOwner(request, caller);
  const target = await findTarget(tx, deploymentId);
  if (target === undefined) throw gone();
  const smith = await chooseSmith(tx, target, caller.kind === 'smith' ? caller.smithId : smithId, smithId);
  return { projectId: target.project_id, smithId: smith, claims: null };
}

async function grantApp(
  tx: Executor,
  { scopes }: AuthorizeRequest,
  { caller, projectId, user }: Consent,
): Promise<Granted> {
  if (caller.kind !== 'organization') throw new ApiError('organization_required');
  if (projectId === undefined) {
    const message = 'Say which project the program is let into: `project_id`.';
    throw new ApiError('invalid_request', { param: 'project_id', message });
  }
  const { rows } = await tx.query<Owner>({
    text: `
      select o.name, o.contact_email from projects p join organizations o on o.id = p.organization_id
      where p.id = $1 and p.organization_id = $2 and p.archived_at is null`,
    values: [projectId, caller.organizationId],
  });
  const [owner] = rows;
  if (owner === undefined) {
    throw new ApiError('not_found', { param: 'project_id', message: 'The organization has no such project.' });
  }
  const claims = scopes.includes('openid') ? identityOf(caller.organizationId, owner, user) : null;
  return { projectId, smithId: null, claims };
}

interface Owner {
  readonly name: string;
  readonly contact_email: string | null;
}

/**
 * Whom the id_token is about: the organization, or the person that its key vouches for. The contact address is what an operator
 * wrote down: nobody has shown that mail reaches the organization there.
 */
function identityOf(
  organizationId: string,
  { name, contact_email: email }: Owner,
  user: VouchedPerson | undefined,
): IdentityClaims {
  if (user === undefined) {
    return { sub: organizationId, name, ...(email === null ? {} : { email, email_verified: false }) };
  }
  const { id, ...claims } = user;
  return { ...claims, sub: `${organizationId}:${id}` };
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
