import type { Clock } from '../../../kernel/clock/clock.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { toEuros } from '../../prices/money.ts';
import { applicationOf } from '../../prices/price.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import type { TldTerms } from '../../prices/tlds.ts';
import type { TldPrice, TldPriceList } from './schema.ts';

export interface TldDependencies {
  readonly prices: Pick<PriceBook, 'list'>;
  readonly clock: Clock;
}

export function listTlds({ clock, prices }: TldDependencies) {
  return async (): Promise<HttpReply<TldPriceList>> =>
    new HttpReply<TldPriceList>(
      200,
      { currency: 'EUR', tlds: prices.list(clock.now()).map(renderTld) },
      { 'cache-control': 'private, no-store' },
    );
}

/** Nothing where the TLD is not being launched. */
function launchOf(terms: TldTerms): Pick<TldPrice, 'application' | 'launch'> {
  const { launch } = terms;
  if (launch === undefined) return {};
  const application = applicationOf(terms);
  return {
    launch: { ...launch.phase, applications: launch.isApplication },
    ...(application && { application: toEuros(application.cents) }),
  };
}

function renderTld(terms: TldTerms): TldPrice {
  return {
    tld: terms.tld,
    register: toEuros(terms.registerCents),
    renew: toEuros(terms.renewCents),
    transfer: toEuros(terms.transferCents),
    trade: toEuros(terms.tradeCents),
    min_years: terms.registrationYears.min,
    max_years: terms.registrationYears.max,
    renew_min_years: terms.renewalYears.min,
    renew_max_years: terms.renewalYears.max,
    transfer_years: terms.transferYears,
    max_term_years: terms.maxTermYears,
    deletes: terms.deletes,
    grace_days: terms.graceDays,
    redemption_days: terms.redemptionDays,
    ...launchOf(terms),
  };
}
