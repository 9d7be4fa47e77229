import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startStripe } from '../../../../test/fakes/stripe-server.ts';
import type { TestWorkspace } from '../../../../test/support/domains.ts';
import { DAY_MS, refusal, startOrders } from '../../../../test/support/orders.ts';
import { createLogger } from '../../../kernel/log/log.ts';
import type { Message } from '../../mail/index.ts';
import { issueReceipts } from '../../receipts/index.ts';
import { runAutoTopUps } from '../../wallet/index.ts';
import { createStripePayments } from '../../wallet/payments/stripe-payments.ts';

const MINUTE_MS = 60_000;
const stripe = await startStripe();
const logger = createLogger({ logLevel: 'silent' });
const returnUrl = 'https://domains.example/api/v1/docs';
const access = { secretKey: stripe.secretKey, apiUrl: stripe.url, returnUrl, logger };
// The server has no payment provider at work: each run is the test's own.
const service = await startOrders({ payments: { ...createStripePayments(access), isConfigured: false } });
const { clock, db } = service;
const payments = createStripePayments({ ...access, clock });
after(async () => {
  await service.close();
  await stripe.close();
});

const mails: Message[] = [];
let mailFailures = 0;
const mailer = {
  async send(message: Message) {
    if (mailFailures-- > 0) throw new Error('the mail server is away');
    mails.push(message);
  },
};
let woken = 0;
const run = () => runAutoTopUps({ db, payments, clock, logger, mailer, onPaid: async () => void ++woken });

async function saveCard(workspace: TestWorkspace, behaviour?: string): Promise<string> {
  const { status, body, text } = await workspace.post('/wallet/card', {});
  assert.equal(status, 201, text);
  const session = [...stripe.sessions.values()].find(({ url }) => url === body.url) ?? assert.fail();
  const { id } = stripe.saveCard(session.id, behaviour);
  clock.advance(MINUTE_MS);
  await run();
  return id;
}

const set = (workspace: TestWorkspace, settings: object) => workspace.put('/wallet/auto-top-up', settings);
const settingsOf = async (workspace: TestWorkspace) => (await workspace.reader.get('/wallet/auto-top-up')).body;

/** 30 EUR in the wallet; below 20 the card is charged with 50. */
async function prepare(behaviour?: string, monthlyLimit = 1_000): Promise<TestWorkspace> {
  const workspace = await service.fundedWorkspace(3_000);
  await saveCard(workspace, behaviour);
  const { status, text } = await set(workspace, {
    enabled: true,
    threshold: 20,
    amount: '50.00',
    monthly_limit: monthlyLimit,
  });
  assert.equal(status, 200, text);
  return workspace;
}

let names = 0;
const buy = (workspace: TestWorkspace) =>
  workspace.post('/domains', { domain: `auto-${process.pid}-${++names}.com`, confirm_price: 11.9 });

const intentsOf = ({ workspaceId }: TestWorkspace) =>
  [...stripe.intents.values()].filter(({ metadata }) => metadata.workspace_id === workspaceId);
const eventsOf = async (workspace: TestWorkspace, family: string) =>
  (await workspace.get('/events')).body.events
    .map(({ type }: { type: string }) => type)
    .filter((type: string) => type.startsWith(family));

