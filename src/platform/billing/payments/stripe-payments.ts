/**
 * Wallets' payments by Stripe. A charge of a saved card is one PaymentIntent, confirmed as it is made, off-session:
 *
 *   create ─▶ succeeded                                  the money is ours
 *          ─▶ requires_action and the like ─▶ cancelled  declined: nobody is there to act
 *          ─▶ processing                                 unknown, until a later call finds it ended
 *          ─▶ 402 card_error, 400 invalid_request_error  declined
 *          ─▶ no answer, 5xx, 409, 429, 401              unknown: an earlier call with the key may have charged
 */
import Stripe from 'stripe';
import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { CHARGE_KEY, isKeptUnderKey, isKeyForgotten, searchIntent } from '../../../kernel/stripe/charge-key.ts';
import { connectStripe, type StripeAccount } from '../../../kernel/stripe/connect-stripe.ts';
import { reportStripeError } from '../../../kernel/stripe/report-error.ts';
import type {
  Amount,
  CardPayments,
  ChargeOutcome,
  ChargeRequest,
  Dispute,
  PageRequest,
  PageState,
  PaymentLabel,
  PaymentPage,
} from './card-payments.ts';
import { labelOf, readStripeEvent } from './stripe-events.ts';

const REFUNDS_LISTED = 100;
const DISPUTES_LISTED = 100;

export interface StripeOptions extends StripeAccount {
  /** Absent: no event is believed. */
  readonly webhookSecret: string | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
}

export function createStripePayments(options: StripeOptions): CardPayments {
  const { logger, clock, webhookSecret } = options;
  const stripe = connectStripe(options);
  const ask = <Value>(what: string, call: () => Promise<Value>): Promise<Value> =>
    call().catch((error: unknown) => {
      throw refusalOf(logger, what, error);
    });
  return {
    createCustomer: ({ idempotencyKey, organizationId, name }) =>
      ask('a customer', async () => {
        const metadata = { ironcraft_organization: organizationId };
        return (await stripe.customers.create({ name, metadata }, { idempotencyKey })).id;
      }),
    openSetup: (request) => ask('a setup page', () => openPage(stripe, request, { mode: 'setup' })),
    openCheckout: (request) => ask('a checkout page', () => openPage(stripe, request, paymentOf(request))),
    findPage: (sessionId) => ask('a page', () => findPage(stripe, sessionId)),
    charge: (request) => charge(stripe, logger, clock, request),
    openPortal: (customer) =>
      ask('the portal', async () => (await stripe.billingPortal.sessions.create({ customer })).url),
    listRefunds: (intentId) =>
      ask('refunds', async () => {
        const { data } = await stripe.refunds.list({ payment_intent: intentId, limit: REFUNDS_LISTED });
        return data.map(({ id, amount, status }) => {
          return { id, amountCents: amount, isGiven: status !== 'failed' && status !== 'canceled' };
        });
      }),
    listDisputes: (intentId) => ask('disputes', () => listDisputes(stripe, intentId)),
    readEvent: async (message) => readStripeEvent(stripe, webhookSecret, message),
  };
}

async function listDisputes(stripe: Stripe, intentId: string): Promise<Dispute[]> {
  const params = { payment_intent: intentId, limit: DISPUTES_LISTED, expand: ['data.payment_intent'] };
  const { data } = await stripe.disputes.list(params);
  return data.map(({ id, amount, currency, balance_transactions: moves, payment_intent: intent }) => ({
    id,
    amountCents: amount,
    currency,
    label: typeof intent === 'object' && intent !== null ? labelOf(intent) : undefined,
    isWithdrawn: moves.some((move) => move.amount < 0),
    isReinstated: moves.some((move) => move.amount > 0),
  }));
}

function metadataOf({ organizationId, paymentId }: PaymentLabel) {
  return { ironcraft_organization: organizationId, ironcraft_payment: paymentId };
}

type PageParams = Pick<Stripe.Checkout.SessionCreateParams, 'mode' | 'line_items' | 'payment_intent_data'>;

function paymentOf({ amountCents, currency, label }: PageRequest & Amount): PageParams {
  const price = { currency, unit_amount: amountCents, product_data: { name: 'Credits' } };
  return {
    mode: 'payment',
    line_items: [{ quantity: 1, price_data: price }],
    // Its charge has them too, so that a refund tells whose it is.
    payment_intent_data: { metadata: metadataOf(label) },
  };
}

async function openPage(stripe: Stripe, request: PageRequest, params: PageParams): Promise<PaymentPage> {
  const { idempotencyKey, label, customerId, currency, returnUrl } = request;
  const { id, url } = await stripe.checkout.sessions.create(
    {
      ...params,
      ...(params.mode === 'setup' ? { currency } : {}),
      // Paid at once or not at all: a session that is complete is paid.
      allowed_payment_method_types: ['card'],
      customer: customerId,
      success_url: withSessionId(returnUrl),
      cancel_url: returnUrl,
      metadata: metadataOf(label),
    },
    { idempotencyKey },
  );
  if (url === null) throw new Error('Stripe gave no address of its page');
  return { sessionId: id, url };
}

