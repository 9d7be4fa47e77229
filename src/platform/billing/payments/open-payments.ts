/** The payment provider of a configuration, loaded when it is first asked: Stripe's package is large. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { StripeAccount } from '../../../kernel/stripe/connect-stripe.ts';
import type { CardPayments } from './card-payments.ts';
import type { StripeOptions } from './stripe-payments.ts';

/** Throws ApiError `stripe_unconfigured` where there is none. */
export type OpenPayments = () => Promise<CardPayments>;

export function createPaymentsOpener(
  options: Omit<StripeOptions, 'secretKey'> & { readonly secretKey: string | undefined },
): OpenPayments {
  const { secretKey } = options;
  if (secretKey === undefined) {
    return async () => {
      throw new ApiError('stripe_unconfigured');
    };
  }
  let opened: Promise<CardPayments> | undefined;
  return () => {
    opened ??= import('./stripe-payments.ts').then((module) => module.createStripePayments({ ...options, secretKey }));
    return opened;
  };
}

/** Whether the payment provider takes the key. Throws the obstacle. */
export async function tryCardPayments(account: StripeAccount): Promise<void> {
  const { tryStripe } = await import('../../../kernel/stripe/connect-stripe.ts');
  await tryStripe(account);
}
