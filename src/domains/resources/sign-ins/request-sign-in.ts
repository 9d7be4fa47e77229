/**
 * Signing in by mail, for those who have lost their tokens:
 *
 *   requested ──job: is there an account?──▶ sent, with a code that only the mail has ──code──▶ used: a token
 *                      │ no                      │ after a quarter of an hour
 *                      └────────▶ (nothing) ◀────┘
 *
 * A request does the same for every address, and leaves it to the job to find out whether it is anybody's: neither the answer nor the time
 * that it takes tells who has an account.
 */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Transaction } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { RequestContext } from '../../../kernel/http/operation.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { systemDb } from '../../workspace-scope.ts';
import { normalizeEmail } from '../accounts/index.ts';
import type { SignInRequest, SignInRequested } from './schema.ts';
import { LIFETIME_MS, SEND_LINK } from './send-link.ts';

export interface SignInDependencies {
  readonly clock: Clock;
  readonly jobs: Jobs;
}

const HOUR_MS = 3_600_000;
/** Of one address, whether anybody has it or not. */
const MOST_AN_HOUR = 5;

type Request = RequestContext<undefined> & { readonly body: SignInRequest; readonly tx: Transaction };

/** Throws `rate_limit_exceeded`. */
export function requestSignIn({ clock, jobs }: SignInDependencies) {
  return async ({ body, tx }: Request): Promise<SignInRequested> => {
    const { key } = normalizeEmail(body.email);
    const now = clock.now();
    const lately = await systemDb(tx)
      .selectFrom('sign_ins')
      .select('id')
      .where('email_key', '=', key)
      .where('requested_at', '>', new Date(now.getTime() - HOUR_MS))
      .execute();
    if (lately.length >= MOST_AN_HOUR) {
      throw new ApiError('rate_limit_exceeded', {
        message: 'Too many links were asked for with this address. Use the last one, or ask again in an hour.',
        retryAfterSeconds: HOUR_MS / 1_000,
      });
    }
    const id = mintId('sgn');
    await systemDb(tx)
      .insertInto('sign_ins')
      .values({ id, email_key: key, requested_at: now, code_hash: null, expires_at: null, used_at: null })
      .execute();
    await jobs.enqueue(tx, SEND_LINK, { id });
    return { status: 'Requested', expires_in_minutes: LIFETIME_MS / 60_000 };
  };
}
