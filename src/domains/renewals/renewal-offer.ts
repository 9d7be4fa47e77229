/** What a renewal by auto-renew is: so many years at such a price. */
import type { Selectable } from 'kysely';
import { priceCents } from '../prices/price.ts';
import type { PriceBook } from '../prices/price-book.ts';
import type { WorkspaceTables } from '../tables.ts';

export interface RenewalOffer {
  /** The fewest that the TLD renews for. */
  readonly years: number;
  /** EUR retail, for all the years. */
  readonly priceCents: number;
  /** How far ahead of today a name of the TLD can be paid for. */
  readonly maxTermYears: number;
}

type Offered = Pick<Selectable<WorkspaceTables['domains']>, 'name' | 'renewal_fee'>;

/** By the TLD of a name of the portfolio, or by its own price; undefined when it is not offered any more. */
export function renewalOffer(
  prices: PriceBook,
  { name, renewal_fee: fee }: Offered,
  at: Date,
): RenewalOffer | undefined {
  // Names of a portfolio are one label under their public suffix.
  const tld = name.slice(name.indexOf('.') + 1);
  const terms = prices.find(tld, at);
  if (terms === undefined) return undefined;
  const { renewalYears, maxTermYears } = terms;
  const years = fee?.years ?? renewalYears.min;
  const cents =
    fee === null ? priceCents(terms, 'renewal', years) : prices.premiumCents(tld, { command: 'renew', fee }, at);
  return cents === undefined ? undefined : { years, priceCents: cents, maxTermYears };
}
