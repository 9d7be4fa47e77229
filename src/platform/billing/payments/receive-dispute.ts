/**
 * Disputes of payments by card. What a wallet got leaves it when the money leaves the seller's account at Stripe, and comes back
 * with it; an inquiry, which moves no money, books nothing:
 *
 *   withdrawn ─▶ dispute:<id> ─reinstated─▶ dispute_won:<id>
 */
import type { Transaction } from '../../../kernel/db/database.ts';
import { book, readBooked } from '../ledger.ts';
import type { CardPayments, Dispute, PaymentEvent } from './card-payments.ts';
import { findPaid } from './find-paid.ts';
import type { Payment, PaymentDependencies } from './payment.ts';
import { keepEvent } from './received-events.ts';

export async function receiveDispute(
  deps: PaymentDependencies,
  payments: CardPayments,
  event: Extract<PaymentEvent, { readonly kind: 'dispute' }>,
): Promise<void> {
  const { intentId } = event;
  if (intentId === null) return;
  const disputes = await payments.listDisputes(intentId);
  const payment = await findPaid(deps, payments, { intentId, label: disputes[0]?.label });
  if (payment === undefined) return;
  await deps.db.transaction(async (tx) => {
    if (!(await keepEvent(tx, event))) return;
    for (const dispute of disputes) await bookDispute(tx, payment, dispute);
  });
}

async function bookDispute(tx: Transaction, payment: Payment, dispute: Dispute): Promise<void> {
  if (!dispute.isWithdrawn) return;
  const { organization_id: organizationId, currency } = payment;
  const reference = `dispute:${dispute.id}`;
  const booking = { organizationId, kind: 'dispute', currency } as const;
  const amountCents = -amountOf(payment, dispute);
  if (await book(tx, { ...booking, amountCents, reference, description: 'disputed payment' })) {
    await stopAutoreload(tx, organizationId);
  }
  if (!dispute.isReinstated) return;
  await book(tx, {
    ...booking,
    // What was taken, whatever Stripe calls the dispute's amount by now.
    amountCents: -(await readBooked(tx, reference)),
    reference: `dispute_won:${dispute.id}`,
    description: 'dispute won: the payment is back',
  });
}

/** Rates of exchange may make more of a dispute than was paid: a wallet gives back no more than it got. */
function amountOf({ amount_cents, currency }: Payment, dispute: Dispute): number {
  return dispute.currency === currency ? Math.min(dispute.amountCents, amount_cents) : amount_cents;
}

/** Whoever disputes a payment would dispute the next that nobody asked for. */
async function stopAutoreload(tx: Transaction, organizationId: string): Promise<void> {
  await tx.query({
    text: `update wallets set autoreload_enabled = false, autoreload_failure = $2, updated_at = now()
           where organization_id = $1 and autoreload_enabled`,
    values: [organizationId, 'A payment was disputed: automatic reloads are off until you switch them on again.'],
  });
}
