/** Authentication and authorization of every platform operation: token → posture → scope → subject. */
import { ApiError } from '../../kernel/http/errors.ts';
import type { OperationFacts } from '../../kernel/http/operation.ts';
import type { Gate } from '../../kernel/http/service.ts';
import { type Caller, hasScope, type ProjectCaller, TENANT_MARKER } from './caller.ts';
import type { TokenVerifier } from './verify-token.ts';

/** Path parameter that names a smith; a smith token may only name its own. */
const SMITH_PARAMETER = 'sid';

export function createGate(verifier: TokenVerifier): Gate<Caller> {
  return {
    authenticate(authorization, onClaimed) {
      return verifier.verify(bearerOf(authorization), onClaimed);
    },
    authorize(operation, caller, params) {
      checkPosture(operation.posture, caller);
      if (caller.kind === 'organization') return;
      const scope = scopeOf(operation);
      if (scope !== undefined) requireAnyScope(caller, scope.split('|'));
      const smithId = params[SMITH_PARAMETER];
      if (smithId !== undefined) requireSmith(caller, smithId);
    },
    refusalsOf,
    meterKey: (caller) => (caller.kind === 'organization' ? caller.organizationId : caller.projectId),
    narrowRefusal,
  };
}

/** Throws `insufficient_scope`, naming the scope in `details`. */
export function requireScope(caller: ProjectCaller, scope: string): void {
  if (hasScope(caller, scope)) return;
  throw new ApiError('insufficient_scope', {
    message:
      scope === TENANT_MARKER
        ? `This needs a tenant-admin token with ${scope}: a token with some of the scopes does not reach it.`
        : `This needs the scope ${scope}. Mint a token whose permissions include it.`,
    details: { required_scope: scope },
  });
}

/** Where an operation takes one scope or another, its handler asks for the one that the request needs. */
function requireAnyScope(caller: ProjectCaller, scopes: readonly string[]): void {
  const [first = '', ...others] = scopes;
  if (others.some((scope) => hasScope(caller, scope))) return;
  requireScope(caller, first);
}

/** Throws `smith_mismatch` where a smith token reaches for another smith, existing or not. */
export function requireSmith(caller: ProjectCaller, smithId: string): void {
  if (caller.kind === 'smith' && caller.smithId !== smithId) throw new ApiError('smith_mismatch');
}

function checkPosture(posture: OperationFacts['posture'], caller: Caller): void {
  const allowed = posture.split('|');
  const isOrganization = caller.kind === 'organization';
  if (isOrganization && allowed.includes('org')) return;
  if (!isOrganization && allowed.includes('any')) return;
  if (caller.kind === 'tenant' && allowed.includes('tenant')) return;
  if (caller.kind === 'tenant' && allowed.includes('admin') && caller.scopes.has(TENANT_MARKER)) return;
  throw new ApiError(refusalByPosture(allowed));
}

function refusalByPosture(allowed: readonly string[]): string {
  if (allowed.includes('admin')) return 'admin_required';
  // An organization key reads no run, memory or smith; it needs a project's token for that.
  if (allowed.includes('tenant') || allowed.includes('any')) return 'tenant_token_required';
  return 'organization_required';
}

/**
 * What a token of the project must hold: the operation's scope. What the tenant alone may do and no scope opens takes the
 * whole of `tenant:*`; `admin` says so by its posture.
 */
function scopeOf({ posture, scope }: OperationFacts): string | undefined {
  if (scope !== undefined) return scope;
  return posture.split('|').includes('tenant') ? TENANT_MARKER : undefined;
}

function refusalsOf(operation: OperationFacts): string[] {
  const { posture, path } = operation;
  if (posture === 'public') return [];
  const allowed = posture.split('|');
  return [
    'unauthenticated',
    refusalByPosture(allowed),
    ...(scopeOf(operation) === undefined ? [] : ['insufficient_scope']),
    ...(allowed.includes('any') && path.includes(`{${SMITH_PARAMETER}}`) ? ['smith_mismatch'] : []),
  ];
}

/** What a budget allows and whose it is, is the tenant's business: end users learn that it is spent, and until when. */
function narrowRefusal(refusal: ApiError, caller: Caller | undefined): ApiError {
  if (refusal.code !== 'budget_exceeded' || caller?.kind === 'tenant') return refusal;
  const { period, reason, resets_at } = refusal.detail.details ?? {};
  return new ApiError(refusal.code, { ...refusal.detail, details: { period, reason, resets_at } });
}

function bearerOf(authorization: string | undefined): string {
  if (authorization === undefined) throw new ApiError('unauthenticated');
  const match = /^Bearer +(\S+)$/i.exec(authorization);
  if (!match?.[1]) {
    throw new ApiError('unauthenticated', { message: 'Send the token as `Authorization: Bearer <token>`.' });
  }
  return match[1];
}

export type { Caller };
