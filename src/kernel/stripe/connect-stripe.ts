/** A client of Stripe's interface, as both services use it: our keys, our repetitions, no telemetry. */
import Stripe from 'stripe';

/** The version that this code was written against; the package's types are of the same one. */
const API_VERSION = '2026-10-28.endive';
/** Of one call. */
const TIMEOUT_MS = 15_000;

export interface StripeAccount {
  readonly secretKey: string;
  /** Default: Stripe's. */
  readonly apiUrl?: string | undefined;
  readonly timeoutMs?: number;
}

export function connectStripe({ secretKey, apiUrl, timeoutMs = TIMEOUT_MS }: StripeAccount): Stripe {
  const url = apiUrl === undefined ? undefined : new URL(apiUrl);
  return new Stripe(secretKey, {
    apiVersion: API_VERSION,
    // Repeating is ours: with our key, and from our own record of the payment.
    maxNetworkRetries: 0,
    timeout: timeoutMs,
    telemetry: false,
    ...(url === undefined
      ? {}
      : {
          host: url.hostname,
          port: url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : url.port,
          protocol: url.protocol === 'http:' ? 'http' : 'https',
        }),
  });
}

/** Whether Stripe takes the key, for what charges need at least. Throws the obstacle. */
export async function tryStripe(account: StripeAccount): Promise<void> {
  await connectStripe(account).paymentIntents.list({ limit: 1 });
}
