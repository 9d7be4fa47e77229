/**
 * Payments by Stripe. A charge is one PaymentIntent in EUR, confirmed as it is made, off-session:
 *
 *   create ─▶ succeeded                                  the money is ours
 *          ─▶ requires_action and the like ─▶ cancelled  declined: off-session, so nobody can act
 *          ─▶ processing                                 unknown, until a later call finds it ended
 *          ─▶ 402 card_error                             declined
 *          ─▶ 400 invalid_request_error                  declined, before anything was done
 *          ─▶ no answer, 5xx, 409, 429, 401              unknown: an earlier call with the key may have charged
 *
 * `payment_method` is Stripe's parameter of that name. A shared payment token (agentic commerce: what an agent grants a
 * seller, `spt_…`) goes into `payment_method_data[shared_payment_granted_token]`, which is in the preview version of the
 * interface alone: https://docs.stripe.com/agentic-commerce/concepts/shared-payment-tokens
 */
import Stripe from 'stripe';
import { type Clock, systemClock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { CHARGE_KEY, isKeptUnderKey, isKeyForgotten, searchIntent } from '../../../kernel/stripe/charge-key.ts';
import { connectStripe, type StripeAccount } from '../../../kernel/stripe/connect-stripe.ts';
import { reportStripeError } from '../../../kernel/stripe/report-error.ts';
import type {
  CardPage,
  CardPageRequest,
  CardPageState,
  ChargeOutcome,
  ChargeRequest,
  PaymentFailure,
  Payments,
  RefundOutcome,
  RefundRequest,
  TopUpRequest,
} from './payments.ts';
import { listDisputes, listPages, readStripeEvent } from './stripe-disputes.ts';
import { failureOf, isKeyInUse } from './stripe-errors.ts';

const SHARED_TOKEN_VERSION = '2026-04-22.preview';
/** Refunds of one charge, in a page. */
const LISTED = 100;
export interface StripePaymentsOptions extends StripeAccount {
  /** Absent: no event is believed. */
  readonly webhookSecret?: string | undefined;
  /** Where the checkout page leads afterwards. */
  readonly returnUrl: string;
  readonly logger: Logger;
  /** Default: the system's, by which Stripe forgets keys. */
  readonly clock?: Clock;
}

export function createStripePayments(options: StripePaymentsOptions): Payments {
  const { logger, clock = systemClock, returnUrl } = options;
  // A charge takes three calls at most, within the lease of an order. A longer one is repeated with its key.
  const stripe = connectStripe(options);
  return {
    isConfigured: true,
    charge: (request) => charge(stripe, logger, clock, request),
    refund: (request) => refund(stripe, logger, clock, request),
    async openTopUp(request) {
      try {
        const { id, url } = await createSession(stripe, returnUrl, request);
        if (url === null) throw new Error('Stripe gave no address of its checkout page');
        return { reference: id, url };
      } catch (error) {
        throw refusalOf(logger, error);
      }
    },
    async lookUpTopUp(reference) {
      const { status, payment_status } = await stripe.checkout.sessions.retrieve(reference);
      if (payment_status === 'paid') return 'paid';
      return status === 'expired' ? 'expired' : 'open';
    },
    async openCardPage(request) {
      try {
        return await openCardPage(stripe, returnUrl, request);
      } catch (error) {
        throw refusalOf(logger, error);
      }
    },
    lookUpCardPage: (reference) => lookUpCardPage(stripe, reference),
    async forgetCard(card) {
      try {
        await stripe.paymentMethods.detach(card);
      } catch (error) {
        // It is not there any more, or nobody's.
        if (error instanceof Stripe.errors.StripeInvalidRequestError) return;
        throw refusalOf(logger, error);
      }
    },
    readEvent: (message) => readStripeEvent(stripe, options.webhookSecret, message),
    listDisputes: (intent) => listDisputes(stripe, intent),
    listPages: (intent) => listPages(stripe, intent),
  };
}

async function charge(stripe: Stripe, logger: Logger, clock: Clock, request: ChargeRequest): Promise<ChargeOutcome> {
  try {
    const { idempotencyKey, requestedAt } = request;
    const isForgotten = requestedAt !== undefined && isKeyForgotten(clock, requestedAt);
    const made = isForgotten ? await searchIntent(stripe, idempotencyKey) : undefined;
    if (made !== undefined) return await settleIntent(stripe, logger, made);
  } catch (error) {
    reportStripeError(logger, error, 'the search for a charge');
    return { kind: 'unknown', reason: reasonOf(error) };
  }
  let created: Intent;
  try {
    created = await createIntent(stripe, request);
  } catch (error) {
    const failure = failureOf(error);
    if (failure !== undefined) return { kind: 'declined', failure };
    reportStripeError(logger, error, 'a charge');
    return (await findCharge(stripe, logger, error, request)) ?? { kind: 'unknown', reason: reasonOf(error) };
  }
  return settleIntent(stripe, logger, created);
}

type Intent = Pick<Stripe.PaymentIntent, 'id' | 'status'>;

async function createIntent(stripe: Stripe, request: ChargeRequest): Promise<Intent> {
  const { amountCents, description, idempotencyKey, instrument } = request;
  const common = {
    amount: amountCents,
    currency: 'eur',
    confirm: true,
    description,
    metadata: { ...request.metadata, [CHARGE_KEY]: idempotencyKey },
  };
  if (instrument.kind !== 'shared_payment_token') {
    return stripe.paymentIntents.create(
      {
        ...common,
        payment_method: instrument.value,
        // A saved card is charged as its owner's alone.
        ...(instrument.kind === 'saved_card' ? { customer: instrument.customer } : {}),
        off_session: true,
        // Nobody can be led to another page.
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
      },
      { idempotencyKey },
    );
  }
  const answer: unknown = await stripe.rawRequest(
    'POST',
    '/v1/payment_intents',
    { ...common, payment_method_data: { shared_payment_granted_token: instrument.value } },
    { idempotencyKey, apiVersion: SHARED_TOKEN_VERSION },
  );
  return readIntent(answer);
}

/** The preview version has no types. */
function readIntent(answer: unknown): Intent {
  if (typeof answer !== 'object' || answer === null || !('id' in answer) || !('status' in answer)) {
    throw new Error('Stripe answered no PaymentIntent');
  }
  // Any status that is not known here is looked up again, typed.
  return { id: String(answer.id), status: String(answer.status) as Intent['status'] };
}

/**
 * The answer to a repeated call is the first one's, so that everything but success is looked up as it is now. There is an
 * intent by now: whatever goes wrong here, it may have been paid.
 */
async function settleIntent(stripe: Stripe, logger: Logger, created: Intent): Promise<ChargeOutcome> {
  if (created.status === 'succeeded') return { kind: 'succeeded', reference: created.id };
  try {
    const current = await stripe.paymentIntents.retrieve(created.id);
    switch (current.status) {
      case 'succeeded':
        return { kind: 'succeeded', reference: current.id };
      case 'processing':
        return { kind: 'unknown', reason: 'the payment is being processed' };
      case 'canceled':
        return { kind: 'declined', failure: notPresent };
      default:
        // Nobody can pay it after this, and Stripe refuses it for one that was paid meanwhile.
        await stripe.paymentIntents.cancel(current.id);
        return { kind: 'declined', failure: current.status === 'requires_payment_method' ? refused : notPresent };
    }
  } catch (error) {
    reportStripeError(logger, error, 'a charge under way');
    return { kind: 'unknown', reason: reasonOf(error) };
  }
}

const refused: PaymentFailure = { kind: 'card_declined', message: 'The card was declined.' };
const notPresent: PaymentFailure = {
  kind: 'authentication_required',
  message: 'The bank wants the card’s holder to confirm this payment, and nobody is present. Use another instrument.',
};

/** Undefined: there is none, or it is not there yet. */
async function findCharge(
  stripe: Stripe,
  logger: Logger,
  error: unknown,
  { idempotencyKey }: ChargeRequest,
): Promise<ChargeOutcome | undefined> {
  if (!isKeptUnderKey(error) || isKeyInUse(error)) return undefined;
  try {
    const intent = await searchIntent(stripe, idempotencyKey);
    return intent === undefined ? undefined : await settleIntent(stripe, logger, intent);
  } catch (searchError) {
    reportStripeError(logger, searchError, 'the search for a charge');
    return undefined;
  }
}

async function refund(stripe: Stripe, logger: Logger, clock: Clock, request: RefundRequest): Promise<RefundOutcome> {
  const { id, attempt, reference, amountCents, requestedAt } = request;
  try {
    const mayBeThere = attempt > 0 || isKeyForgotten(clock, requestedAt);
    const made = mayBeThere ? await findRefund(stripe, request) : undefined;
    if (made !== undefined) return outcomeOf(made);
    const params = { payment_intent: reference, amount: amountCents, metadata: { [REFUND_ID]: id } };
    return outcomeOf(await stripe.refunds.create(params, { idempotencyKey: `${id}:refund:${attempt}` }));
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError && error.code === 'charge_already_refunded') {
      return { kind: 'succeeded', reference };
    }
    reportStripeError(logger, error, 'a refund');
    if (isKeptUnderKey(error) && !isKeyInUse(error)) return { kind: 'failed', reason: reasonOf(error) };
    const failure = failureOf(error);
    return failure === undefined ? { kind: 'unknown', reason: reasonOf(error) } : { kind: 'declined', failure };
  }
}

