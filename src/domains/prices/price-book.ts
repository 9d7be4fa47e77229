/**
 * What is sold, at which prices, from when on. Cost is what registries ask of us; retail is what customers pay, in EUR. A price that
 * begins later takes effect by itself; an order keeps the price that it was made at.
 */
import { ApiError } from '../../kernel/http/errors.ts';
import type { FeeCommand, RegistryFee } from '../registry/registry.ts';
import { MAX_CENTS } from './money.ts';
import { type LaunchTerms, offeredTlds, type TldTerms } from './tlds.ts';

export type RetailPrices = Pick<
  TldTerms,
  'registerCents' | 'renewCents' | 'transferCents' | 'tradeCents' | 'restoreCents' | 'applicationCents'
>;

/** On top of what a registry asks. */
export interface Margin {
  readonly percent: number;
  readonly cents: number;
}

/** What the registry asks for a year, for a transfer, and for another holder. */
export interface Costs extends Readonly<Partial<Record<FeeCommand | 'trade', number>>> {
  readonly currency: string;
  /** An application, beside the registration. */
  readonly application?: number;
}

/** Prices from a moment on, until the next begin. */
export interface PricePeriod {
  /** Undefined: always. */
  readonly from: Date | undefined;
  readonly retail: RetailPrices;
  readonly margin: Margin;
  readonly costs?: Costs | undefined;
}

/** Other prices for a while. */
export interface Promotion {
  readonly from: Date;
  readonly until: Date;
  readonly retail: Partial<RetailPrices>;
}

export interface SoldTld {
  readonly terms: Omit<TldTerms, keyof RetailPrices | 'launch'>;
  /** Undefined: it is not being launched. `until` is a moment; undefined: for ever. */
  readonly launch?: (LaunchTerms & { readonly until?: Date | undefined }) | undefined;
  /** In the order of time. */
  readonly periods: readonly [PricePeriod, ...PricePeriod[]];
  readonly promotions: readonly Promotion[];
}

export interface PriceBookOptions {
  /** In the order in which they are listed and suggested. */
  readonly tlds: readonly SoldTld[];
  /** EUR for one of a currency. */
  readonly rates: ReadonlyMap<string, number>;
  /** Names, or labels under any TLD, that are not sold. */
  readonly reserved: ReadonlySet<string>;
}

export interface PriceBook {
  /** What is sold at that time. */
  list(at: Date): readonly TldTerms[];
  /** By the public suffix of a name, in ASCII; undefined when it is not sold. */
  find(tld: string, at: Date): TldTerms | undefined;
  /** As `find`; throws `bad_request`. */
  get(tld: string, at: Date): TldTerms;
  isReserved(name: string): boolean;
  /** Whether this is more than ordinary names of the TLD cost, as far as we know: then it decides the price. */
  isPremium(tld: string, question: PricedFee, at: Date): boolean;
  /**
   * What a customer pays for a name with a price of its own, without its application; undefined: it is not sold, as its currency has no
   * rate, or for its height.
   */
  premiumCents(tld: string, question: Omit<PricedFee, 'years'>, at: Date): number | undefined;
}

export interface PricedFee {
  readonly command: FeeCommand;
  readonly years: number;
  readonly fee: RegistryFee;
}

/** What is put on premium names where nothing else is said. */
const STANDARD_MARGIN: Margin = { percent: 20, cents: 0 };

