/** What Stripe says of disputes: that there is news of one, by its webhook, and what they are, when it is asked. */
import Stripe from 'stripe';
import { ApiError } from '../../../kernel/http/errors.ts';
import { CHARGE_KEY } from '../../../kernel/stripe/charge-key.ts';
import type { Dispute, PaymentEvent, SignedMessage } from './payments.ts';

/** Older signatures are a replay. Stripe's own default. */
const TOLERANCE_SECONDS = 300;
const LISTED = 100;

/** Throws `bad_request` where Stripe has not signed it, and `not_found` without a secret. */
export function readStripeEvent(stripe: Stripe, secret: string | undefined, message: SignedMessage): PaymentEvent {
  const { bytes, signature, receivedAt } = message;
  if (secret === undefined) {
    throw new ApiError('not_found', {
      message:
        'No signature can be verified. Set IRONCRAFT_DOMAINS_STRIPE_WEBHOOK_SECRET to the secret of the webhook endpoint.',
    });
  }
  if (signature === undefined) {
    throw new ApiError('bad_request', { message: 'The call carries no `Stripe-Signature`. Only Stripe calls this.' });
  }
  try {
    const at = receivedAt.getTime();
    return describe(stripe.webhooks.constructEvent(bytes, signature, secret, TOLERANCE_SECONDS, undefined, at));
  } catch (error) {
    const isSignature = error instanceof Stripe.errors.StripeSignatureVerificationError;
    throw new ApiError('bad_request', {
      message: isSignature
        ? 'The signature does not match the body, or is too old. Check IRONCRAFT_DOMAINS_STRIPE_WEBHOOK_SECRET.'
        : 'The body is no event of Stripe.',
      cause: error,
    });
  }
}

function describe(event: Stripe.Event): PaymentEvent {
  const { id, type } = event;
  if (typeof id !== 'string' || typeof type !== 'string') throw new TypeError('an event has an id and a type');
  switch (event.type) {
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated': {
      const { payment_intent: intent } = event.data.object;
      const reference = typeof intent === 'object' ? intent?.id : intent;
      return reference === undefined ? { kind: 'other' } : { kind: 'dispute', intent: reference };
    }
    default:
      return { kind: 'other' };
  }
}

/** Of one intent, as they are now. Money that left and came back is told by Stripe's own bookings: an inquiry moves none. */
export async function listDisputes(stripe: Stripe, intent: string): Promise<Dispute[]> {
  const params = { payment_intent: intent, limit: LISTED, expand: ['data.payment_intent'] };
  const { data } = await stripe.disputes.list(params);
  return data.map(({ id, amount, balance_transactions: moves, currency, payment_intent: disputed, status }) => ({
    id,
    amountCents: amount,
    currency,
    isWithdrawn: moves.some((move) => move.amount < 0),
    isReinstated: moves.some((move) => move.amount > 0),
    isLost: status === 'lost',
    chargeKey: typeof disputed === 'object' ? disputed?.metadata[CHARGE_KEY] : undefined,
  }));
}

/** The pages on which this intent was paid: a top-up is known by its page. */
export async function listPages(stripe: Stripe, intent: string): Promise<string[]> {
  const { data } = await stripe.checkout.sessions.list({ payment_intent: intent });
  return data.map(({ id }) => id);
}
