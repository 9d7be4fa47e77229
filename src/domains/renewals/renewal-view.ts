/** A domain's `renewal` object, for GET /domains/{name} and PATCH /domains/{name}/settings. */
import { toEuros } from '../prices/money.ts';
import type { PriceBook } from '../prices/price-book.ts';
import { addYears } from '../registry/term.ts';
import { renewalOffer } from './renewal-offer.ts';
import type { RenewalOrder } from './renewal-order-store.ts';
import type { Renewal } from './schema.ts';
import { isLive, type RenewalFacts, type Term, termOf } from './term.ts';
import { chargeableFrom } from './term-calendar.ts';

/** How the renewal of this row's term stands at `now`; `order` is what `findRenewalOrder` found. */
export function renewalOf(
  prices: PriceBook,
  domain: RenewalFacts,
  order: RenewalOrder | undefined,
  now: Date,
): Renewal {
  const offer = renewalOffer(prices, domain, now);
  const term = termOf(domain, order, offer, now);
  const until = renewedUntil(domain, order, now);
  return {
    auto_renew: domain.auto_renew,
    expires_at: isoOf(domain.expires_at),
    billed_until: isoOf(domain.billed_until),
    renewed_until: isoOf(until),
    next_charge_at: isoOf(nextChargeAt(domain, term, until)),
    price: offer === undefined ? null : toEuros(offer.priceCents),
    term: term.state,
    reason: term.reason,
    shortfall: term.shortfallCents === null ? null : toEuros(term.shortfallCents),
  };
}

/** The expiry that a renewal leads to which has been paid for, until the term that it follows has ended. */
function renewedUntil(domain: RenewalFacts, order: RenewalOrder | undefined, now: Date): Date | null {
  if (order === undefined || order.from_expires_at === null || order.state === 'failed') return null;
  const expected = addYears(order.from_expires_at, order.years);
  if (isLive(order.state)) return expected;
  if (now >= order.from_expires_at) return null;
  const { billed_until: billed } = domain;
  // Registries differ on when a year ends that began on 29 February.
  return billed !== null && billed > order.from_expires_at ? billed : expected;
}

function nextChargeAt(domain: RenewalFacts, { state }: Term, until: Date | null): Date | null {
  if (!domain.auto_renew || domain.release_at !== null || state === 'lapsing') return null;
  const end = until ?? domain.expires_at;
  return end === null ? null : chargeableFrom(end);
}

function isoOf(date: Date | null): string | null {
  return date === null ? null : date.toISOString();
}