export function createPriceBook({ rates, reserved, tlds }: PriceBookOptions): PriceBook {
  const byTld = new Map(tlds.map((sold) => [sold.terms.tld, sold]));
  const premiumCents: PriceBook['premiumCents'] = (tld, question, at) => {
    const sold = byTld.get(tld);
    const rate = rateOf(rates, question.fee.currency);
    if (sold === undefined || rate === undefined) return undefined;
    const cents = withMargin(withoutApplication(sold, question, at) * rate, periodAt(sold, at).margin);
    return cents > MAX_CENTS ? undefined : cents;
  };
  const find = (tld: string, at: Date) => {
    const sold = byTld.get(tld);
    return sold === undefined ? undefined : termsAt(sold, at);
  };
  return {
    list: (at) => tlds.map((sold) => termsAt(sold, at)),
    find,
    get(tld, at) {
      const terms = find(tld, at);
      if (terms !== undefined) return terms;
      const message = `Names under \`.${tld}\` are not offered. GET /tlds lists the ones that are.`;
      throw new ApiError('bad_request', { message, param: 'domain' });
    },
    isReserved: (name) => reserved.has(name) || reserved.has(name.slice(0, name.indexOf('.'))),
    isPremium(tld, { command, fee, years }, at) {
      const sold = byTld.get(tld);
      if (fee.isPremium === true || sold === undefined) return fee.isPremium === true;
      const feeCents = withoutApplication(sold, { command, fee }, at);
      const cost = costOf(periodAt(sold, at), { command, years, currency: fee.currency });
      const isDearer = cost !== undefined && feeCents > cost;
      // The price of ordinary names has risen since the file was written.
      if (fee.isPremium === false)
        return (
          isDearer && (premiumCents(tld, { command, fee }, at) ?? 0) > retailFor(termsAt(sold, at), command, years)
        );
      if (cost !== undefined) return isDearer;
      // Nobody sells ordinary names below their cost.
      const rate = rateOf(rates, fee.currency);
      return rate !== undefined && feeCents * rate > retailFor(termsAt(sold, at), command, years);
    },
    premiumCents,
  };
}

/** In whole cents, in our favour. */
export function withMargin(costCents: number, { cents, percent }: Margin): number {
  // To a thousandth of a cent first: 10 * 1.1 is a little more than 11.
  return Math.ceil(Math.round(((costCents * (100 + percent)) / 100) * 1_000) / 1_000) + cents;
}

function retailFor(terms: RetailPrices, command: FeeCommand, years: number): number {
  if (command === 'restore') return terms.restoreCents ?? Number.POSITIVE_INFINITY;
  if (command === 'transfer') return terms.transferCents;
  return (command === 'create' ? terms.registerCents : terms.renewCents) * years;
}

/** Registries tell what an application costs together with its registration. */
function withoutApplication(sold: SoldTld, { command, fee }: Omit<PricedFee, 'years'>, at: Date): number {
  const { costs } = periodAt(sold, at);
  const isApplication = command === 'create' && termsAt(sold, at).launch?.isApplication === true;
  if (!isApplication || costs?.application === undefined || costs.currency !== fee.currency) return fee.cents;
  return Math.max(0, fee.cents - costs.application);
}

function rateOf(rates: ReadonlyMap<string, number>, currency: string): number | undefined {
  return currency === 'EUR' ? 1 : rates.get(currency);
}

function periodAt({ periods }: SoldTld, at: Date): PricePeriod {
  return periods.findLast(({ from }) => from === undefined || from <= at) ?? periods[0];
}

function termsAt(sold: SoldTld, at: Date): TldTerms {
  const promoted = sold.promotions.filter(({ from, until }) => from <= at && at < until);
  const { launch } = sold;
  const isLaunching = launch !== undefined && (launch.until === undefined || at < launch.until);
  return Object.assign(
    {},
    sold.terms,
    periodAt(sold, at).retail,
    ...promoted.map(({ retail }) => retail),
    isLaunching ? { launch } : {},
  );
}

function costOf(
  { costs }: PricePeriod,
  { command, currency, years }: { readonly command: FeeCommand; readonly years: number; readonly currency: string },
): number | undefined {
  const cost = costs?.currency === currency ? costs[command] : undefined;
  if (cost === undefined) return undefined;
  return command === 'transfer' || command === 'restore' ? cost : cost * years;
}

/** The price table of the program (tlds.ts), of all its TLDs or of these. */
export function standardPriceBook(tlds?: readonly string[]): PriceBook {
  const sold = offeredTlds
    .filter(({ tld }) => tlds === undefined || tlds.includes(tld))
    .map((terms): SoldTld => {
      const period = { from: undefined, retail: retailOf(terms), margin: STANDARD_MARGIN };
      return { terms, periods: [period], promotions: [] };
    });
  return createPriceBook({ tlds: sold, rates: new Map(), reserved: new Set() });
}

export function retailOf(prices: RetailPrices): RetailPrices {
  const { registerCents, renewCents, restoreCents, tradeCents, transferCents } = prices;
  return { registerCents, renewCents, transferCents, tradeCents, restoreCents };
}
