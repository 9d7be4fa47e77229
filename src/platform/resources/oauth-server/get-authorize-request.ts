import type { Database } from '../../../kernel/db/database.ts';
import type { OrganizationCaller, TenantCaller } from '../../access/caller.ts';
import { findRequestOf } from './find-request-of.ts';
import type { AuthorizeRequestOut, AuthorizeRequestPath } from './schema.ts';

interface Request {
  readonly db: Database;
  readonly caller: TenantCaller | OrganizationCaller;
  readonly params: AuthorizeRequestPath;
}

export async function getAuthorizeRequest({ db, caller, params }: Request): Promise<AuthorizeRequestOut> {
  const request = await findRequestOf(db, caller, params.rid);
  return {
    id: request.id,
    kind: request.deployment_id === null ? 'app' : 'connector',
    client_id: request.client_id,
    client_name: request.client_name,
    redirect_uri: request.redirect_uri,
    scopes: [...request.scopes],
    deployment_id: request.deployment_id,
    created_at: request.created_at.toISOString(),
    expires_at: request.expires_at.toISOString(),
  };
}
