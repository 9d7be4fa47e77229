/** Payments that are disputed at the bank: the wallet follows the money. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Client, startPlatform } from '../../../../test/support/platform.ts';
import { auditWallets } from '../../billing/index.ts';

const platform = await startPlatform({ billing: { starterCents: 0 } });
const { stripe, db, url } = platform;
after(async () => {
  assert.deepEqual(await auditWallets(db), []);
  await platform.close();
});

const BILLING = '/v1/organization/billing';
const return_url = 'https://example.com/billing';

/** Somebody pays on the page; with `confirmed: false` nobody has heard of it yet. */
async function pay(amountCents: number, { confirmed = true } = {}): Promise<{ organization: Client; intent: string }> {
  const organization = (await platform.createOrganization()).client;
  const opened = await organization.post(`${BILLING}/checkout`, { return_url, amount_cents: amountCents });
  const session = new URL(opened.body.url).pathname.split('/').at(-1) ?? '';
  stripe.paySession(session);
  if (confirmed) await organization.post(`${BILLING}/confirm`, { session_id: session });
  return { organization, intent: stripe.sessions.get(session)?.payment_intent ?? assert.fail('nobody paid') };
}

/** The object as it was when the event was made; what it is now is asked of Stripe. */
async function send(type: string, dispute: object, id?: string): Promise<void> {
  const { body, headers } = stripe.signEvent(`charge.dispute.${type}`, dispute, id === undefined ? {} : { id });
  const response = await fetch(`${url}/v1/billing/stripe/webhook`, { method: 'POST', body, headers });
  assert.equal(response.status, 200, await response.text());
}

async function ledgerOf(organization: Client): Promise<[kind: string, cents: number][]> {
  const { body } = await organization.get(`${BILLING}/ledger`);
  return body.data.map(({ kind, amount_cents }: { kind: string; amount_cents: number }) => [kind, amount_cents]);
}

test('a disputed payment leaves the wallet once, and comes back once the dispute is won', async () => {
  const { organization, intent } = await pay(3_000);
  const dispute = stripe.dispute(intent, 2_000);
  await Promise.all(['created', 'funds_withdrawn', 'created'].map((type) => send(type, dispute)));
  await send('created', dispute, 'evt_twice');
  await send('created', dispute, 'evt_twice');
  const taken: [string, number][] = [
    ['dispute', -2_000],
    ['topup', 3_000],
  ];
  assert.deepEqual(await ledgerOf(organization), taken);
  stripe.closeDispute(dispute.id, 'won');
  await Promise.all(['closed', 'funds_reinstated', 'updated'].map((type) => send(type, dispute)));
  assert.deepEqual(await ledgerOf(organization), [['dispute', 2_000], ...taken]);
  assert.equal((await organization.get(`${BILLING}/balance`)).body.balance_cents, 3_000);
});

test('one that is lost stays away, also below zero; an inquiry takes nothing', async () => {
  const { organization, intent } = await pay(1_000);
  const inquiry = stripe.dispute(intent, 1_000, { isInquiry: true });
  await send('created', inquiry);
  stripe.closeDispute(inquiry.id, 'warning_closed');
  await send('closed', inquiry);
  assert.deepEqual(await ledgerOf(organization), [['topup', 1_000]]);
  stripe.refund(intent, 400);
  const { metadata } = stripe.intents.get(intent) ?? assert.fail();
  const { body, headers } = stripe.signEvent('charge.refunded', { id: 'ch_1', payment_intent: intent, metadata });
  await fetch(`${url}/v1/billing/stripe/webhook`, { method: 'POST', body, headers });
  const dispute = stripe.dispute(intent, 1_000);
  await send('funds_withdrawn', dispute);
  stripe.closeDispute(dispute.id, 'lost');
  await send('closed', dispute);
  assert.deepEqual(await ledgerOf(organization), [
    ['dispute', -1_000],
    ['refund', -400],
    ['topup', 1_000],
  ]);
  assert.equal((await organization.get(`${BILLING}/balance`)).body.balance_cents, -400);
});

test('events in any order give one balance, also where nobody has heard of the payment', async () => {
  const { organization, intent } = await pay(2_500, { confirmed: false });
  const before = structuredClone(stripe.dispute(intent, 2_600));
  stripe.closeDispute(before.id, 'won');
  await send('closed', before);
  await send('created', before);
  // A wallet gives back no more than it got.
  assert.deepEqual(await ledgerOf(organization), [
    ['dispute', 2_500],
    ['dispute', -2_500],
    ['topup', 2_500],
  ]);
});

test('switches automatic reloads off until the organization switches them on again', async () => {
  const { organization, intent } = await pay(2_000);
  const path = `${BILLING}/autoreload`;
  await organization.put(path, { enabled: true, threshold_cents: 100, amount_cents: 1_000 });
  const dispute = stripe.dispute(intent, 500);
  await send('created', dispute);
  const off = (await organization.get(path)).body;
  assert.equal(off.enabled, false);
  assert.match(off.last_failure, /disputed/);
  await organization.put(path, { enabled: true });
  await send('updated', dispute);
  assert.deepEqual(
    [(await organization.get(path)).body.enabled, (await organization.get(path)).body.last_failure],
    [true, null],
  );
});

test('of something else that the account sells, and of no payment at all, nothing is booked', async () => {
  await send('created', { id: 'dp_other', payment_intent: 'pi_other', metadata: {} });
  await send('created', { id: 'dp_none', payment_intent: null, metadata: {} });
});
