/** What Stripe's webhook says, once its signature is verified, as wallets understand it. */
import Stripe from 'stripe';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { PaymentEvent, PaymentLabel, SignedMessage } from './card-payments.ts';

/** Older signatures are a replay. Stripe's own default. */
const TOLERANCE_SECONDS = 300;

/** Throws `missing_signature`, `bad_signature`, `bad_webhook`, and `stripe_unconfigured` without a secret. */
export function readStripeEvent(stripe: Stripe, secret: string | undefined, message: SignedMessage): PaymentEvent {
  const { bytes, signature, receivedAt } = message;
  if (signature === undefined) {
    throw new ApiError('missing_signature', {
      message: 'The call carries no `Stripe-Signature`. Only Stripe calls this.',
    });
  }
  if (secret === undefined) {
    throw new ApiError('stripe_unconfigured', {
      message:
        'No signature can be verified. Set IRONCRAFT_STRIPE_WEBHOOK_SECRET to the secret of the webhook endpoint.',
    });
  }
  try {
    const at = receivedAt.getTime();
    return describe(stripe.webhooks.constructEvent(bytes, signature, secret, TOLERANCE_SECONDS, undefined, at));
  } catch (error) {
    const isSignature = error instanceof Stripe.errors.StripeSignatureVerificationError;
    const text = 'The signature does not match the body, or is too old. Check IRONCRAFT_STRIPE_WEBHOOK_SECRET.';
    throw isSignature
      ? new ApiError('bad_signature', { message: text, cause: error })
      : new ApiError('bad_webhook', { cause: error });
  }
}

function describe(event: Stripe.Event): PaymentEvent {
  const { id, type } = event;
  if (typeof id !== 'string' || typeof type !== 'string') throw new TypeError('an event has an id and a type');
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired':
      return { id, type, kind: 'page', label: labelOf(event.data.object), sessionId: event.data.object.id };
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
      return { id, type, kind: 'charge', label: labelOf(event.data.object) };
    case 'charge.refunded':
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
      return { id, type, kind: 'refund', label: labelOf(event.data.object), intentId: intentOf(event.data.object) };
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
      return { id, type, kind: 'dispute', intentId: intentOf(event.data.object) };
    case 'payment_method.detached':
      return { id, type, kind: 'card removed', cardId: event.data.object.id };
    case 'customer.updated': {
      // Whatever else has changed of a customer, the choice that stands there may be older than the card that was saved last.
      const isChosen = 'default_payment_method' in (event.data.previous_attributes?.invoice_settings ?? {});
      if (!isChosen) return { id, type, kind: 'other' };
      const chosen = event.data.object.invoice_settings?.default_payment_method ?? null;
      const cardId = typeof chosen === 'object' ? chosen?.id : chosen;
      if (cardId === undefined) return { id, type, kind: 'other' };
      return { id, type, kind: 'card chosen', customerId: event.data.object.id, cardId };
    }
    default:
      return { id, type, kind: 'other' };
  }
}

function intentOf({ payment_intent: intent }: { readonly payment_intent: string | { readonly id: string } | null }) {
  return typeof intent === 'object' ? (intent?.id ?? null) : intent;
}

/** Undefined: it is of something else that is sold by the same account. */
export function labelOf({ metadata }: { readonly metadata: Stripe.Metadata | null }): PaymentLabel | undefined {
  const { ironcraft_organization: organizationId, ironcraft_payment: paymentId } = metadata ?? {};
  return organizationId === undefined || paymentId === undefined ? undefined : { organizationId, paymentId };
}
