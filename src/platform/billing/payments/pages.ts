/** Pages of Stripe on which somebody saves a card or pays: opened, and settled once they were used. */
import { createHash } from 'node:crypto';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { CardPayments } from './card-payments.ts';
import {
  findPaymentBy,
  insertPayment,
  type Payment,
  type PaymentDependencies,
  settle,
  settlementOfPage,
} from './payment.ts';

export interface PageAsked {
  readonly organizationId: string;
  readonly kind: 'setup' | 'checkout';
  /** 0 of a setup. */
  readonly amountCents: number;
  readonly currency: string;
  readonly returnUrl: string;
  /** The caller's Idempotency-Key: the same one leads to the same page. */
  readonly request: { readonly key: string; readonly fingerprint: string } | undefined;
}

/**
 * Opens a page; answers with its address. Throws `stripe_unconfigured`, `stripe_error`, `invalid_amount` and
 * `idempotency_key_reused`.
 */
export async function openPage(deps: PaymentDependencies, asked: PageAsked): Promise<string> {
  const payments = await deps.openPayments();
  const customerId = await ensureCustomer(deps.db, payments, asked.organizationId);
  const payment = await insertPayment(deps.db, deps.clock, asked);
  if (payment === undefined) throw new Error('a page was not written down');
  if (payment.request_fingerprint !== (asked.request?.fingerprint ?? null))
    throw new ApiError('idempotency_key_reused');
  if (payment.session_url !== null) return payment.session_url;
  const page = {
    idempotencyKey: `page:${payment.id}`,
    label: { organizationId: asked.organizationId, paymentId: payment.id },
    customerId,
    currency: payment.currency,
    returnUrl: payment.return_url ?? asked.returnUrl,
  };
  const opened = await (payment.kind === 'setup'
    ? payments.openSetup(page)
    : payments.openCheckout({ ...page, amountCents: payment.amount_cents }));
  // One that counted as expired, its page being lost, can be paid again.
  await deps.db.query({
    text: `update wallet_payments set session_id = $3, session_url = $4, state = case state when 'expired' then 'open' else state end
           where organization_id = $1 and id = $2`,
    values: [payment.organization_id, payment.id, opened.sessionId, opened.url],
  });
  return opened.url;
}

/** The organization's customer at the payment service, made when it is first needed. */
async function ensureCustomer(db: Database, payments: CardPayments, organizationId: string): Promise<string> {
  const { rows } = await db.query<{ name: string; stripe_customer_id: string | null }>({
    text: `select o.name, w.stripe_customer_id from organizations o join wallets w on w.organization_id = o.id where o.id = $1`,
    values: [organizationId],
  });
  const { name = '', stripe_customer_id: known = null } = rows[0] ?? {};
  if (known !== null) return known;
  // With the name, which may change before this is repeated: a key stands for its parameters.
  const idempotencyKey = `customer:${organizationId}:${createHash('sha256').update(name).digest('hex')}`;
  const made = await payments.createCustomer({ idempotencyKey, organizationId, name });
  // Whoever was first: the key gives both the same customer, unless a day or another name lies between them.
  const kept = await db.query<{ stripe_customer_id: string }>({
    text: `update wallets set stripe_customer_id = coalesce(stripe_customer_id, $2), updated_at = now()
           where organization_id = $1 returning stripe_customer_id`,
    values: [organizationId, made],
  });
  return kept.rows[0]?.stripe_customer_id ?? made;
}

export interface Confirmed {
  /** Whether the money, or the starter credit, is in the wallet: by this call or one before. */
  readonly credited: boolean;
  /** The payment service's word, or `expired`. */
  readonly payment_status: string;
}

/**
 * Settles the page that the caller has come back from. Throws `session_not_found`, `session_mismatch` for another
 * organization's, `stripe_unconfigured` and `stripe_error`.
 */
export async function confirmPage(
  deps: PaymentDependencies,
  { organizationId, sessionId }: { readonly organizationId: string; readonly sessionId: string },
): Promise<Confirmed> {
  const payments = await deps.openPayments();
  const payment = await findPaymentBy(deps.db, 'session_id', sessionId);
  if (payment === undefined) throw new ApiError('session_not_found', { param: 'session_id' });
  if (payment.organization_id !== organizationId) throw new ApiError('session_mismatch', { param: 'session_id' });
  if (payment.state !== 'open') return describe(deps, payment, undefined);
  const page = await payments.findPage(sessionId);
  const settlement = settlementOfPage(payment, page);
  if (settlement === undefined) return describe(deps, payment, page?.paymentStatus);
  const settled = await deps.db.transaction((tx) => settle(tx, deps, payment, settlement));
  return describe(deps, settled, page?.paymentStatus);
}

async function describe(
  { db }: PaymentDependencies,
  payment: Payment,
  paymentStatus: string | undefined,
): Promise<Confirmed> {
  const { state, kind, organization_id: organizationId } = payment;
  const hasSucceeded = state === 'succeeded';
  const usual = kind === 'setup' ? 'no_payment_required' : hasSucceeded ? 'paid' : 'unpaid';
  const payment_status = state === 'expired' || state === 'failed' ? state : (paymentStatus ?? usual);
  if (!hasSucceeded || kind !== 'setup') return { credited: hasSucceeded, payment_status };
  const { rowCount } = await db.query({
    text: 'select from wallet_transactions where reference = $1',
    values: [`starter:${organizationId}`],
  });
  return { credited: rowCount > 0, payment_status };
}
