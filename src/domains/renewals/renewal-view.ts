/** A domain's `renewal` object, for GET /domains/{name} and PATCH /domains/{name}/settings. */
import type { RenewalOrder } from './renewal-order-store.ts';
import type { Renewal } from './schema.ts';
import { isLive, type RenewalFacts, termOf } from './term.ts';
import { addYears, chargeableFrom } from './term-calendar.ts';

export interface RenewalSubject {
  readonly domain: RenewalFacts;
  /** See `findRenewalOrder`. */
  readonly order: RenewalOrder | undefined;
  /** One year's renewal; undefined: not offered any more. */
  readonly priceCents: number | undefined;
}

export function renewalOf({ domain, order, priceCents }: RenewalSubject, now: Date): Renewal {
  const term = termOf(domain, order, now);
  const until = renewedUntil(domain, order, now);
  return {
    auto_renew: domain.auto_renew,
    expires_at: isoOf(domain.expires_at),
    billed_until: isoOf(domain.billed_until),
    renewed_until: isoOf(until),
    next_charge_at: isoOf(nextChargeAt(domain, term.state, until)),
    price: priceCents === undefined ? null : priceCents / 100,
    term: term.state,
    reason: term.reason,
    shortfall: term.shortfallCents === null ? null : term.shortfallCents / 100,
  };
}

/** The expiry that a renewal which stands leads to: one that is paid for, until the term that it follows has ended. */
function renewedUntil(domain: RenewalFacts, order: RenewalOrder | undefined, now: Date): Date | null {
  if (order === undefined || order.from_expires_at === null || order.state === 'failed') return null;
  const expected = addYears(order.from_expires_at, order.years);
  if (isLive(order.state)) return expected;
  if (now >= order.from_expires_at) return null;
  const { billed_until: billed } = domain;
  // The registry has its own idea of a year after 29 February.
  return billed !== null && billed > order.from_expires_at ? billed : expected;
}

function nextChargeAt(domain: RenewalFacts, state: string, until: Date | null): Date | null {
  if (!domain.auto_renew || domain.release_at !== null || state === 'lapsing') return null;
  const end = until ?? domain.expires_at;
  return end === null ? null : chargeableFrom(end);
}

function isoOf(date: Date | null): string | null {
  return date === null ? null : date.toISOString();
}
