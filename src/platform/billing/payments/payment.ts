/**
 * Payments into a wallet. The row is written before Stripe is asked, so that whatever happens between the two is taken up again:
 *
 *   open ─▶ succeeded   paid: the wallet is credited, once, by `payment:<id>`; of a setup the card is saved, and the
 *        │              starter credit booked, once an organization, by `starter:<organization>`
 *        ├▶ failed      declined
 *        └▶ expired     the page was not used in time ─▶ open where a repeated call opens another
 *
 * A page is settled by whoever hears of it first: the caller (`confirm`), Stripe's webhook, or the look of the periodic worker.
 * All of them lock the wallet first and find the row open or not, so that they agree on one of them.
 */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database, Executor, Transaction } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { book } from '../ledger.ts';
import { noteAutoreload } from './autoreload-backoff.ts';
import type { ChargeOutcome, PageState } from './card-payments.ts';
import type { OpenPayments } from './open-payments.ts';

export type PaymentKind = 'setup' | 'checkout' | 'reload' | 'autoreload';
export type PaymentState = 'open' | 'succeeded' | 'failed' | 'expired';

export interface Payment {
  readonly organization_id: string;
  readonly id: string;
  readonly kind: PaymentKind;
  readonly amount_cents: number;
  readonly currency: string;
  readonly state: PaymentState;
  readonly card_id: string | null;
  readonly return_url: string | null;
  readonly session_id: string | null;
  readonly session_url: string | null;
  readonly intent_id: string | null;
  readonly failure: string | null;
  readonly request_fingerprint: string | null;
  readonly created_at: Date;
}

export interface PaymentDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly openPayments: OpenPayments;
  readonly starterCents: number;
}

/** Who asks counts as lost after so long, and somebody else may ask. */
export const LEASE_MS = 60_000;

export interface NewPayment {
  readonly organizationId: string;
  readonly kind: PaymentKind;
  readonly amountCents: number;
  readonly currency: string;
  readonly cardId?: string | null;
  readonly returnUrl?: string | null;
  readonly request?: { readonly key: string; readonly fingerprint: string } | undefined;
}

/** Writes a payment down, or finds the one that the caller's key has begun. Undefined: an automatic reload is under way. */
export async function insertPayment(
  executor: Executor,
  clock: Clock,
  payment: NewPayment,
): Promise<Payment | undefined> {
  const now = clock.now();
  const { organizationId, kind, request } = payment;
  const { rows } = await executor.query<Payment>({
    text: `
      insert into wallet_payments (organization_id, id, kind, amount_cents, currency, card_id, return_url, request_key,
        request_fingerprint, next_look_at, created_at, updated_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
      on conflict do nothing
      returning *`,
    values: [
      organizationId,
      mintId('pay'),
      kind,
      payment.amountCents,
      payment.currency,
      payment.cardId ?? null,
      payment.returnUrl ?? null,
      request?.key ?? null,
      request?.fingerprint ?? null,
      new Date(now.getTime() + LEASE_MS),
      now,
    ],
  });
  return rows[0] ?? findRequested(executor, payment);
}

/** The payment that the caller's key has begun. */
export async function findRequested(
  executor: Executor,
  { organizationId, kind, request }: Pick<NewPayment, 'organizationId' | 'kind' | 'request'>,
): Promise<Payment | undefined> {
  if (request === undefined) return undefined;
  const { rows } = await executor.query<Payment>({
    text: 'select * from wallet_payments where organization_id = $1 and kind = $2 and request_key = $3',
    values: [organizationId, kind, request.key],
  });
  return rows[0];
}

/** What becomes of an open payment. */
export interface Settlement {
  readonly state: Exclude<PaymentState, 'open'>;
  readonly intentId?: string | null;
  readonly failure?: string | null;
  /** Of a setup that succeeded: the card that was saved. */
  readonly cardId?: string | null;
  /** Of a decline: the card cannot be charged again. */
  readonly cardIsGone?: boolean;
}

export function settlementOfCharge(outcome: ChargeOutcome): Settlement | undefined {
  switch (outcome.kind) {
    case 'succeeded':
      return { state: 'succeeded', intentId: outcome.intentId };
    case 'declined':
      return { state: 'failed', failure: outcome.reason, cardIsGone: outcome.cardIsGone };
    case 'unknown':
      return undefined;
  }
}

