/**
 * The domain service of `till-kill.soak.ts`, as a process that can be killed: all of its workers run, those that begin once a minute or later too,
 * by a clock that the test puts ahead. Argument: `TillSettings` as JSON. Messages of the parent: milliseconds to be ahead.
 */
import { createSecretKey } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { createSmtpMailer } from '../../src/domains/mail/index.ts';
import { sendExpiryNotices } from '../../src/domains/notices/index.ts';
import { issueReceipts } from '../../src/domains/receipts/index.ts';
import { settleTopUps } from '../../src/domains/wallet/index.ts';
import { createStripePayments } from '../../src/domains/wallet/payments/stripe-payments.ts';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { startDomains } from '../support/domains.ts';
import { standardPrices } from '../support/prices.ts';
import { takingPublisher } from '../support/taking-publisher.ts';
import { openTestLogger } from '../support/test-log.ts';

export interface TillSettings {
  readonly databaseUrl: string;
  /** Of the vault, in hex. */
  readonly key: string;
  readonly stripe: { readonly apiUrl: string; readonly secretKey: string; readonly webhookSecret: string };
  readonly mailUrl: string;
  readonly aheadMs: number;
}

const WORK_MS = 250;
/** Answers of Stripe come at once, or never. */
const TIMEOUT_MS = 5_000;

const { aheadMs, databaseUrl, key, mailUrl, stripe } = JSON.parse(process.argv[2] ?? '') as TillSettings;
let offsetMs = aheadMs;
process.on('message', (message) => {
  offsetMs = Number(message);
});
process.on('disconnect', () => process.exit());

const clock = { now: () => new Date(Date.now() + offsetMs) };
const logger = openTestLogger();
const db = await connectServer({ url: databaseUrl, poolSize: 6 });
const payments = createStripePayments({
  ...stripe,
  returnUrl: 'https://domains.example/api/v1/docs',
  logger,
  clock,
  timeoutMs: TIMEOUT_MS,
});
const mailer = createSmtpMailer(mailUrl, 'domains@example.com');
const { domains, registry, url } = await startDomains({
  clock,
  logger,
  payments,
  mailer,
  publisher: () => takingPublisher,
  sharing: { db, vault: createVault([createSecretKey(Buffer.from(key, 'hex'))]) },
});
process.send?.(url);

const shared = { db, clock, logger };
const seller = { lines: ['Example Registrar Ltd'], vatBasisPoints: 1_900 };
for (;;) {
  await settleTopUps({ ...shared, payments, onPaid: async () => undefined });
  await domains.renewals.runDue();
  await issueReceipts({ ...shared, seller });
  await sendExpiryNotices({ ...shared, mailer, prices: standardPrices, registry });
  await wait(WORK_MS);
}
