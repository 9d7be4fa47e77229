import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Transaction } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { RequestContext } from '../../../kernel/http/operation.ts';
import { verifyByLink } from '../../verifications/index.ts';
import type { VerificationCode, VerificationDone } from './schema.ts';

type Request = RequestContext<undefined> & { readonly body: VerificationCode; readonly tx: Transaction };

/** Throws `invalid_token`. */
export function completeVerification({ clock }: { readonly clock: Clock }) {
  return async ({ body, tx }: Request): Promise<VerificationDone> => {
    if (await verifyByLink({ clock }, tx, body.code)) return { status: 'Verified' };
    throw new ApiError('invalid_token', {
      message:
        'This link is not known, was used, or has ended. GET /registrant says whether the address is confirmed, and POST /registrant/verification has another one sent.',
    });
  };
}
