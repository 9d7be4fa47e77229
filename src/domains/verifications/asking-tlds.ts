/** Which TLDs want their registrants' addresses verified, as the file of registries says. */
import type { PriceBook } from '../prices/price-book.ts';

export interface AskingTld {
  readonly tld: string;
  /** Names that came before, and have the same registrant since, are not asked about. */
  readonly since: Date;
}

export function askingTldsOf(prices: Pick<PriceBook, 'list'>, now: Date): AskingTld[] {
  return prices
    .list(now)
    .flatMap(({ tld, verifyRegistrantsFrom: since }) => (since === undefined ? [] : [{ tld, since }]));
}

/** As two parameters of SQL, for `unnest`. */
export function asColumns(asking: readonly AskingTld[]): [tlds: string[], since: Date[]] {
  return [asking.map(({ tld }) => tld), asking.map(({ since }) => since)];
}
