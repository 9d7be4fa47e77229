/** What a spending call costs. Names with a price of their own: quote.ts. */
import { ApiError } from '../../kernel/http/errors.ts';
import type { TldTerms, YearRange } from './tlds.ts';

export type PricedOperation = 'registration' | 'renewal' | 'transfer' | 'trade';

/**
 * The retail price in cents of the whole operation, for all its years: registrations and renewals cost so much a year; a
 * transfer has one price, which buys `transferYears`, and so has a trade, which adds none (its `years` are 0). A name that is applied for
 * costs its application once more.
 * Throws `bad_request` for a number of years that the registry does not sell.
 */
export function priceCents(terms: TldTerms, operation: PricedOperation, years: number): number {
  requireYearsOf(terms, operation, years);
  switch (operation) {
    case 'registration':
      return terms.registerCents * years + (applicationOf(terms)?.cents ?? 0);
    case 'renewal':
      return terms.renewCents * years;
    case 'transfer':
      return terms.transferCents;
    case 'trade':
      return terms.tradeCents;
  }
}

/** What of a registration's price is for the application; undefined: it is none, or costs no more. */
export function applicationOf({ applicationCents: cents = 0, launch }: TldTerms): ApplicationPrice | undefined {
  return launch?.isApplication === true && cents > 0 ? { cents, isRefunded: launch.refundsLost } : undefined;
}

export interface ApplicationPrice {
  readonly cents: number;
  /** It comes back where another has the name. */
  readonly isRefunded: boolean;
}

/** Throws `bad_request` for a number of years that the registry does not sell. */
export function requireYearsOf(terms: TldTerms, operation: PricedOperation, years: number): void {
  const { registrationYears, renewalYears, tld, transferYears } = terms;
  const sold = {
    registration: { range: registrationYears, verb: 'registered' },
    renewal: { range: renewalYears, verb: 'renewed' },
    transfer: { range: { min: transferYears, max: transferYears }, verb: 'transferred' },
    trade: { range: { min: 0, max: 0 }, verb: 'traded' },
  }[operation];
  requireYears(years, sold.range, sold.verb, tld);
}

function requireYears(years: number, { min, max }: YearRange, verb: string, tld: string): void {
  if (Number.isInteger(years) && years >= min && years <= max) return;
  const range = min === max ? `${min} ${min === 1 ? 'year' : 'years'}` : `${min} to ${max} years`;
  const message = `Names under \`.${tld}\` are ${verb} for ${range}. Send such a \`duration\`.`;
  throw new ApiError('bad_request', { message, param: 'duration' });
}
