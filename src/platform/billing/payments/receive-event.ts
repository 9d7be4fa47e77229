/**
 * What Stripe's webhook changes. An event only says that something happened: what it is now is asked of Stripe, and booked under
 * a reference of its own, so that events may come twice, late and in any order. The id of each that was acted on is
 * kept, in the transaction in which it was, and a repetition is acknowledged without asking.
 */
import type { Executor } from '../../../kernel/db/database.ts';
import { book } from '../ledger.ts';
import type { CardPayments, PaymentEvent } from './card-payments.ts';
import { chargePayment } from './charge-card.ts';
import {
  findPayment,
  findPaymentBy,
  type Payment,
  type PaymentDependencies,
  removeCard,
  saveCard,
  settle,
  settlementOfPage,
} from './payment.ts';

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

async function wasReceived(executor: Executor, { id }: PaymentEvent): Promise<boolean> {
  return (await executor.query({ text: 'select from stripe_events where id = $1', values: [id] })).rowCount > 0;
}

/** False: it was acted on before. */
async function keepEvent(executor: Executor, { id, type }: PaymentEvent): Promise<boolean> {
  const { rowCount } = await executor.query({
    text: 'insert into stripe_events (id, type) values ($1, $2) on conflict do nothing',
    values: [id, type],
  });
  return rowCount > 0;
}

type EventOf<Kind extends PaymentEvent['kind']> = Extract<PaymentEvent, { readonly kind: Kind }>;

async function receivePage(deps: PaymentDependencies, payments: CardPayments, event: EventOf<'page'>): Promise<void> {
  const payment = await findLabelled(deps, event);
  if (payment === undefined) return;
  const settlement =
    payment.state === 'open' ? settlementOfPage(payment, await payments.findPage(event.sessionId)) : undefined;
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
  const payment = await findLabelled(deps, event);
  const isCharge = payment?.kind === 'reload' || payment?.kind === 'autoreload';
  if (payment?.state === 'open' && isCharge) await chargePayment(deps, payment);
  if (payment !== undefined) await keepEvent(deps.db, event);
}

async function findLabelled(
  { db }: PaymentDependencies,
  { label }: { readonly label: PaymentLabelOrNone },
): Promise<Payment | undefined> {
  return label === undefined ? undefined : findPayment(db, label.organizationId, label.paymentId);
}

type PaymentLabelOrNone = EventOf<'page'>['label'];

/** Refunds of a payment that was not booked yet wait for it: nothing leaves a wallet that never came in. */
async function receiveRefund(
  deps: PaymentDependencies,
  payments: CardPayments,
  event: EventOf<'refund'>,
): Promise<void> {
  const { db } = deps;
  const { intentId } = event;
  if (intentId === null) return;
  let payment = (await findPaymentBy(db, 'intent_id', intentId)) ?? (await findLabelled(deps, event));
  if (payment?.state === 'open') payment = await settleNow(deps, payments, payment);
  if (payment?.state !== 'succeeded') return;
  const { organization_id: organizationId, currency } = payment;
  const refunds = await payments.listRefunds(intentId);
  await db.transaction(async (tx) => {
    if (!(await keepEvent(tx, event))) return;
    for (const { id, amountCents, isGiven } of refunds) {
      const refund = { organizationId, kind: 'refund', currency } as const;
      if (isGiven) {
        const reference = `refund:${id}`;
        await book(tx, { ...refund, amountCents: -amountCents, reference, description: 'refund to the card' });
      } else if (await isBooked(tx, `refund:${id}`)) {
        const reference = `refund_failed:${id}`;
        await book(tx, { ...refund, amountCents, reference, description: 'refund that the card did not take' });
      }
    }
  });
}

async function settleNow(deps: PaymentDependencies, payments: CardPayments, payment: Payment): Promise<Payment> {
  if (payment.kind === 'reload' || payment.kind === 'autoreload') return chargePayment(deps, payment);
  if (payment.session_id === null) return payment;
  const settlement = settlementOfPage(payment, await payments.findPage(payment.session_id));
  if (settlement === undefined) return payment;
  return deps.db.transaction((tx) => settle(tx, deps, payment, settlement));
}

async function isBooked(executor: Executor, reference: string): Promise<boolean> {
  const { rowCount } = await executor.query({
    text: 'select from wallet_transactions where reference = $1',
    values: [reference],
  });
  return rowCount > 0;
}
