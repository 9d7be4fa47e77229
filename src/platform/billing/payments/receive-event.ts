/**
 * What Stripe's webhook changes. An event only says that something happened: what it is now is asked of Stripe, and booked under
 * a reference of its own, so that events may come twice, late and in any order. The id of each that was acted on is
 * kept, in the transaction in which it was, and a repetition is acknowledged without asking.
 */
import { book } from '../ledger.ts';
import type { CardPayments, PaymentEvent } from './card-payments.ts';
import { chargePayment } from './charge-card.ts';
import { findLabelled, findPaid } from './find-paid.ts';
import { type PaymentDependencies, removeCard, saveCard, settle, settlementOfPage } from './payment.ts';
import { receiveDispute } from './receive-dispute.ts';
import { keepEvent, wasReceived } from './received-events.ts';

/** Throws `stripe_error` where Stripe does not answer: it then sends the event again. */
export async function receiveEvent(deps: PaymentDependencies, event: PaymentEvent): Promise<void> {
  const { db } = deps;
  if (event.kind === 'other' || (await wasReceived(db, event))) return;
  const payments = await deps.openPayments();
  switch (event.kind) {
    case 'page':
      return receivePage(deps, payments, event);
    case 'charge':
      return receiveCharge(deps, event);
    case 'refund':
      return receiveRefund(deps, payments, event);
    case 'dispute':
      return receiveDispute(deps, payments, event);
    case 'card removed':
      return db.transaction(async (tx) => {
        if (await keepEvent(tx, event)) await removeCard(tx, event.cardId);
      });
    case 'card chosen':
      return db.transaction(async (tx) => {
        if (!(await keepEvent(tx, event))) return;
        const { rows } = await tx.query<{ organization_id: string }>({
          text: 'select organization_id from wallets where stripe_customer_id = $1',
          values: [event.customerId],
        });
        const owner = rows[0]?.organization_id;
        if (owner !== undefined) await saveCard(tx, owner, event.cardId);
      });
  }
}

type EventOf<Kind extends PaymentEvent['kind']> = Extract<PaymentEvent, { readonly kind: Kind }>;

async function receivePage(deps: PaymentDependencies, payments: CardPayments, event: EventOf<'page'>): Promise<void> {
  const payment = await findLabelled(deps, event.label);
  if (payment === undefined) return;
  // An earlier page, whose address was lost, says nothing of the one that took its place.
  const sessionId = payment.session_id ?? event.sessionId;
  const settlement =
    payment.state === 'open' ? settlementOfPage(payment, await payments.findPage(sessionId)) : undefined;
  await deps.db.transaction(async (tx) => {
    if (!(await keepEvent(tx, event)) || settlement === undefined) return;
    // It may come before the answer to the call that opened the page.
    await tx.query({
      text: `update wallet_payments set session_id = $3
             where organization_id = $1 and id = $2 and session_id is null`,
      values: [payment.organization_id, payment.id, event.sessionId],
    });
    await settle(tx, deps, payment, settlement);
  });
}

async function receiveCharge(deps: PaymentDependencies, event: EventOf<'charge'>): Promise<void> {
  const payment = await findLabelled(deps, event.label);
  const isCharge = payment?.kind === 'reload' || payment?.kind === 'autoreload';
  if (payment?.state === 'open' && isCharge) await chargePayment(deps, payment);
  if (payment !== undefined) await keepEvent(deps.db, event);
}

async function receiveRefund(
  deps: PaymentDependencies,
  payments: CardPayments,
  event: EventOf<'refund'>,
): Promise<void> {
  const { db } = deps;
  const { intentId } = event;
  if (intentId === null) return;
  const payment = await findPaid(deps, payments, { intentId, label: event.label });
  if (payment === undefined) return;
  const { organization_id: organizationId, currency } = payment;
  const refunds = await payments.listRefunds(intentId);
  await db.transaction(async (tx) => {
    if (!(await keepEvent(tx, event))) return;
    for (const { id, amountCents, isGiven } of refunds) {
      const refund = { organizationId, kind: 'refund', currency } as const;
      const [given, failed] = [`refund:${id}`, `refund_failed:${id}`];
      await book(tx, { ...refund, amountCents: -amountCents, reference: given, description: 'refund to the card' });
      if (isGiven) continue;
      // Both, also of one that failed before it was heard of: an answer from before its failure, which comes after this, books nothing.
      await book(tx, { ...refund, amountCents, reference: failed, description: 'refund that the card did not take' });
    }
  });
}
