/** What a spending call costs. Every name of a TLD costs the same: names that registries sell at a premium are not offered. */
import { ApiError } from '../../kernel/http/errors.ts';
import { offeredTlds, type TldTerms, type YearRange } from './tlds.ts';

export type PricedOperation = 'registration' | 'renewal' | 'transfer' | 'trade';

const termsByTld: ReadonlyMap<string, TldTerms> = new Map(offeredTlds.map((terms) => [terms.tld, terms]));

/** The terms of a TLD, named by its public suffix in ASCII (`co.uk`); undefined when it is not offered. */
export function tldTerms(tld: string): TldTerms | undefined {
  return termsByTld.get(tld);
}

/** As `tldTerms`; throws `bad_request` for a TLD that is not offered. */
export function getTldTerms(tld: string): TldTerms {
  const terms = termsByTld.get(tld);
  if (terms !== undefined) return terms;
  const message = `Names under \`.${tld}\` are not offered. GET /tlds lists the ones that are.`;
  throw new ApiError('bad_request', { message, param: 'domain' });
}

/**
 * The retail price in cents of the whole operation, for all its years: registrations and renewals cost so much a year; a
 * transfer has one price, which buys `transferYears`, and so has a trade, which adds none (its `years` are 0).
 * Throws `bad_request` for a TLD that is not offered, and for a number of years that its registry does not sell.
 */
export function priceCents(tld: string, operation: PricedOperation, years: number): number {
  const terms = getTldTerms(tld);
  switch (operation) {
    case 'registration':
      requireYears(years, terms.registrationYears, 'registered', tld);
      return terms.registerCents * years;
    case 'renewal':
      requireYears(years, terms.renewalYears, 'renewed', tld);
      return terms.renewCents * years;
    case 'transfer':
      requireYears(years, { min: terms.transferYears, max: terms.transferYears }, 'transferred', tld);
      return terms.transferCents;
    case 'trade':
      requireYears(years, { min: 0, max: 0 }, 'traded', tld);
      return terms.tradeCents;
  }
}

function requireYears(years: number, { min, max }: YearRange, verb: string, tld: string): void {
  if (Number.isInteger(years) && years >= min && years <= max) return;
  const range = min === max ? `${min} ${min === 1 ? 'year' : 'years'}` : `${min} to ${max} years`;
  const message = `Names under \`.${tld}\` are ${verb} for ${range}. Send such a \`duration\`.`;
  throw new ApiError('bad_request', { message, param: 'duration' });
}
