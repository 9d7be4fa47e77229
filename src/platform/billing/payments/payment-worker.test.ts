/** Payments that no request waits for, with a clock of the test's own. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startStripe } from '../../../../test/fakes/stripe-server.ts';
import { openTestDatabase } from '../../../../test/support/database.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { auditWallets } from '../audit.ts';
import { readAutoreload, updateAutoreload } from '../autoreload.ts';
import { createBilling } from '../billing.ts';
import { book, listLedger, readBalance } from '../ledger.ts';
import { chargePayment, reloadWallet } from './charge-card.ts';
import { confirmPage, openPage } from './pages.ts';
import { insertPayment } from './payment.ts';
import { lookUpPayments, reloadWallets } from './payment-worker.ts';
import { receiveEvent } from './receive-event.ts';

const stripe = await startStripe();
const { db, close } = await openTestDatabase();
const clock = createManualClock(new Date('2026-11-22T12:00:00Z'));
const settings = loadConfig({
  IRONCRAFT_BILLING: 'credits',
  IRONCRAFT_STRIPE_KEY: stripe.secretKey,
  IRONCRAFT_STRIPE_URL: stripe.url,
}).billing;
const billing = await createBilling(settings, { db, clock, logger: openTestLogger() });
after(async () => {
  assert.deepEqual(await auditWallets(db), []);
  await close();
  await stripe.close();
});

const HOUR_MS = 3_600_000;

async function makeWallet(behaviour?: string) {
  const organizationId = mintId('org');
  await db.query({ text: 'insert into organizations (id, name) values ($1, $1)', values: [organizationId] });
  if (behaviour === undefined) return { organizationId, cardId: '' };
  const sessionId = await open(organizationId, 0);
  const card = stripe.saveCard(sessionId, behaviour);
  await confirmPage(billing, { organizationId, sessionId });
  return { organizationId, cardId: card.id };
}

async function open(organizationId: string, amountCents: number, key?: string): Promise<string> {
  const request = key === undefined ? undefined : { key, fingerprint: String(amountCents) };
  const page = { organizationId, currency: 'eur', returnUrl: 'https://example.com/', request };
  const url = await openPage(billing, { ...page, kind: amountCents === 0 ? 'setup' : 'checkout', amountCents });
  return new URL(url).pathname.split('/').at(-1) ?? '';
}

async function move(organizationId: string, amountCents: number): Promise<void> {
  const adjustment = { organizationId, kind: 'adjustment', currency: 'eur', description: '' } as const;
  await db.transaction((tx) => book(tx, { ...adjustment, amountCents, reference: mintId('adj') }));
}

async function kindsOf(organizationId: string): Promise<string[]> {
  return (await listLedger(db, organizationId, { limit: 50 })).map(({ kind }) => kind);
}

const balanceOf = async (organizationId: string) => (await readBalance(db, organizationId)).balance_cents;

describe('automatic reloads', () => {
  const reloading = { enabled: true, thresholdCents: 500, amountCents: 1_000 };

  test('charge once for each time that the threshold is reached, however many look', async () => {
    const { organizationId } = await makeWallet('pm_card_visa');
    await move(organizationId, 501);
    await updateAutoreload(db, organizationId, reloading);
    await reloadWallets(billing);
    assert.equal(await balanceOf(organizationId), 501, 'it is above the threshold');
    const net = stripe.netCents();
    await move(organizationId, -1);
    await Promise.all(Array.from({ length: 6 }, () => reloadWallets(billing)));
    assert.equal(await balanceOf(organizationId), 1_500);
    assert.equal(stripe.netCents() - net, 1_000);
    await move(organizationId, -1_000);
    await reloadWallets(billing);
    await reloadWallets(billing);
    assert.equal(await balanceOf(organizationId), 1_500);
    assert.deepEqual((await kindsOf(organizationId)).filter((kind) => kind === 'autoreload').length, 2);
    await updateAutoreload(db, organizationId, { ...reloading, enabled: false });
    await move(organizationId, -1_400);
    await reloadWallets(billing);
    assert.equal(await balanceOf(organizationId), 100);
  });

  test('wait longer after each decline, say so, and go on with another card', async () => {
    const { organizationId, cardId } = await makeWallet('pm_card_chargeDeclined');
    await updateAutoreload(db, organizationId, reloading);
    const attempts = () => stripe.requests.filter(({ body }) => body.payment_method === cardId).length;
    for (const [declines, hours] of [1, 6, 24, 72, 72].entries()) {
      await reloadWallets(billing);
      assert.equal(attempts(), declines + 1);
      const { paused_until, last_failure } = await readAutoreload(db, organizationId);
      assert.equal(paused_until?.getTime(), clock.now().getTime() + hours * HOUR_MS);
      assert.equal(last_failure, 'Your card was declined.');
      clock.advance(hours * HOUR_MS - 1);
      await reloadWallets(billing);
      assert.equal(attempts(), declines + 1, 'it waits');
      clock.advance(1);
    }
    const sessionId = await open(organizationId, 0);
    stripe.saveCard(sessionId);
    await confirmPage(billing, { organizationId, sessionId });
    await reloadWallets(billing);
    assert.equal(await balanceOf(organizationId), 1_000);
    assert.deepEqual(await readAutoreload(db, organizationId), {
      enabled: true,
      threshold_cents: 500,
      amount_cents: 1_000,
      paused_until: null,
      last_failure: null,
    });
  });

  test('that a dead replica has begun are finished by another, and charged once', async () => {
    const { organizationId, cardId } = await makeWallet('pm_card_visa');
    await updateAutoreload(db, organizationId, reloading);
    const net = stripe.netCents();
    const wanted = { organizationId, kind: 'autoreload', amountCents: 1_000, currency: 'eur', cardId } as const;
    const begun = await insertPayment(db, clock, wanted);
    assert.ok(begun);
    // It had charged, and died before it wrote that down.
    stripe.failNext('drop_after', 'drop_after');
    assert.equal((await chargePayment(billing, begun)).state, 'open');
    await reloadWallets(billing);
    await lookUpPayments(billing);
    assert.equal(await balanceOf(organizationId), 0, 'its lease is not over');
    clock.advance(60_000);
    await Promise.all([lookUpPayments(billing), lookUpPayments(billing), reloadWallets(billing)]);
    assert.equal(await balanceOf(organizationId), 1_000);
    assert.equal(stripe.netCents() - net, 1_000);
  });

  test('of a wallet without a card wait until one is saved', async () => {
    const { organizationId } = await makeWallet();
    await updateAutoreload(db, organizationId, reloading);
    await reloadWallets(billing);
    assert.equal(await balanceOf(organizationId), 0);
    const sessionId = await open(organizationId, 0);
    stripe.saveCard(sessionId);
    await confirmPage(billing, { organizationId, sessionId });
    await reloadWallets(billing);
    assert.equal(await balanceOf(organizationId), 1_000);
  });

  test('of a card that is gone stop', async () => {
    const { organizationId, cardId } = await makeWallet('pm_card_visa');
    stripe.savedCards.set(cardId, { id: cardId, customer: 'cus_other', behaviour: 'pm_card_visa' });
    await updateAutoreload(db, organizationId, reloading);
    await reloadWallets(billing);
    assert.equal((await readAutoreload(db, organizationId)).last_failure, 'The saved card is not there any more.');
    await assert.rejects(
      reloadWallet(billing, { organizationId, amountCents: 500, currency: 'eur', request: undefined }),
      { code: 'no_saved_card' },
    );
  });
});

test('an organization that is renamed after the answer about its customer was lost can pay', async () => {
  const { organizationId } = await makeWallet();
  stripe.failNext('drop_after', 'drop_after');
  await assert.rejects(open(organizationId, 300), { code: 'stripe_error' });
  await db.query({ text: `update organizations set name = 'Renamed' where id = $1`, values: [organizationId] });
  stripe.paySession(await open(organizationId, 300));
});

describe('a payment without an outcome', () => {
  test('is found by the worker when nobody confirms it and no event comes', async () => {
    const { organizationId } = await makeWallet();
    const sessionId = await open(organizationId, 700);
    clock.advance(60_000);
    await lookUpPayments(billing);
    assert.equal(await balanceOf(organizationId), 0);
    stripe.paySession(sessionId);
    clock.advance(2 * 60_000);
    await Promise.all([lookUpPayments(billing), lookUpPayments(billing)]);
    assert.equal(await balanceOf(organizationId), 700);
  });

  test('of a charge that Stripe has forgotten the key of is searched for, and charged once', async () => {
    const { organizationId } = await makeWallet('pm_card_visa');
    const net = stripe.netCents();
    stripe.failNext('drop_after', 'drop_after');
    const asked = { organizationId, amountCents: 800, currency: 'eur', request: undefined };
    assert.deepEqual(await reloadWallet(billing, asked), { credited: false, payment_status: 'processing' });
    stripe.forgetKeys();
    clock.advance(25 * HOUR_MS);
    await lookUpPayments(billing);
    assert.equal(await balanceOf(organizationId), 800);
    assert.equal(stripe.netCents() - net, 800);
  });

  test('of a charge that Stripe refuses to search for stays without one', async () => {
    const { organizationId } = await makeWallet('pm_card_visa');
    stripe.failNext('drop_after', 'drop_after');
    await reloadWallet(billing, { organizationId, amountCents: 800, currency: 'eur', request: undefined });
    stripe.forgetKeys();
    clock.advance(25 * HOUR_MS);
    stripe.failNext('refuse');
    await lookUpPayments(billing);
    assert.equal(await balanceOf(organizationId), 0);
    clock.advance(3 * HOUR_MS);
    await lookUpPayments(billing);
    assert.equal(await balanceOf(organizationId), 800);
  });

  test('expires with its page, or two days after it was begun', async () => {
    const { organizationId } = await makeWallet();
    const sessionId = await open(organizationId, 700);
    stripe.failNext('drop_before', 'drop_before');
    await assert.rejects(open(organizationId, 900), { code: 'stripe_error' });
    stripe.expireSession(sessionId);
    const states = async () => {
      const { rows } = await db.query<{ state: string }>({
        text: 'select state from wallet_payments where organization_id = $1 order by id',
        values: [organizationId],
      });
      return rows.map(({ state }) => state);
    };
    clock.advance(HOUR_MS);
    await lookUpPayments(billing);
    assert.deepEqual(await states(), ['expired', 'open']);
    clock.advance(48 * HOUR_MS);
    await lookUpPayments(billing);
    assert.deepEqual(await states(), ['expired', 'expired']);
    assert.equal(await balanceOf(organizationId), 0);
  });

  test('whose page is opened late, with the caller’s key, is credited when that page is paid', async () => {
    const { organizationId } = await makeWallet('pm_card_visa');
    stripe.failNext('drop_after', 'drop_after');
    await assert.rejects(open(organizationId, 900, 'late'), { code: 'stripe_error' });
    const [lost] = [...stripe.sessions.keys()].slice(-1);
    assert.ok(lost);
    stripe.expireSession(lost);
    stripe.forgetKeys();
    clock.advance(49 * HOUR_MS);
    await lookUpPayments(billing);
    const sessionId = await open(organizationId, 900, 'late');
    assert.notEqual(sessionId, lost);
    await lookUpPayments(billing);
    stripe.paySession(sessionId);
    clock.advance(10 * HOUR_MS);
    await lookUpPayments(billing);
    assert.equal(await balanceOf(organizationId), 900);
  });

  test('does not expire while Stripe takes money on its page', async () => {
    const { organizationId } = await makeWallet('pm_card_visa');
    stripe.failNext('drop_before', 'drop_before');
    await assert.rejects(open(organizationId, 600, 'slow'), { code: 'stripe_error' });
    clock.advance(47 * HOUR_MS);
    const sessionId = await open(organizationId, 600, 'slow');
    clock.advance(2 * HOUR_MS);
    await lookUpPayments(billing);
    stripe.paySession(sessionId);
    const confirmed = await confirmPage(billing, { organizationId, sessionId });
    assert.deepEqual(confirmed, { credited: true, payment_status: 'paid' });
    assert.equal(await balanceOf(organizationId), 600);
  });

  test('does not expire with a page that its caller never got', async () => {
    const { organizationId } = await makeWallet('pm_card_visa');
    stripe.failNext('drop_after', 'drop_after');
    await assert.rejects(open(organizationId, 400, 'twice'), { code: 'stripe_error' });
    const [lost] = [...stripe.sessions.values()].slice(-1);
    assert.ok(lost);
    stripe.forgetKeys();
    clock.advance(25 * HOUR_MS);
    const sessionId = await open(organizationId, 400, 'twice');
    stripe.expireSession(lost.id);
    const { ironcraft_organization, ironcraft_payment: paymentId = '' } = lost.metadata;
    assert.equal(ironcraft_organization, organizationId);
    const label = { organizationId, paymentId };
    const type = 'checkout.session.expired';
    await receiveEvent(billing, { id: mintId('evt'), type, kind: 'page', label, sessionId: lost.id });
    stripe.paySession(sessionId);
    await confirmPage(billing, { organizationId, sessionId });
    assert.equal(await balanceOf(organizationId), 400);
  });
});
