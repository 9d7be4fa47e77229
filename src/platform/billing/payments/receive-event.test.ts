/** Events of Stripe that cross each other. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startStripe } from '../../../../test/fakes/stripe-server.ts';
import { openTestDatabase } from '../../../../test/support/database.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { auditWallets } from '../audit.ts';
import { createBilling } from '../billing.ts';
import { readBalance } from '../ledger.ts';
import { confirmPage, openPage } from './pages.ts';
import { receiveEvent } from './receive-event.ts';

const stripe = await startStripe();
const { db, close } = await openTestDatabase();
const settings = loadConfig({
  IRONCRAFT_BILLING: 'credits',
  IRONCRAFT_STRIPE_KEY: stripe.secretKey,
  IRONCRAFT_STRIPE_URL: stripe.url,
}).billing;
const billing = await createBilling(settings, { db, clock: systemClock, logger: openTestLogger() });
after(async () => {
  assert.deepEqual(await auditWallets(db), []);
  await close();
  await stripe.close();
});

/** A wallet into which an amount was paid, and what it was paid by. */
async function payIn(amountCents: number): Promise<{ organizationId: string; intentId: string }> {
  const organizationId = mintId('org');
  await db.query({ text: 'insert into organizations (id, name) values ($1, $1)', values: [organizationId] });
  const page = { organizationId, currency: 'eur', returnUrl: 'https://example.com/', request: undefined };
  const url = await openPage(billing, { ...page, kind: 'checkout', amountCents });
  const sessionId = new URL(url).pathname.split('/').at(-1) ?? '';
  stripe.paySession(sessionId);
  await confirmPage(billing, { organizationId, sessionId });
  return { organizationId, intentId: stripe.sessions.get(sessionId)?.payment_intent ?? assert.fail('it is not paid') };
}

test('a refund that the card does not take leaves the wallet as it was, though an older answer of Stripe comes after it', async () => {
  const { organizationId, intentId } = await payIn(1_000);
  const refund = stripe.refund(intentId, 400);
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow = {
    ...billing,
    openPayments: async () => {
      const payments = await billing.openPayments();
      return {
        ...payments,
        listRefunds: async (id: string) => {
          const refunds = await payments.listRefunds(id);
          asked.resolve();
          await goOn.promise;
          return refunds;
        },
      };
    },
  };
  const event = (type: string) => ({ id: mintId('evt'), type, kind: 'refund', label: undefined, intentId }) as const;
  const given = receiveEvent(slow, event('refund.created'));
  await asked.promise;
  stripe.failRefund(refund.id);
  await receiveEvent(billing, event('refund.failed'));
  goOn.resolve();
  await given;
  assert.equal((await readBalance(db, organizationId)).balance_cents, 1_000);
});