describe('a wallet that falls below its threshold', () => {
  test('is topped up once with the saved card, and has a receipt', async () => {
    const workspace = await prepare();
    await run();
    assert.equal(intentsOf(workspace).length, 0, 'it is not low yet');
    assert.equal((await buy(workspace)).status, 201);
    await run();
    await run();
    assert.deepEqual(await service.balance(workspace), [3_000 - 1_190 + 5_000, 0]);
    assert.equal(intentsOf(workspace).length, 1);
    assert.deepEqual(await eventsOf(workspace, 'wallet.'), ['wallet.credited', 'wallet.low', 'wallet.credited']);
    assert.equal((await settingsOf(workspace)).charged_this_month, 50);
    assert.ok(woken > 0, 'what waits for money is told');
    await issueReceipts({ db, clock, seller: { lines: ['Example GmbH'], vatBasisPoints: 1_900 } });
    const [receipt] = (await workspace.get('/receipts')).body.receipts;
    assert.deepEqual([receipt.description, receipt.total_cents], ['Wallet top-up', 5_000]);
    await service.assertBooksAreRight();
  });

  test('is charged once by any number of orders and processes at the same time', async () => {
    const workspace = await prepare();
    await workspace.fund(21_000);
    assert.ok((await set(workspace, { enabled: true, threshold: 100, amount: 200 })).status === 200);
    const orders = Promise.all(Array.from({ length: 20 }, () => buy(workspace)));
    const runs = Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let times = 0; times < 5; times += 1) await run();
      }),
    );
    const [bought] = await Promise.all([orders, runs]);
    for (const { status, text } of bought) assert.equal(status, 201, text);
    await Promise.all([run(), run(), run(), run()]);
    assert.equal(intentsOf(workspace).length, 1);
    // A busy registry may have answered some of them with `Pending`.
    const [available] = await service.balance(workspace);
    assert.equal(available, 24_000 - 20 * 1_190 + 20_000);
    await service.assertBooksAreRight();
  });

  for (const fault of ['drop_before', 'drop_after', 'fail', 'unavailable'] as const) {
    test(`whose charge got no answer (${fault}) is charged once all the same`, async () => {
      const workspace = await prepare();
      await buy(workspace);
      // The client of the payment provider repeats a call by itself where a connection that it kept is cut off.
      stripe.failNext(...(fault.startsWith('drop') ? [fault, fault] : [fault]));
      await run();
      for (let minutes = 0; minutes < 3; minutes += 1) {
        clock.advance(MINUTE_MS);
        await Promise.all([run(), run()]);
      }
      assert.equal(intentsOf(workspace).length, 1);
      assert.deepEqual(await service.balance(workspace), [1_810 + 5_000, 0]);
      await service.assertBooksAreRight();
    });
  }

  test('whose answer was lost for longer than the payment provider keeps keys is charged once', async () => {
    const workspace = await prepare();
    await buy(workspace);
    stripe.failNext('drop_after', 'drop_after');
    await run();
    clock.advance(2 * DAY_MS);
    stripe.forgetKeys();
    await run();
    assert.equal(intentsOf(workspace).length, 1);
    assert.deepEqual(await service.balance(workspace), [1_810 + 5_000, 0]);
  });

  test('is charged no more than the month’s limit, which is told once; the next month has its own', async () => {
    const workspace = await prepare(undefined, 50);
    await buy(workspace);
    await run();
    for (let times = 0; times < 5; times += 1) await buy(workspace);
    await run();
    await run();
    assert.equal(intentsOf(workspace).length, 1);
    assert.deepEqual(await eventsOf(workspace, 'auto_top_up'), ['auto_top_up.limit_reached']);
    clock.advance(31 * DAY_MS);
    await run();
    assert.equal(intentsOf(workspace).length, 2);
  });

  test('is charged no more than a month’s limit in the month in which the payment provider comes back', async () => {
    const workspace = await prepare(undefined, 50);
    await buy(workspace);
    const now = clock.now();
    clock.set(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - MINUTE_MS));
    stripe.failNext('unavailable');
    await run();
    assert.equal(intentsOf(workspace).length, 0);
    clock.advance(5 * MINUTE_MS);
    await run();
    for (let times = 0; times < 5; times += 1) await buy(workspace);
    await run();
    assert.equal(intentsOf(workspace).length, 1);
    assert.equal((await settingsOf(workspace)).charged_this_month, 50);
    clock.advance(31 * DAY_MS);
    await run();
    assert.equal(intentsOf(workspace).length, 2);
  });

  test('is charged once, and credited, when its clock was ahead meanwhile', async () => {
    const workspace = await prepare();
    await buy(workspace);
    clock.advance(2 * DAY_MS);
    stripe.failNext('drop_after', 'drop_after');
    await run();
    clock.advance(-2 * DAY_MS + MINUTE_MS);
    await run();
    assert.deepEqual(await service.balance(workspace), [1_810 + 5_000, 0]);
    assert.equal(intentsOf(workspace).length, 1);
  });
});