/** In a refund's metadata: our id of it. A key that Stripe keeps a failure of its own under does not tell what was done. */
const REFUND_ID = 'refund_id';

async function findRefund(stripe: Stripe, { id, reference }: RefundRequest): Promise<Stripe.Refund | undefined> {
  for await (const one of stripe.refunds.list({ payment_intent: reference, limit: LISTED })) {
    if (one.metadata?.[REFUND_ID] === id) return one;
  }
  return undefined;
}

function outcomeOf({ id, status }: Stripe.Refund): RefundOutcome {
  switch (status) {
    // A card's refund counts as done once Stripe has accepted it.
    case 'succeeded':
    case 'pending':
      return { kind: 'succeeded', reference: id };
    case 'requires_action':
      return { kind: 'unknown', reason: 'the refund waits for its receiver' };
    default:
      return { kind: 'declined', failure: { kind: 'invalid_instrument', message: 'The card takes no refund.' } };
  }
}

function createSession(stripe: Stripe, returnUrl: string, request: TopUpRequest) {
  const { idempotencyKey, amountCents, email, metadata } = request;
  return stripe.checkout.sessions.create(
    {
      mode: 'payment',
      // Paid at once or not at all: a session that is complete is paid.
      allowed_payment_method_types: ['card'],
      customer_email: email,
      success_url: returnUrl,
      line_items: [
        {
          quantity: 1,
          price_data: { currency: 'eur', unit_amount: amountCents, product_data: { name: 'Wallet top-up' } },
        },
      ],
      metadata: { ...metadata },
    },
    { idempotencyKey },
  );
}

