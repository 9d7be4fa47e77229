/** What Stripe's errors say about a payment: that it was declined, and why, or nothing. */
import Stripe from 'stripe';
import type { PaymentFailure } from './payments.ts';

/**
 * Why nothing was charged; undefined where that is not certain. A refused key (401, 403), a full hour (429) or a key in use
 * (409) say nothing of an earlier call with the same idempotency key, so they are not certain either.
 */
export function failureOf(error: unknown): PaymentFailure | undefined {
  if (error instanceof Stripe.errors.StripeCardError) {
    const { code, decline_code: declineCode, message } = error;
    const isAuthentication = code === 'authentication_required' || declineCode === 'authentication_required';
    return { kind: isAuthentication ? 'authentication_required' : 'card_declined', message: shown(message) };
  }
  if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) return undefined;
  const { code, param } = error;
  if (code === 'charge_disputed' || code === 'refund_disputed_payment') {
    return { kind: 'charge_disputed', message: 'The payment is disputed at the bank, so the card takes no refund.' };
  }
  if (code?.startsWith('amount_') || param === 'amount') {
    return {
      kind: 'invalid_amount',
      message: 'The payment provider does not take this amount. It takes 0.50 EUR and more.',
    };
  }
  return {
    kind: 'invalid_instrument',
    message: 'The payment provider does not know this instrument, or it is used up, revoked or of another account.',
  };
}

/** A call with the same key is under way, perhaps another process's: what comes of that is the answer, under this key alone. */
export function isKeyInUse(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeError && error.code === 'idempotency_key_in_use';
}

/** Stripe writes these for the card's holder. */
function shown(message: string): string {
  return message === '' ? 'The card was declined.' : message;
}
