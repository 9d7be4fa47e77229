/** Charges of the saved card: asked for by the caller (`reload`), or by the wallet itself (`autoreload`). */
import { ApiError } from '../../../kernel/http/errors.ts';
import {
  findRequested,
  getPayment,
  insertPayment,
  type Payment,
  type PaymentDependencies,
  settle,
  settlementOfCharge,
} from './payment.ts';

export interface ReloadAsked {
  readonly organizationId: string;
  /** Undefined: what the automatic reload would charge. */
  readonly amountCents: number | undefined;
  readonly currency: string;
  readonly request: { readonly key: string; readonly fingerprint: string } | undefined;
}

export interface Reloaded {
  readonly credited: boolean;
  /** `paid`, `declined`, or `processing` where there is no answer yet: the wallet is credited when there is. */
  readonly payment_status: 'paid' | 'declined' | 'processing';
}

/**
 * Charges the saved card now. Throws `no_customer`, `no_saved_card`, `stripe_unconfigured` and `idempotency_key_reused`.
 */
export async function reloadWallet(deps: PaymentDependencies, asked: ReloadAsked): Promise<Reloaded> {
  const { organizationId, request } = asked;
  await deps.openPayments();
  // What was charged before is told, whatever card there is by now.
  const begun = await findRequested(deps.db, { organizationId, kind: 'reload', request });
  const payment = begun ?? (await insertReload(deps, asked));
  if (payment.request_fingerprint !== (request?.fingerprint ?? null)) throw new ApiError('idempotency_key_reused');
  const { state } = payment.state === 'open' ? await chargePayment(deps, payment) : payment;
  if (state === 'succeeded') return { credited: true, payment_status: 'paid' };
  return { credited: false, payment_status: state === 'open' ? 'processing' : 'declined' };
}

async function insertReload(deps: PaymentDependencies, asked: ReloadAsked): Promise<Payment> {
  const { organizationId, currency, request } = asked;
  const card = await readCard(deps, organizationId);
  const amountCents = asked.amountCents ?? card.autoreload_amount_cents;
  const cardId = card.stripe_card_id;
  const wanted = { organizationId, kind: 'reload', amountCents, currency, cardId, request } as const;
  const payment = await insertPayment(deps.db, deps.clock, wanted);
  if (payment === undefined) throw new Error('a reload was not written down');
  return payment;
}

async function readCard({ db }: PaymentDependencies, organizationId: string) {
  const { rows } = await db.query<{
    stripe_customer_id: string | null;
    stripe_card_id: string | null;
    autoreload_amount_cents: number;
  }>({
    text: 'select stripe_customer_id, stripe_card_id, autoreload_amount_cents from wallets where organization_id = $1',
    values: [organizationId],
  });
  const row = rows[0];
  if (row === undefined || row.stripe_customer_id === null) throw new ApiError('no_customer');
  if (row.stripe_card_id === null) throw new ApiError('no_saved_card');
  return row;
}

/** Charges, and settles what comes of it; an open payment is charged once, however often this is called. */
export async function chargePayment(deps: PaymentDependencies, payment: Payment): Promise<Payment> {
  const { organization_id: organizationId, id: paymentId, amount_cents: amountCents, currency } = payment;
  const payments = await deps.openPayments();
  const { rows } = await deps.db.query<{ stripe_customer_id: string | null }>({
    text: 'select stripe_customer_id from wallets where organization_id = $1',
    values: [organizationId],
  });
  const outcome = await payments.charge({
    idempotencyKey: `charge:${paymentId}`,
    requestedAt: payment.created_at,
    label: { organizationId, paymentId },
    amountCents,
    currency,
    customerId: rows[0]?.stripe_customer_id ?? '',
    cardId: payment.card_id ?? '',
  });
  const settlement = settlementOfCharge(outcome);
  if (settlement === undefined) return getPayment(deps.db, organizationId, paymentId);
  const settled = await deps.db.transaction((tx) => settle(tx, deps, payment, settlement));
  if (settled.kind === 'autoreload' && settled.state === 'failed') {
    deps.logger.warn({ organizationId, paymentId, reason: settled.failure }, 'an automatic reload was declined');
  }
  return settled;
}