async function openCardPage(stripe: Stripe, returnUrl: string, request: CardPageRequest): Promise<CardPage> {
  const { email, idempotencyKey, workspaceId } = request;
  const metadata = { workspace_id: workspaceId };
  const customer =
    request.customer ??
    (await stripe.customers.create({ email, metadata }, { idempotencyKey: `customer:${workspaceId}` })).id;
  const { id, url } = await stripe.checkout.sessions.create(
    {
      mode: 'setup',
      currency: 'eur',
      allowed_payment_method_types: ['card'],
      customer,
      success_url: returnUrl,
      metadata,
    },
    { idempotencyKey },
  );
  if (url === null) throw new Error('Stripe gave no address of its page');
  return { reference: id, url, customer };
}

async function lookUpCardPage(stripe: Stripe, reference: string): Promise<CardPageState> {
  const { setup_intent: setup, status } = await stripe.checkout.sessions.retrieve(reference, {
    expand: ['setup_intent'],
  });
  const method = typeof setup === 'object' ? setup?.payment_method : undefined;
  const card = typeof method === 'object' ? method?.id : method;
  if (status === 'complete' && card !== undefined) return { kind: 'saved', card };
  return { kind: status === 'expired' ? 'expired' : 'open' };
}

/** Why a top-up could not be opened, for its caller. */
function refusalOf(logger: Logger, error: unknown): ApiError {
  const failure = failureOf(error);
  if (failure?.kind === 'invalid_amount') {
    return new ApiError('payment_failed', { message: failure.message, details: { kind: failure.kind }, cause: error });
  }
  reportStripeError(logger, error, 'a top-up');
  return new ApiError('payment_failed', {
    message: 'The payment page could not be opened. Repeat the call, or leave the payment out and pay later.',
    details: { kind: failure?.kind ?? 'payment_service_unavailable' },
    cause: error,
  });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
