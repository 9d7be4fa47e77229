/** The program's own prices, for tests that say what something costs. */
import assert from 'node:assert/strict';
import { type PriceBook, standardPriceBook } from '../../src/domains/prices/price-book.ts';
import { offeredTlds, type TldTerms } from '../../src/domains/prices/tlds.ts';

export const standardPrices = standardPriceBook();
export const soldTlds = offeredTlds.map(({ tld }) => tld);

export function termsOf(tld: string): TldTerms {
  return offeredTlds.find((terms) => terms.tld === tld) ?? assert.fail(`${tld} is not sold`);
}

/** The program's own prices; registrants of names of these TLDs that come from then on confirm their addresses. */
export function pricesThatAsk(tlds: readonly string[], since = new Date('2020-01-01')): PriceBook {
  return {
    ...standardPrices,
    list: (at) =>
      standardPrices
        .list(at)
        .map((terms) => (tlds.includes(terms.tld) ? { ...terms, verifyRegistrantsFrom: since } : terms)),
  };
}

/**
 * The program's own prices; changes of registrants take consents where there are names of these TLDs, and lock transfers for so many days. The registrar
 * consents for who has authorized it where there are none but those of `agentTlds`.
 */
export function pricesWithConsent(
  lockDaysByTld: Readonly<Record<string, number>>,
  agentTlds: readonly string[] = [],
): PriceBook {
  return {
    ...standardPrices,
    list: (at) =>
      standardPrices.list(at).map((terms) => ({
        ...terms,
        changeLockDays: lockDaysByTld[terms.tld],
        changeAgent: agentTlds.includes(terms.tld),
      })),
  };
}

/** The program's own prices; another holder costs so much, and locks transfers for so many days. */
export function pricesWithTrades(tradeCents: number, changeLockDays?: number): PriceBook {
  const traded = (terms: TldTerms): TldTerms => ({ ...terms, tradeCents, changeLockDays });
  return {
    ...standardPrices,
    list: (at) => standardPrices.list(at).map(traded),
    get: (tld, at) => traded(standardPrices.get(tld, at)),
  };
}
