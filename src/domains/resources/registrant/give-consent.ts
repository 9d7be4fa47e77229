import type { Transaction } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { RequestContext } from '../../../kernel/http/operation.ts';
import { consent } from '../../registrant-changes/index.ts';
import type { RegistrantDependencies } from './get-registrant.ts';
import type { ConsentGiven, VerificationCode } from './schema.ts';

type Request = RequestContext<undefined> & { readonly body: VerificationCode; readonly tx: Transaction };

/** Throws `invalid_token` and `email_taken`. */
export function giveConsent(deps: RegistrantDependencies) {
  return async ({ body, tx }: Request): Promise<ConsentGiven> => {
    const outcome = await consent(deps, tx, body.code);
    if (outcome !== 'unknown') return { status: outcome === 'changed' ? 'Changed' : 'Consented' };
    throw new ApiError('invalid_token', {
      message:
        'This link is not known, was used, or is of a change that has ended. GET /registrant shows the change that waits.',
    });
  };
}
