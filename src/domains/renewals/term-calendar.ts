/**
 * The dates of a term, all in UTC and counted from the expiry that ends it. A day is 24 hours.
 *
 *        chargeable from        deadline                expiry
 *   ────────────┼───────────────────┼──────────────────────┼──▶
 *               │◀─── auto-renew ──▶│◀─ left to expire ───▶│
 *          30 days before      10 days before
 */

import { addYears } from '../registry/term.ts';

const CHARGE_DAYS_BEFORE_EXPIRY = 30;
const DEADLINE_DAYS_BEFORE_EXPIRY = 10;

const DAY_MS = 86_400_000;

/** From when on auto-renew may charge for the term that ends at `expiresAt`. */
export function chargeableFrom(expiresAt: Date): Date {
  return new Date(expiresAt.getTime() - CHARGE_DAYS_BEFORE_EXPIRY * DAY_MS);
}

/** From when on auto-renew does not charge any more. */
export function chargeDeadline(expiresAt: Date): Date {
  return new Date(expiresAt.getTime() - DEADLINE_DAYS_BEFORE_EXPIRY * DAY_MS);
}

/** The latest expiry that is chargeable at `now`. */
export function chargeHorizon(now: Date): Date {
  return new Date(now.getTime() + CHARGE_DAYS_BEFORE_EXPIRY * DAY_MS);
}

/** Whether the registry would refuse so many years more, because the name would be paid for too far ahead. */
export function isCapped(
  expiresAt: Date,
  { years, maxTermYears }: { readonly years: number; readonly maxTermYears: number },
  now: Date,
): boolean {
  return addYears(expiresAt, years).getTime() > addYears(now, maxTermYears).getTime();
}