/** Undefined: nobody has used the page yet. Throws where it was paid with another amount than was asked for. */
export function settlementOfPage(payment: Payment, page: PageState | undefined): Settlement | undefined {
  if (page === undefined || page.status === 'expired') return { state: 'expired' };
  if (page.status === 'open' || page.paymentStatus === 'unpaid') return undefined;
  if (payment.kind === 'setup') return { state: 'succeeded', cardId: page.cardId };
  if (page.amountCents !== payment.amount_cents) {
    throw new Error(`the payment ${payment.id} of ${payment.amount_cents} cents was paid with ${page.amountCents}`);
  }
  return { state: 'succeeded', intentId: page.intentId };
}

/** Books what came of the payment. Returns it as it is by now, which another may have settled otherwise before. */
export async function settle(
  tx: Transaction,
  deps: Pick<PaymentDependencies, 'clock' | 'starterCents'>,
  payment: Payment,
  settlement: Settlement,
): Promise<Payment> {
  const { organization_id: organizationId, id } = payment;
  await lockWallet(tx, organizationId);
  const now = deps.clock.now();
  const { state, intentId = null, failure = null } = settlement;
  const { rows } = await tx.query<Payment>({
    text: `
      update wallet_payments set state = $3, intent_id = coalesce($4, intent_id), failure = $5, updated_at = $6
      where organization_id = $1 and id = $2 and state = 'open' returning *`,
    values: [organizationId, id, state, intentId, failure, now],
  });
  const settled = rows[0];
  if (settled === undefined) return getPayment(tx, organizationId, id);
  if (state === 'succeeded') await bookSuccess(tx, deps, settled, settlement);
  if (settled.kind === 'autoreload') {
    await noteAutoreload(tx, deps.clock, organizationId, state === 'succeeded' ? null : (failure ?? state));
  }
  if (settlement.cardIsGone === true) await removeCard(tx, settled.card_id ?? '');
  return settled;
}

const descriptions = {
  checkout: 'top-up',
  reload: 'top-up with the saved card',
  autoreload: 'automatic reload',
} as const;

async function bookSuccess(
  tx: Transaction,
  { starterCents }: Pick<PaymentDependencies, 'starterCents'>,
  payment: Payment,
  { cardId = null }: Settlement,
): Promise<void> {
  const { organization_id: organizationId, kind, amount_cents: amountCents, currency, id } = payment;
  if (kind === 'setup') {
    if (cardId !== null) await saveCard(tx, organizationId, cardId);
    if (cardId === null || starterCents === 0) return;
    const reference = `starter:${organizationId}`;
    const starter = { organizationId, currency, reference, kind: 'starter', description: 'starter credit' } as const;
    await book(tx, { ...starter, amountCents: starterCents });
    return;
  }
  await book(tx, {
    organizationId,
    kind: kind === 'autoreload' ? 'autoreload' : 'topup',
    amountCents,
    currency,
    reference: `payment:${id}`,
    description: descriptions[kind],
  });
}

export async function lockWallet(tx: Transaction, organizationId: string): Promise<void> {
  await tx.query({
    text: 'select from wallets where organization_id = $1 for no key update',
    values: [organizationId],
  });
}

export async function getPayment(executor: Executor, organizationId: string, id: string): Promise<Payment> {
  const found = await findPayment(executor, organizationId, id);
  if (found === undefined) throw new Error(`the organization ${organizationId} has no payment ${id}`);
  return found;
}

export async function findPayment(
  executor: Executor,
  organizationId: string,
  id: string,
): Promise<Payment | undefined> {
  const { rows } = await executor.query<Payment>({
    text: 'select * from wallet_payments where organization_id = $1 and id = $2',
    values: [organizationId, id],
  });
  return rows[0];
}

/** Of whichever organization. */
export async function findPaymentBy(
  executor: Executor,
  column: 'session_id' | 'intent_id',
  value: string,
): Promise<Payment | undefined> {
  const { rows } = await executor.query<Payment>({
    text: `select * from wallet_payments where ${column} = $1`,
    values: [value],
  });
  return rows[0];
}

/** The card that is charged from now on: reloads that it had stopped go on. */
export async function saveCard(tx: Executor, organizationId: string, cardId: string): Promise<void> {
  await tx.query({
    text: `
      update wallets set stripe_card_id = $2, autoreload_declines = 0, autoreload_failure = null,
        autoreload_next_at = null, updated_at = now()
      where organization_id = $1`,
    values: [organizationId, cardId],
  });
}

export async function removeCard(tx: Executor, cardId: string): Promise<void> {
  await tx.query({
    text: 'update wallets set stripe_card_id = null, updated_at = now() where stripe_card_id = $1',
    values: [cardId],
  });
}
