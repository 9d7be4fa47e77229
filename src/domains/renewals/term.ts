/**
 * What is to be said of a domain's current term, from its row and its renewal orders alone. The scheduler acts upon it
 * and the API shows it, so both see the same; see renewal-keeper.ts for the machine.
 */
import type { Selectable } from 'kysely';
import type { OrderState, RenewalState, WorkspaceTables } from '../tables.ts';
import type { RenewalOrder } from './renewal-order-store.ts';
import { AUTO_RENEW_YEARS, chargeableFrom, chargeDeadline, isCapped } from './term-calendar.ts';

/** What of a domain's row decides its renewal. */
export type RenewalFacts = Pick<
  Selectable<WorkspaceTables['domains']>,
  | 'auto_renew'
  | 'expires_at'
  | 'release_at'
  | 'billed_until'
  | 'renewal_state'
  | 'renewal_reason'
  | 'renewal_shortfall_cents'
>;

export interface Term {
  readonly state: RenewalState;
  readonly reason: string | null;
  readonly shortfallCents: number | null;
}

/** The state of the current term at `now`. Of what the row remembers, only an attempt's failure counts. */
export function termOf(domain: RenewalFacts, order: RenewalOrder | undefined, now: Date): Term {
  const bought = order === undefined ? undefined : boughtTerm(domain, order, now);
  if (bought !== undefined) return bought;
  if (domain.release_at !== null) return term('off', `The name is released on ${dayOf(domain.release_at)}.`);
  if (!domain.auto_renew) return term('off');
  const { expires_at: expiresAt } = domain;
  if (expiresAt === null) return term('not_due', 'The registry has not reported an expiry yet.');
  if (now >= chargeDeadline(expiresAt)) return lapsingTerm(domain, order, expiresAt, now);
  if (isCapped(expiresAt, AUTO_RENEW_YEARS, now)) return term('capped', 'Registries allow ten years ahead at most.');
  if (now < chargeableFrom(expiresAt)) return term('not_due');
  return dueTerm(domain, order);
}

/** Whether money has been taken for it and the registry not heard of last. */
export function isLive(state: OrderState): boolean {
  return state !== 'completed' && state !== 'failed';
}

function boughtTerm(domain: RenewalFacts, order: RenewalOrder, now: Date): Term | undefined {
  switch (order.state) {
    case 'paying':
    case 'held':
      return term('charging', 'The price is set aside, and the registry is about to be asked.');
    case 'submitted':
    case 'pending':
      return term('pending', 'The registry has the renewal and completes it.');
    case 'failed':
      return undefined;
    case 'completed':
      return completedTerm(domain, order, now);
  }
}

function completedTerm({ expires_at }: RenewalFacts, order: RenewalOrder, now: Date): Term | undefined {
  if (order.from_expires_at === null) return undefined;
  // It has been sold once: whatever the registry shows, it is not sold again.
  if (expires_at !== null && expires_at <= order.from_expires_at) {
    return term('pending', 'The renewal is paid for; the registry does not show the new expiry yet.');
  }
  return now < order.from_expires_at ? term('renewed') : undefined;
}

function lapsingTerm(domain: RenewalFacts, order: RenewalOrder | undefined, expiresAt: Date, now: Date): Term {
  const { state, reason, shortfallCents } = dueTerm(domain, order);
  const until = dayOf(chargeDeadline(expiresAt));
  const cause = state === 'unpaid' || state === 'failed' ? ` ${reason ?? ''}` : '';
  const outcome =
    now < expiresAt
      ? `It was not renewed by ${until} and is left to expire; POST /domains/{name}/renew still renews it.`
      : `It was not renewed by ${until} and has expired.`;
  return { state: 'lapsing', reason: `${outcome}${cause}`, shortfallCents };
}

/** Of a term whose time is there, or has been: what came of the last attempt. */
function dueTerm(domain: RenewalFacts, order: RenewalOrder | undefined): Term {
  const { renewal_state: remembered, renewal_reason: reason, renewal_shortfall_cents: shortfallCents } = domain;
  if (shortfallCents !== null)
    return { state: 'unpaid', reason: 'The wallet does not cover the price.', shortfallCents };
  const rejected = order !== undefined && isRejectionOf(order, domain.expires_at);
  if (rejected) return term('failed', order.error_message ?? 'The registry refused the renewal.');
  if (remembered === 'failed') return term('failed', reason);
  return term('charging', 'The charge is due.');
}

/** Whether auto-renew has tried the term that ends then, and the registry refused. */
export function isRejectionOf(order: RenewalOrder, expiresAt: Date | null): boolean {
  const { state, origin, from_expires_at: from } = order;
  return state === 'failed' && origin === 'auto_renew' && from?.getTime() === expiresAt?.getTime();
}

function term(state: RenewalState, reason: string | null = null): Term {
  return { state, reason, shortfallCents: null };
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
