/** The payment provider of a configuration: Stripe where there is a key, and none otherwise. */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { StripeAccount } from '../../../kernel/stripe/connect-stripe.ts';
import type { Payments } from './payments.ts';
import { unconfiguredPayments } from './unconfigured-payments.ts';

export interface OpenPaymentsOptions {
  readonly secretKey: string | undefined;
  /** Default: Stripe's. */
  readonly apiUrl?: string | undefined;
  /** Of the payment provider's webhook endpoint; absent: no event is believed. */
  readonly webhookSecret?: string | undefined;
  /** Where the payment provider's page leads once a top-up is paid. */
  readonly returnUrl: string;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** Loads Stripe's package only where it is used: it is large. */
export async function openPayments({ secretKey, apiUrl, ...rest }: OpenPaymentsOptions): Promise<Payments> {
  if (secretKey === undefined) return unconfiguredPayments;
  const { createStripePayments } = await import('./stripe-payments.ts');
  return createStripePayments({ secretKey, ...(apiUrl === undefined ? {} : { apiUrl }), ...rest });
}

/** Whether the payment provider takes the key. Throws the obstacle. */
export async function tryCardPayments(account: StripeAccount): Promise<void> {
  const { tryStripe } = await import('../../../kernel/stripe/connect-stripe.ts');
  await tryStripe(account);
}