describe('a declined card', () => {
  test('switches it off, with one mail and one event, and is not tried again', async () => {
    const workspace = await prepare('pm_card_chargeDeclinedInsufficientFunds');
    await buy(workspace);
    mailFailures = 1;
    const before = mails.length;
    await Promise.all([run(), run()]);
    await run();
    await run();
    const told = mails.slice(before).filter(({ to }) => to === `${workspace.userId}@example.com`);
    assert.ok(told.length >= 1);
    assert.equal(new Set(told.map(({ id }) => id)).size, 1, 'one Message-ID');
    assert.match(told[0]?.text ?? '', /50\.00 EUR:\nYour card has insufficient funds\./);
    assert.equal(intentsOf(workspace).length, 1);
    const { enabled, failure } = await settingsOf(workspace);
    assert.deepEqual([enabled, failure.kind], [false, 'card_declined']);
    assert.deepEqual(await eventsOf(workspace, 'auto_top_up'), ['auto_top_up.switched_off']);
    assert.deepEqual(await service.balance(workspace), [1_810, 0]);
    await saveCard(workspace);
    assert.equal((await set(workspace, { enabled: true })).body.failure, null);
    await run();
    assert.deepEqual(await service.balance(workspace), [1_810 + 5_000, 0]);
  });

  test('that was removed at the payment provider is one', async () => {
    const workspace = await service.fundedWorkspace(3_000);
    stripe.savedCards.delete(await saveCard(workspace));
    await set(workspace, { enabled: true, threshold: 20, amount: 50, monthly_limit: 100 });
    await buy(workspace);
    await run();
    assert.deepEqual((await settingsOf(workspace)).failure.kind, 'invalid_instrument');
  });
});

test('a card that is forgotten is charged never again, here and at the payment provider', async () => {
  const workspace = await service.fundedWorkspace(3_000);
  const card = await saveCard(workspace);
  await set(workspace, { enabled: true, threshold: 20, amount: 50, monthly_limit: 100 });
  const { status, body } = await workspace.delete('/wallet/card');
  assert.deepEqual([status, body.enabled, body.card], [200, false, 'none']);
  assert.equal(stripe.savedCards.has(card), false);
  await buy(workspace);
  await run();
  assert.equal(intentsOf(workspace).length, 0);
  const refused = await set(workspace, { enabled: true });
  assert.deepEqual([...refusal(refused), refused.body.details.kind], [422, 'payment_failed', 'no_saved_card']);
});

test('a page that nobody uses expires; the settings are of their workspace alone', async () => {
  const [one, other] = [await service.createWorkspace(), await service.createWorkspace()];
  const { body } = await one.post('/wallet/card', {});
  assert.equal((await settingsOf(one)).card_url, body.url);
  assert.deepEqual([(await settingsOf(other)).card_url, (await settingsOf(other)).updated_at], [null, null]);
  const session = [...stripe.sessions.values()].find(({ url }) => url === body.url);
  stripe.expireSession(session?.id ?? '');
  clock.advance(MINUTE_MS);
  await run();
  const { card, card_url } = await settingsOf(one);
  assert.deepEqual([card, card_url], ['none', null]);
});

test('bad_request: amounts that are none, or charge too little to end a fall', async () => {
  const workspace = await service.createWorkspace();
  const good = { enabled: false, threshold: 20, amount: 50, monthly_limit: 100 };
  const cases = [
    ['threshold', { ...good, threshold: 0 }],
    ['amount', { ...good, amount: 19.99 }],
    ['amount', { ...good, amount: '1e3' }],
    ['monthly_limit', { ...good, monthly_limit: 49.99 }],
    ['monthly_limit', { enabled: true, threshold: 20, amount: 50 }],
  ] as const;
  for (const [param, settings] of cases) {
    const refused = await set(workspace, settings);
    assert.deepEqual([...refusal(refused), refused.body.details.param], [400, 'bad_request', param], param);
  }
  assert.equal((await set(workspace, good)).status, 200);
});
