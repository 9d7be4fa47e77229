import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { IssuedToken, TokenIssuer } from '../../access/issue-token.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { isScope, SCOPES } from '../../access/scopes.ts';
import type { TokenCreated, TokenIn } from './schema.ts';
import { hasLiveSmith } from './store.ts';

type Issuer = Pick<TokenIssuer, 'issueProjectToken' | 'issueSmithToken'>;
type Request = ProjectChange<{ body: TokenIn }>;

export function createToken({ issuer }: { issuer: Issuer }) {
  return async (request: Request): Promise<TokenCreated> => {
    const { scope } = request.body;
    const issued = await (scope === 'smith' ? mintSmithToken(issuer, request) : mintAdminToken(issuer, request));
    return {
      id: issued.id,
      token: issued.token,
      scope,
      sub: issued.sub,
      scopes: [...issued.scopes],
      name: issued.name,
      expires_at: issued.expiresAt?.toISOString() ?? null,
    };
  };
}

async function mintSmithToken(issuer: Issuer, { tx, caller, body }: Request): Promise<IssuedToken> {
  const permissions = checkPermissions(body.permissions ?? []);
  if (!body.smith_id) {
    throw new ApiError('smith_required', {
      param: 'smith_id',
      message: 'A smith token is bound to one smith. Send its id in `smith_id`.',
    });
  }
  if (!(await hasLiveSmith(tx, body.smith_id))) {
    throw new ApiError('not_found', { param: 'smith_id' });
  }
  return issuer.issueSmithToken(tx, {
    smithId: body.smith_id,
    permissions,
    ttlSeconds: body.ttl_seconds,
    name: body.name,
    actor: actorOf(caller),
  });
}

async function mintAdminToken(issuer: Issuer, { tx, caller, body }: Request): Promise<IssuedToken> {
  // Ignoring either would hand out more than was asked for.
  if (body.permissions?.length) {
    throw new ApiError('invalid_request', {
      param: 'permissions',
      message:
        'An admin token carries `tenant:*` and cannot be narrowed. Leave `permissions` out, or mint a smith token.',
    });
  }
  if (body.smith_id) {
    throw new ApiError('invalid_request', {
      param: 'smith_id',
      message: 'An admin token is not bound to a smith. Leave `smith_id` out, or send `scope: "smith"`.',
    });
  }
  return issuer.issueProjectToken(tx, {
    ttlSeconds: body.ttl_seconds,
    name: body.name,
    actor: actorOf(caller),
  });
}

function checkPermissions(permissions: readonly string[]): readonly string[] {
  if (permissions.length === 0) throw new ApiError('permissions_required', { param: 'permissions' });
  const unknown = permissions.findIndex((permission) => !isScope(permission));
  if (unknown === -1) return permissions;
  throw new ApiError('invalid_scope', {
    param: `permissions.${unknown}`,
    message: `${JSON.stringify(permissions[unknown])} is not a scope. The scopes are: ${SCOPES.join(', ')}.`,
  });
}
