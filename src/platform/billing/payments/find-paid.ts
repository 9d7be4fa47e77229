/** Which payment an event is about. */
import type { CardPayments, PaymentLabel } from './card-payments.ts';
import { chargePayment } from './charge-card.ts';
import {
  findPayment,
  findPaymentBy,
  type Payment,
  type PaymentDependencies,
  settle,
  settlementOfPage,
} from './payment.ts';

export async function findLabelled(
  { db }: Pick<PaymentDependencies, 'db'>,
  label: PaymentLabel | undefined,
): Promise<Payment | undefined> {
  return label === undefined ? undefined : findPayment(db, label.organizationId, label.paymentId);
}

/**
 * The payment that came by this intent, booked before anything is taken from it: nothing leaves a wallet that never came in.
 * Undefined: it is none of a wallet's, or has not succeeded.
 */
export async function findPaid(
  deps: PaymentDependencies,
  payments: CardPayments,
  { intentId, label }: { readonly intentId: string; readonly label: PaymentLabel | undefined },
): Promise<Payment | undefined> {
  let payment = (await findPaymentBy(deps.db, 'intent_id', intentId)) ?? (await findLabelled(deps, label));
  if (payment?.state === 'open') payment = await settleNow(deps, payments, payment);
  return payment?.state === 'succeeded' ? payment : undefined;
}

async function settleNow(deps: PaymentDependencies, payments: CardPayments, payment: Payment): Promise<Payment> {
  if (payment.kind === 'reload' || payment.kind === 'autoreload') return chargePayment(deps, payment);
  if (payment.session_id === null) return payment;
  const settlement = settlementOfPage(payment, await payments.findPage(payment.session_id));
  if (settlement === undefined) return payment;
  return deps.db.transaction((tx) => settle(tx, deps, payment, settlement));
}
