import { toEuros } from '../../prices/money.ts';
import { applicationOf } from '../../prices/price.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import type { TldTerms } from '../../prices/tlds.ts';
import type { Availability, FeeCommand } from '../../registry/registry.ts';
import type { PriceQuote } from './schema.ts';

interface PriceParts {
  readonly prices: PriceBook;
  readonly terms: TldTerms;
  readonly now: Date;
}

/** What a name costs, with a price of its own where the registry asks one; null where it is not sold at that. */
export function priceOf({ now, prices, terms }: PriceParts, fees: Availability['fees']): PriceQuote | null {
  const { registrationYears, tld, transferYears } = terms;
  const ordinary = { create: terms.registerCents, renew: terms.renewCents, transfer: terms.transferCents };
  const years = { create: 1, renew: 1, transfer: transferYears };
  let isPremium = false;
  const centsFor = (command: Exclude<FeeCommand, 'restore'>): number | undefined => {
    const fee = fees?.[command];
    if (fee === undefined || !prices.isPremium(tld, { command, years: years[command], fee }, now)) {
      return ordinary[command];
    }
    isPremium = true;
    return prices.premiumCents(tld, { command, fee }, now);
  };
  const [register, renew, transfer] = [centsFor('create'), centsFor('renew'), centsFor('transfer')];
  if (register === undefined || renew === undefined || transfer === undefined) return null;
  const application = applicationOf(terms);
  return {
    currency: 'EUR',
    register: toEuros(register),
    renew: toEuros(renew),
    transfer: toEuros(transfer),
    min_years: registrationYears.min,
    max_years: registrationYears.max,
    ...(isPremium ? { premium: true } : {}),
    ...(application && {
      application: toEuros(application.cents),
      application_refunded_when_lost: application.isRefunded,
    }),
  };
}
