/** The TLDs of the file, with their terms and prices. What it leaves out is the program's own table (prices/tlds.ts), where that has it. */
import type {
  Costs,
  PriceBookOptions,
  PricePeriod,
  Promotion,
  RetailPrices,
  SoldTld,
} from '../../prices/price-book.ts';
import { retailOf, withMargin } from '../../prices/price-book.ts';
import { GENERIC_TERMS, offeredTlds, type TldTerms } from '../../prices/tlds.ts';
import type { NoteProblem } from './note-problem.ts';
import type { PricesSetup, RegistrySetup, Setup, TldSetup } from './setup-schema.ts';

/** ICANN's transfer policy, II.C.2. */
const TRANSFER_POLICY_LOCK_DAYS = 60;

type Rates = ReadonlyMap<string, number>;

const known: ReadonlyMap<string, TldTerms> = new Map(offeredTlds.map((terms) => [terms.tld, terms]));

export function priceOptionsOf(setup: Setup, rates: Rates, note: NoteProblem): PriceBookOptions {
  const tlds = setup.tlds.map((tld, index): SoldTld => {
    const place = `tlds[${index}]`;
    if (setup.tlds.findIndex((other) => other.tld === tld.tld) !== index)
      note(`${place}.tld`, `${tld.tld} is there twice`);
    return {
      terms: termsOf(tld, place, note),
      launch: launchOf(tld, place, note),
      periods: periodsOf(tld, { place, rates, note, registries: setup.registries ?? [] }),
      promotions: promotionsOf(tld, place, note),
    };
  });
  return { tlds, rates, reserved: new Set((setup.reserved ?? []).map((name) => name.toLowerCase())) };
}

function termsOf(setup: TldSetup, place: string, note: NoteProblem): SoldTld['terms'] {
  const base = known.get(setup.tld) ?? GENERIC_TERMS;
  const terms = {
    tld: setup.tld,
    registrationYears: setup.register_years ?? base.registrationYears,
    renewalYears: setup.renew_years ?? base.renewalYears,
    transferYears: setup.transfer_years ?? base.transferYears,
    maxTermYears: setup.max_term_years ?? base.maxTermYears,
    deletes: setup.deletes ?? base.deletes,
    graceDays: setup.grace_days ?? base.graceDays,
    redemptionDays: setup.redemption_days ?? base.redemptionDays,
    ...(setup.registrant_changes === undefined
      ? {}
      : {
          changeLockDays: setup.registrant_changes.lock_days ?? TRANSFER_POLICY_LOCK_DAYS,
          changeAgent: setup.registrant_changes.designated_agent ?? false,
        }),
    ...(setup.verify_registrants_from === undefined
      ? {}
      : { verifyRegistrantsFrom: new Date(setup.verify_registrants_from) }),
  };
  for (const [member, range] of [
    ['register_years', terms.registrationYears],
    ['renew_years', terms.renewalYears],
  ] as const) {
    if (range.min > range.max) note(`${place}.${member}`, 'min is more than max');
  }
  return terms;
}

function launchOf(
  { launch, prices = [], registry, tld }: TldSetup,
  place: string,
  note: NoteProblem,
): SoldTld['launch'] {
  const isPriced = prices.some(({ cost, retail }) => (cost?.application ?? retail?.application) !== undefined);
  if (launch?.applications !== true && isPriced) {
    note(
      `${place}.launch`,
      `applications have a price, so say \`applications: true\`, and the phase that ${tld} is in`,
    );
  }
  if (launch === undefined) return undefined;
  const { applications = false, name, phase, refunds_lost: refundsLost, until } = launch;
  // Only a registry that is told of it is asked what it demands.
  if (registry === undefined) note(`${place}.launch`, `say which of the registries launches ${tld}`);
  if (phase === 'custom' && name === undefined) note(`${place}.launch.name`, 'a custom phase is known by its name');
  if (phase === 'sunrise' && (launch.requires === 'nothing' || launch.requires === 'claims_notice')) {
    note(`${place}.launch.requires`, 'a sunrise is for holders of trademarks');
  }
  if (!applications && refundsLost !== undefined) {
    note(
      `${place}.launch.refunds_lost`,
      'nothing is lost where names are not applied for: say `applications: true` too',
    );
  }
  return {
    phase: name === undefined ? { phase } : { phase, name },
    isApplication: applications,
    refundsLost: refundsLost === true,
    ...(until === undefined ? {} : { until: new Date(until) }),
  };
}

interface PeriodParts {
  readonly place: string;
  readonly rates: Rates;
  readonly note: NoteProblem;
  readonly registries: readonly RegistrySetup[];
}

