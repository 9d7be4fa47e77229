import type { Transaction } from '../../../kernel/db/database.ts';
import type { OrganizationCaller, TenantCaller } from '../../access/caller.ts';
import { deny, type OAuthDependencies } from '../../authorization-server/index.ts';
import { findRequestOf } from './find-request-of.ts';
import type { AuthorizeRequestPath, AuthorizeRequestSettled } from './schema.ts';

interface Request {
  readonly tx: Transaction;
  readonly caller: TenantCaller | OrganizationCaller;
  readonly params: AuthorizeRequestPath;
}

export function declineAuthorizeRequest({ publicUrl }: Pick<OAuthDependencies, 'publicUrl'>) {
  return async ({ tx, caller, params }: Request): Promise<AuthorizeRequestSettled> => {
    const request = await findRequestOf(tx, caller, params.rid);
    return { redirect_url: await deny(tx, publicUrl, request) };
  };
}
