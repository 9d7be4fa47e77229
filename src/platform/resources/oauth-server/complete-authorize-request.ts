import type { Transaction } from '../../../kernel/db/database.ts';
import type { OrganizationCaller, TenantCaller } from '../../access/caller.ts';
import { approve, type OAuthDependencies } from '../../authorization-server/index.ts';
import { findRequestOf } from './find-request-of.ts';
import type { AuthorizeRequestCompletion, AuthorizeRequestPath, AuthorizeRequestSettled } from './schema.ts';

interface Request {
  readonly tx: Transaction;
  readonly caller: TenantCaller | OrganizationCaller;
  readonly params: AuthorizeRequestPath;
  readonly body: AuthorizeRequestCompletion;
}

export function completeAuthorizeRequest({ publicUrl }: Pick<OAuthDependencies, 'publicUrl'>) {
  return async ({ tx, caller, params, body }: Request): Promise<AuthorizeRequestSettled> => {
    const request = await findRequestOf(tx, caller, params.rid);
    const consent = {
      caller,
      smithId: body.smith_id ?? undefined,
      projectId: body.project_id ?? undefined,
      user: body.user ?? undefined,
    };
    return { redirect_url: await approve(tx, publicUrl, request, consent) };
  };
}