function periodsOf(tld: TldSetup, { note, place, rates, registries }: PeriodParts): [PricePeriod, ...PricePeriod[]] {
  const base = known.get(tld.tld);
  const setups: readonly PricesSetup[] = tld.prices ?? [{}];
  if (tld.prices === undefined && base === undefined) {
    note(`${place}.prices`, `give prices: the program has none of its own for ${tld.tld}`);
  }
  const isTraded = registries.some(({ id, trade }) => id === tld.registry && trade !== undefined);
  const periods = setups.map((setup, index): PricePeriod => {
    const at = `${place}.prices[${index}]`;
    const margin = { percent: setup.margin?.percent ?? 20, cents: centsOf(setup.margin?.add ?? 0) };
    const costs = costsOf(setup);
    const rate = costs === undefined ? undefined : costs.currency === 'EUR' ? 1 : rates.get(costs.currency);
    if (costs !== undefined && rate === undefined) {
      note(`${at}.cost.currency`, `currencies has no rate for ${costs.currency}: EUR for one`);
    }
    const marked = (cents: number | undefined) =>
      cents === undefined || rate === undefined ? undefined : withMargin(cents * rate, margin);
    const priced = (
      member: 'register' | 'renew' | 'transfer',
      cost: number | undefined,
      standard: number | undefined,
    ) => {
      const given = setup.retail?.[member];
      const cents = given === undefined ? (marked(cost) ?? standard) : centsOf(given);
      if (cents === undefined && tld.prices !== undefined) note(`${at}.${member}`, 'give it in retail, or in cost');
      return cents ?? 0;
    };
    const retail: RetailPrices = {
      registerCents: priced('register', costs?.create, base?.registerCents),
      renewCents: priced('renew', costs?.renew, base?.renewCents),
      transferCents: priced('transfer', costs?.transfer, base?.transferCents),
      tradeCents: centsOrNothing(setup.retail?.trade) ?? marked(costs?.trade) ?? base?.tradeCents ?? 0,
      // Where nobody says what it costs, nothing is restored.
      restoreCents: centsOrNothing(setup.retail?.restore) ?? marked(costs?.restore) ?? base?.restoreCents,
      applicationCents: centsOrNothing(setup.retail?.application) ?? marked(costs?.application),
    };
    const isTradePriced =
      setup.retail?.trade !== undefined || costs?.trade !== undefined || (base?.tradeCents ?? 0) > 0;
    if (isTraded && !isTradePriced) note(`${at}.trade`, 'give it in retail, or in cost: its registry trades holders');
    return { from: setup.from === undefined ? undefined : new Date(setup.from), retail, margin, costs };
  });
  periods.forEach(({ from }, index) => {
    const before = periods[index - 1];
    const isLater = before === undefined || (from !== undefined && from > (before.from ?? new Date(0)));
    if (!isLater) note(`${place}.prices[${index}].from`, 'each begins later than the one before it');
  });
  const [first = { from: undefined, retail: retailOf(NOTHING), margin: { percent: 0, cents: 0 } }, ...others] = periods;
  return [first, ...others];
}

const NOTHING: RetailPrices = {
  registerCents: 0,
  renewCents: 0,
  transferCents: 0,
  tradeCents: 0,
  restoreCents: undefined,
};

function centsOrNothing(amount: number | undefined): number | undefined {
  return amount === undefined ? undefined : centsOf(amount);
}

function costsOf({ cost }: PricesSetup): Costs | undefined {
  if (cost === undefined) return undefined;
  return {
    currency: cost.currency,
    ...(cost.register === undefined ? {} : { create: centsOf(cost.register) }),
    ...(cost.renew === undefined ? {} : { renew: centsOf(cost.renew) }),
    ...(cost.transfer === undefined ? {} : { transfer: centsOf(cost.transfer) }),
    ...(cost.trade === undefined ? {} : { trade: centsOf(cost.trade) }),
    ...(cost.restore === undefined ? {} : { restore: centsOf(cost.restore) }),
    ...(cost.application === undefined ? {} : { application: centsOf(cost.application) }),
  };
}

function promotionsOf(tld: TldSetup, place: string, note: NoteProblem): Promotion[] {
  return (tld.promotions ?? []).map(
    ({ application, from, register, renew, restore, trade, transfer, until }, index) => {
      if (new Date(from) >= new Date(until)) note(`${place}.promotions[${index}].until`, 'it ends before it begins');
      return {
        from: new Date(from),
        until: new Date(until),
        retail: {
          ...(register === undefined ? {} : { registerCents: centsOf(register) }),
          ...(renew === undefined ? {} : { renewCents: centsOf(renew) }),
          ...(transfer === undefined ? {} : { transferCents: centsOf(transfer) }),
          ...(trade === undefined ? {} : { tradeCents: centsOf(trade) }),
          ...(restore === undefined ? {} : { restoreCents: centsOf(restore) }),
          ...(application === undefined ? {} : { applicationCents: centsOf(application) }),
        },
      };
    },
  );
}

function centsOf(amount: number): number {
  return Math.round(amount * 100);
}
