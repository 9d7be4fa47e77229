/**
 * The state of a domain's current term, from its row and its renewal orders alone. The renewal worker acts upon it
 * and the API shows it, so both see the same; see renewal-worker.ts for the state machine.
 */
import type { Selectable } from 'kysely';
import { formatEuros } from '../prices/money.ts';
import type { OrderState, RenewalState, WorkspaceTables } from '../tables.ts';
import type { RenewalOffer } from './renewal-offer.ts';
import type { RenewalOrder } from './renewal-order-store.ts';
import { chargeableFrom, chargeDeadline, isCapped } from './term-calendar.ts';

/** The columns of a domain's row that decide its renewal. */
export type RenewalFacts = Pick<
  Selectable<WorkspaceTables['domains']>,
  | 'name'
  | 'auto_renew'
  | 'expires_at'
  | 'release_at'
  | 'billed_until'
  | 'renewal_state'
  | 'renewal_reason'
  | 'renewal_shortfall_cents'
  | 'renewal_fee'
>;

export interface Term {
  readonly state: RenewalState;
  readonly reason: string | null;
  readonly shortfallCents: number | null;
  /** Whether auto-renew is to charge for it now. */
  readonly isDue: boolean;
}

/**
 * The state of the current term at `now`. Of the renewal columns of the row only the outcome of the last attempt counts.
 * `order` is what `findRenewalOrder` found.
 */
export function termOf(
  domain: RenewalFacts,
  order: RenewalOrder | undefined,
  offer: RenewalOffer | undefined,
  now: Date,
): Term {
  const bought = order === undefined ? undefined : boughtTerm(domain, order, now);
  if (bought !== undefined) return bought;
  if (domain.release_at !== null) return term('off', `The name is released on ${dayOf(domain.release_at)}.`);
  if (!domain.auto_renew) return term('off');
  const { expires_at: expiresAt } = domain;
  if (expiresAt === null) return term('not_due', 'The registry has not reported an expiry yet.');
  if (now >= chargeDeadline(expiresAt)) return lapsingTerm(domain, order, expiresAt);
  if (offer !== undefined && isCapped(expiresAt, offer, now)) {
    return term('capped', `The registry takes payment for ${offer.maxTermYears} years ahead at most.`);
  }
  if (now < chargeableFrom(expiresAt)) return term('not_due');
  return { ...attemptedTerm(domain, order), isDue: true };
}

/** Whether money has been set aside for it, and its end is not known. */
export function isLive(state: OrderState): boolean {
  return state !== 'completed' && state !== 'failed';
}

/** Whether it is auto-renew's attempt at the term that ends at `expiresAt`, refused by the registry. */
export function isRefusalOf(order: RenewalOrder, expiresAt: Date | null): boolean {
  const { state, origin, from_expires_at: from } = order;
  return state === 'failed' && origin === 'auto_renew' && from?.getTime() === expiresAt?.getTime();
}

function boughtTerm(domain: RenewalFacts, order: RenewalOrder, now: Date): Term | undefined {
  switch (order.state) {
    case 'paying':
    case 'held':
      return term('charging', 'The price is being charged; the registry is asked next.');
    case 'submitted':
    case 'pending':
      return term('pending', 'It is paid for, and the registry has been asked to renew the name.');
    case 'completed':
      return completedTerm(domain, order, now);
    case 'failed':
      return undefined;
  }
}

function completedTerm({ expires_at }: RenewalFacts, order: RenewalOrder, now: Date): Term | undefined {
  if (order.from_expires_at === null) return undefined;
  // This term has been sold: whatever the registry shows, it is not sold again.
  if (expires_at !== null && expires_at <= order.from_expires_at) {
    return term('pending', 'It is paid for; the registry does not show the new expiry yet.');
  }
  return now < order.from_expires_at ? term('renewed') : undefined;
}

function lapsingTerm(domain: RenewalFacts, order: RenewalOrder | undefined, expiresAt: Date): Term {
  const { renewal_state, renewal_reason, renewal_shortfall_cents: shortfallCents } = domain;
  const outcome = `It was not paid by ${dayOf(chargeDeadline(expiresAt))}, so the name is left to expire.`;
  const isRemembered = renewal_state === 'lapsing' && renewal_reason?.startsWith(outcome) === true;
  const attempted = attemptedTerm(domain, order);
  const cause = attempted.state === 'charging' ? '' : ` ${attempted.reason ?? ''}`;
  const reason = isRemembered ? renewal_reason : `${outcome}${cause}`;
  return { state: 'lapsing', reason, shortfallCents, isDue: false };
}

/** The outcome of the attempts at a term that may be charged for. */
function attemptedTerm(domain: RenewalFacts, order: RenewalOrder | undefined): Term {
  const { renewal_state: remembered, renewal_reason: reason, renewal_shortfall_cents: shortfallCents } = domain;
  if (shortfallCents !== null) {
    const short = `The wallet is ${formatEuros(shortfallCents)} short of the price; top it up.`;
    return { state: 'unpaid', reason: short, shortfallCents, isDue: false };
  }
  const isRefused = order !== undefined && isRefusalOf(order, domain.expires_at);
  if (isRefused) return term('failed', order.error_message ?? 'The registry refused the renewal.');
  return remembered === 'failed' ? term('failed', reason) : term('charging', 'The charge is due.');
}

function term(state: RenewalState, reason: string | null = null): Term {
  return { state, reason, shortfallCents: null, isDue: false };
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
