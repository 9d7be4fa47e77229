/** What a renewal by auto-renew is: so many years at such a price. */
import { priceCents, tldTerms } from '../prices/price.ts';

export interface RenewalOffer {
  /** The fewest that the TLD renews for. */
  readonly years: number;
  /** EUR retail, for all the years. */
  readonly priceCents: number;
  /** How far ahead of today a name of the TLD can be paid for. */
  readonly maxTermYears: number;
}

/** By the TLD of a name of the portfolio; undefined when it is not offered any more. */
export function renewalOffer(name: string): RenewalOffer | undefined {
  // Names of a portfolio are one label under their public suffix.
  const tld = name.slice(name.indexOf('.') + 1);
  const terms = tldTerms(tld);
  if (terms === undefined) return undefined;
  const { renewalYears, maxTermYears } = terms;
  return { years: renewalYears.min, priceCents: priceCents(tld, 'renewal', renewalYears.min), maxTermYears };
}
