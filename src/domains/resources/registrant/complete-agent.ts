import type { Transaction } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { RequestContext } from '../../../kernel/http/operation.ts';
import { giveAuthorization } from '../../registrant-changes/index.ts';
import type { RegistrantDependencies } from './get-registrant.ts';
import type { AgentAuthorized, VerificationCode } from './schema.ts';

type Request = RequestContext<undefined> & { readonly body: VerificationCode; readonly tx: Transaction };

/** Throws `invalid_token`. */
export function completeAgent(deps: RegistrantDependencies) {
  return async ({ body, tx }: Request): Promise<AgentAuthorized> => {
    if (await giveAuthorization(deps, tx, body.code)) return { status: 'Given' };
    throw new ApiError('invalid_token', {
      message:
        'This link is not known, was used, or has ended. Ask for another one with POST /registrant/designated-agent.',
    });
  };
}
