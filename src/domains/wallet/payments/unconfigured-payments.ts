/** What there is without a payment provider: every payment is refused, and says why. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { PaymentFailure, Payments } from './payments.ts';

const failure: PaymentFailure = {
  kind: 'payments_unconfigured',
  message: 'This server takes no cards. Pay from the wallet; the operator of this server can top it up.',
};

export const unconfiguredPayments: Payments = {
  isConfigured: false,
  charge: async () => ({ kind: 'declined', failure }),
  refund: async () => ({ kind: 'declined', failure }),
  async openTopUp() {
    throw new ApiError('payment_failed', { message: failure.message, details: { kind: failure.kind } });
  },
  async openCardPage() {
    throw new ApiError('payment_failed', { message: failure.message, details: { kind: failure.kind } });
  },
  async lookUpCardPage(reference) {
    throw new Error(`the page ${reference} cannot be looked up: no payment provider is configured`);
  },
  async forgetCard() {
    throw new ApiError('payment_failed', { message: failure.message, details: { kind: failure.kind } });
  },
  readEvent() {
    throw new ApiError('not_found', { message: failure.message });
  },
  async listDisputes(intent) {
    throw new Error(`the charge ${intent} cannot be looked up: no payment provider is configured`);
  },
  async listPages(intent) {
    throw new Error(`the charge ${intent} cannot be looked up: no payment provider is configured`);
  },
  async lookUpTopUp(reference) {
    throw new Error(`the top-up ${reference} cannot be looked up: no payment provider is configured`);
  },
};
