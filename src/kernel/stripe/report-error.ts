/** Stripe's failures in the log. Its answers name no card; requests are not logged. */
import Stripe from 'stripe';
import type { Logger } from '../log/log.ts';

/** `what` was asked of Stripe, for people: a warning where repeating the call may bring an answer, an error otherwise. */
export function reportStripeError(logger: Logger, error: unknown, what: string): void {
  if (!(error instanceof Stripe.errors.StripeError)) {
    logger.error({ err: error }, `${what} at Stripe failed`);
    return;
  }
  const { type, code, statusCode, requestId, message } = error;
  const fields = { type, code, statusCode, requestId, reason: message };
  if (mayPass(error)) logger.warn(fields, `${what} at Stripe has no answer yet`);
  else logger.error(fields, `${what} at Stripe failed`);
}

function mayPass(error: unknown): boolean {
  const { StripeConnectionError, StripeAPIError, StripeRateLimitError } = Stripe.errors;
  return [StripeConnectionError, StripeAPIError, StripeRateLimitError].some((kind) => error instanceof kind);
}
