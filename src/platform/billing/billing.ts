/** What wallets need of the configuration, put together. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { BillingConfig } from '../../kernel/config/config.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { type Credits, createCredits } from './credits.ts';
import { checkCurrency } from './ledger.ts';
import { createPaymentsOpener } from './payments/open-payments.ts';
import type { PaymentWorkerDependencies } from './payments/payment-worker.ts';

export interface Billing extends PaymentWorkerDependencies {
  /** Who may run, and what it costs the wallet. */
  readonly credits: Credits;
  /** Whether cards can be charged. */
  readonly takesCards: boolean;
}

/** Throws where wallets hold another currency than the configuration's. */
export async function createBilling(
  config: BillingConfig,
  { db, clock, logger }: { readonly db: Database; readonly clock: Clock; readonly logger: Logger },
): Promise<Billing> {
  const { currency, starterCents, stripeKey } = config;
  await checkCurrency(db, currency);
  return {
    db,
    clock,
    logger,
    currency,
    starterCents,
    drawsCredits: config.mode === 'credits',
    credits: createCredits(db, config.mode === 'credits' ? config : undefined),
    takesCards: stripeKey !== undefined,
    openPayments: createPaymentsOpener({
      secretKey: stripeKey,
      apiUrl: config.stripeUrl,
      webhookSecret: config.stripeWebhookSecret,
      logger,
      clock,
    }),
  };
}
