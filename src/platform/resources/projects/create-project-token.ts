import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { TokenIssuer } from '../../access/issue-token.ts';
import type { OrganizationChange } from '../../access/operation.ts';
import { systemDb, TenantTransaction } from '../../store/tenant-db.ts';
import type { ProjectPath, ProjectTokenIn, ProjectTokenOut } from './schema.ts';
import { findProject } from './store.ts';

export function createProjectToken({ issuer }: { issuer: Pick<TokenIssuer, 'issueProjectToken'> }) {
  return async ({
    tx,
    caller,
    params,
    body,
  }: OrganizationChange<{ params: ProjectPath; body: ProjectTokenIn }>): Promise<ProjectTokenOut> => {
    const project = await findProject(systemDb(tx), caller.organizationId, params.pid);
    if (project === undefined) throw new ApiError('not_found');
    const issued = await issuer.issueProjectToken(new TenantTransaction(tx, project.id), {
      name: body.name,
      ttlSeconds: body.ttl_seconds,
      actor: actorOf(caller),
    });
    return {
      id: issued.id,
      token: issued.token,
      scope: 'admin',
      sub: issued.sub,
      scopes: [...issued.scopes],
      expires_at: issued.expiresAt?.toISOString() ?? null,
    };
  };
}
