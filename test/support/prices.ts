/** The program's own prices, for tests that say what something costs. */
import assert from 'node:assert/strict';
import { standardPriceBook } from '../../src/domains/prices/price-book.ts';
import { offeredTlds, type TldTerms } from '../../src/domains/prices/tlds.ts';

export const standardPrices = standardPriceBook();
export const soldTlds = offeredTlds.map(({ tld }) => tld);

export function termsOf(tld: string): TldTerms {
  return offeredTlds.find((terms) => terms.tld === tld) ?? assert.fail(`${tld} is not sold`);
}
