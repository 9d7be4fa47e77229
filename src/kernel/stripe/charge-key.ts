/**
 * Stripe keeps an idempotency key for 24 hours. A charge that is repeated after that, by a server that was down meanwhile, is first searched for by
 * the key, which is in the intent's metadata too. https://docs.stripe.com/api/idempotent_requests
 */
import Stripe from 'stripe';
import type { Clock } from '../clock/clock.ts';

/** In an intent's metadata: the idempotency key of the charge that it is. */
export const CHARGE_KEY = 'charge_key';
/** An hour less than Stripe promises. */
const LIFETIME_MS = 23 * 3_600_000;

/** Whether Stripe may have forgotten the key of a charge that was first asked for at that time. */
export function isKeyForgotten(clock: Clock, requestedAt: Date): boolean {
  return clock.now().getTime() - requestedAt.getTime() > LIFETIME_MS;
}

/** The intent that a charge with the key has made. Stripe finds intents about a minute after they were made. */
export async function searchIntent(stripe: Stripe, key: string): Promise<Stripe.PaymentIntent | undefined> {
  const quoted = key.replaceAll(/["\\]/g, '\\$&');
  const { data } = await stripe.paymentIntents.search({ query: `metadata["${CHARGE_KEY}"]:"${quoted}"`, limit: 1 });
  return data[0];
}

/**
 * Stripe keeps a failure of its own under the key like any answer, and refuses a key whose parameters an update of this program changed: repeating
 * would always give the same answer, so the intent has to be searched for.
 */
export function isKeptUnderKey(error: unknown): boolean {
  const { StripeAPIError, StripeIdempotencyError } = Stripe.errors;
  return error instanceof StripeAPIError || error instanceof StripeIdempotencyError;
}