/** Stripe fills the braces in as it leads back: `confirm` takes what stands there. */
function withSessionId(returnUrl: string): string {
  const [address = '', fragment] = returnUrl.split('#', 2);
  const place = `${address}${address.includes('?') ? '&' : '?'}session_id={CHECKOUT_SESSION_ID}`;
  return fragment === undefined ? place : `${place}#${fragment}`;
}

async function findPage(stripe: Stripe, sessionId: string): Promise<PageState | undefined> {
  try {
    const session = await stripe.checkout.sessions.retrieve(sessionId, { expand: ['setup_intent'] });
    const { setup_intent: setup, status } = session;
    const isComplete = status === 'complete';
    return {
      status: isComplete ? 'complete' : status === 'expired' ? 'expired' : 'open',
      paymentStatus: session.payment_status,
      amountCents: session.amount_total,
      intentId: idOf(session.payment_intent),
      cardId: typeof setup === 'object' && setup !== null ? idOf(setup.payment_method) : null,
    };
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return undefined;
    throw error;
  }
}

function idOf(reference: string | { readonly id: string } | null): string | null {
  return typeof reference === 'object' ? (reference?.id ?? null) : reference;
}

async function charge(stripe: Stripe, logger: Logger, clock: Clock, request: ChargeRequest): Promise<ChargeOutcome> {
  try {
    const { idempotencyKey, requestedAt } = request;
    const made = isKeyForgotten(clock, requestedAt) ? await searchIntent(stripe, idempotencyKey) : undefined;
    const intent = made ?? (await createIntent(stripe, request));
    return 'kind' in intent ? intent : await settleIntent(stripe, intent);
  } catch (error) {
    reportStripeError(logger, error, 'a charge');
    return (await findCharge(stripe, logger, error, request)) ?? { kind: 'unknown' };
  }
}

type Intent = Pick<Stripe.PaymentIntent, 'id' | 'status'>;

/** That it is declined, where Stripe says so. A search or a cancelling that Stripe refuses says nothing of what was charged. */
async function createIntent(stripe: Stripe, request: ChargeRequest): Promise<Intent | ChargeOutcome> {
  try {
    return await requestIntent(stripe, request);
  } catch (error) {
    const declined = declineOf(error);
    if (declined === undefined) throw error;
    return declined;
  }
}

function requestIntent(stripe: Stripe, request: ChargeRequest): Promise<Intent> {
  const { amountCents, currency, customerId, cardId, idempotencyKey, label } = request;
  return stripe.paymentIntents.create(
    {
      amount: amountCents,
      currency,
      customer: customerId,
      payment_method: cardId,
      confirm: true,
      off_session: true,
      description: 'Credits',
      // Nobody can be led to another page.
      automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
      metadata: { ...metadataOf(label), [CHARGE_KEY]: idempotencyKey },
    },
    { idempotencyKey },
  );
}

/** The answer to a repeated call is the first one's, so that everything but success is looked up as it is by now. */
async function settleIntent(stripe: Stripe, { id, status }: Intent): Promise<ChargeOutcome> {
  if (status === 'succeeded') return { kind: 'succeeded', intentId: id };
  const current = await stripe.paymentIntents.retrieve(id);
  switch (current.status) {
    case 'succeeded':
      return { kind: 'succeeded', intentId: id };
    case 'processing':
      return { kind: 'unknown' };
    case 'canceled':
      return NOT_PRESENT;
    default:
      // Nobody can pay it after this, and Stripe refuses it for one that was paid meanwhile.
      await stripe.paymentIntents.cancel(id);
      return current.status === 'requires_payment_method' ? declined('The card was declined.') : NOT_PRESENT;
  }
}

const NOT_PRESENT = declined('The bank wants the card’s holder to confirm this payment, and nobody is present.');

function declined(reason: string, cardIsGone = false): ChargeOutcome {
  return { kind: 'declined', reason, cardIsGone };
}

/** Undefined where it is not certain that nothing was charged. */
function declineOf(error: unknown): ChargeOutcome | undefined {
  if (error instanceof Stripe.errors.StripeCardError) {
    return declined(error.message === '' ? 'The card was declined.' : error.message);
  }
  if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) return undefined;
  if (error.code === 'resource_missing' || error.param === 'payment_method') {
    return declined('The saved card is not there any more.', true);
  }
  return declined(`The payment service refused the charge: ${error.message}`);
}

/** Undefined: there is none, or it is not there yet. */
async function findCharge(
  stripe: Stripe,
  logger: Logger,
  error: unknown,
  { idempotencyKey }: ChargeRequest,
): Promise<ChargeOutcome | undefined> {
  if (!isKeptUnderKey(error)) return undefined;
  try {
    const intent = await searchIntent(stripe, idempotencyKey);
    return intent === undefined ? undefined : await settleIntent(stripe, intent);
  } catch (searchError) {
    reportStripeError(logger, searchError, 'the search for a charge');
    return undefined;
  }
}

function refusalOf(logger: Logger, what: string, error: unknown): ApiError {
  if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code?.startsWith('amount_') === true) {
    return new ApiError('invalid_amount', { param: 'amount_cents', cause: error });
  }
  reportStripeError(logger, error, what);
  return new ApiError('stripe_error', { cause: error });
}
