import { ApiError } from '../../../kernel/http/errors.ts';
import { createMeter, type Meter } from '../../../kernel/http/rate-limit.ts';
import type { OrganizationChange } from '../../access/operation.ts';
import { type Billing, redeemCode } from '../../billing/index.ts';
import type { RedeemIn, RedeemOut } from './schema.ts';

/** Codes an organization may try that are none, a minute and replica. */
const GUESSES_A_MINUTE = 10;

export interface Redeeming {
  /** Throws `rate_limit_exceeded` for an organization that has guessed too often. */
  precheck(request: { readonly caller: { readonly organizationId: string } }): Promise<void>;
  handler(request: OrganizationChange<{ body: RedeemIn }>): Promise<RedeemOut>;
}

export function createRedeeming({ currency }: Pick<Billing, 'currency'>): Redeeming {
  const guesses = createMeter('redeem', GUESSES_A_MINUTE);
  return {
    precheck: ({ caller }) => checkGuesses(guesses, caller.organizationId),
    async handler({ tx, caller: { organizationId }, body }) {
      try {
        return { amount_cents: await redeemCode(tx, { organizationId, code: body.code, currency }), currency };
      } catch (error) {
        if (error instanceof ApiError && error.code === 'invalid_code') await guesses.count(organizationId);
        throw error;
      }
    },
  };
}

async function checkGuesses(guesses: Meter, organizationId: string): Promise<void> {
  const { remaining, resetSeconds } = await guesses.look(organizationId);
  if (remaining > 0) return;
  throw new ApiError('rate_limit_exceeded', {
    retryAfterSeconds: resetSeconds,
    message: `More than ${GUESSES_A_MINUTE} codes in a minute were none. Retry after ${resetSeconds} s.`,
  });
}
