/** Payments that are disputed at the bank: the wallet follows the money. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startStripe } from '../../../../test/fakes/stripe-server.ts';
import type { TestWorkspace } from '../../../../test/support/domains.ts';
import { DAY_MS, refusal, startOrders } from '../../../../test/support/orders.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { createLogger } from '../../../kernel/log/log.ts';
import type { Message } from '../../mail/index.ts';
import { createOperator } from '../../operator/index.ts';
import { sendRefunds } from '../../orders/pay-order.ts';
import { mailDisputes, runAutoTopUps, settleTopUps } from '../../wallet/index.ts';
import { createStripePayments } from '../../wallet/payments/stripe-payments.ts';

const MINUTE_MS = 60_000;
const stripe = await startStripe();
const logger = createLogger({ logLevel: 'silent' });
const access = {
  ...{ secretKey: stripe.secretKey, apiUrl: stripe.url, webhookSecret: stripe.webhookSecret, logger },
  returnUrl: 'https://domains.example/api/v1/docs',
};
const mails: Message[] = [];
const mailer = { send: async (message: Message) => void mails.push(message) };
// The server charges and mails nothing by itself: each run is the test's own.
const service = await startOrders({
  payments: { ...createStripePayments(access), isConfigured: false },
  mailer: { send: async () => Promise.reject(new Error('the mail server is away')) },
});
const { clock, db, domains, url } = service;
const payments = createStripePayments({ ...access, clock });
after(async () => {
  await service.assertBooksAreRight();
  await service.close();
  await stripe.close();
});

const run = () => runAutoTopUps({ db, payments, clock, logger, mailer, onPaid: async () => undefined });

interface Sent {
  readonly id?: string;
  readonly secret?: string;
}

/** The object as it was when the event was made; what it is now is asked of Stripe. */
async function send(type: string, dispute: object, { id, secret }: Sent = {}) {
  const options = { at: clock.now(), ...(id !== undefined && { id }), ...(secret !== undefined && { secret }) };
  const { body, headers } = stripe.signEvent(`charge.dispute.${type}`, dispute, options);
  const response = await fetch(`${url}/stripe/webhook`, { method: 'POST', body, headers });
  const answer = (await response.json()) as { readonly error?: string };
  return { status: response.status, body: answer };
}

async function tell(type: string, dispute: object, id?: string): Promise<void> {
  const { status, body } = await send(type, dispute, id === undefined ? {} : { id });
  assert.deepEqual([status, body], [200, { received: true }]);
}

/** Somebody pays a top-up; nobody has heard of it where it is not `settled`. */
async function topUp(workspace: TestWorkspace, amount: number, { settled = true } = {}): Promise<string> {
  const opened = await workspace.post('/wallet/top-ups', { amount });
  assert.equal(opened.status, 201, opened.text);
  const session = [...stripe.sessions.values()].find((one) => one.url === opened.body.url) ?? assert.fail();
  stripe.paySession(session.id, { hasIntent: true });
  const intent = session.payment_intent ?? assert.fail('nobody paid');
  if (!settled) return intent;
  clock.advance(MINUTE_MS);
  await settleTopUps({ db, payments, clock, logger, onPaid: async () => undefined });
  return intent;
}

const newIntent = async (amount: number) => {
  const workspace = await service.createWorkspace();
  return { workspace, intent: await topUp(workspace, amount) };
};

async function bookingsOf(workspace: TestWorkspace): Promise<[kind: string, cents: number][]> {
  const { body } = await workspace.get('/wallet/ledger');
  return body.movements.map((one: { kind: string; available_change_cents: number }) => [
    one.kind,
    one.available_change_cents,
  ]);
}

async function eventsOf(workspace: TestWorkspace, type: string): Promise<Record<string, unknown>[]> {
  const { events } = (await workspace.get('/events')).body;
  return events.filter((event: { type: string }) => event.type === type).map(({ data }: { data: object }) => data);
}

let names = 0;
const newName = () => `disputed-${process.pid}-${++names}.com`;
const buy = (workspace: TestWorkspace, more: object = {}) =>
  workspace.post('/domains', { domain: newName(), confirm_price: 11.9, ...more });

describe('a disputed top-up', () => {
  test('leaves the wallet once and comes back once the dispute is won, however often and in whatever order that is told', async () => {
    const { workspace, intent } = await newIntent(30);
    const dispute = structuredClone(stripe.dispute(intent, 2_000));
    await Promise.all(['created', 'funds_withdrawn', 'created'].map((type) => tell(type, dispute)));
    await tell('created', dispute, 'evt_twice');
    await tell('created', dispute, 'evt_twice');
    assert.deepEqual(await bookingsOf(workspace), [
      ['dispute', -2_000],
      ['credit', 3_000],
    ]);
    stripe.closeDispute(dispute.id, 'won');
    await Promise.all(['closed', 'funds_reinstated', 'updated', 'created'].map((type) => tell(type, dispute)));
    assert.deepEqual(await bookingsOf(workspace), [
      ['dispute_won', 2_000],
      ['dispute', -2_000],
      ['credit', 3_000],
    ]);
    const [{ id: payment_id }] = (await workspace.get('/wallet/top-ups')).body.top_ups;
    const told = { dispute_id: dispute.id, payment_id, amount_cents: 2_000 };
    assert.deepEqual(await eventsOf(workspace, 'wallet.disputed'), [{ ...told, available_cents: 1_000 }]);
    assert.deepEqual(await eventsOf(workspace, 'wallet.dispute_won'), [{ ...told, available_cents: 3_000 }]);
    await service.assertBooksAreRight();
  });

  test('that nobody here has heard of is credited first, and no more leaves the wallet than came', async () => {
    const workspace = await service.createWorkspace();
    const intent = await topUp(workspace, 25, { settled: false });
    const dispute = stripe.dispute(intent, 2_600);
    stripe.closeDispute(dispute.id, 'won');
    await tell('closed', dispute);
    assert.deepEqual(
      (await bookingsOf(workspace)).toSorted(),
      [
        ['credit', 2_500],
        ['dispute', -2_500],
        ['dispute_won', 2_500],
      ].toSorted(),
    );
    assert.deepEqual(await service.balance(workspace), [2_500, 0]);
  });

  test('takes no more than came, also by several disputes, until one of them is won', async () => {
    const { workspace, intent } = await newIntent(30);
    const [first, second, third] = [2_000, 2_000, 500].map((cents) => stripe.dispute(intent, cents));
    assert.ok(first && second && third);
    await tell('created', first);
    await tell('created', third);
    assert.deepEqual(await service.balance(workspace), [0, 0]);
    stripe.closeDispute(second.id, 'won');
    await tell('closed', second);
    assert.deepEqual(await service.balance(workspace), [500, 0], 'there is room for the third');
    stripe.closeDispute(first.id, 'won');
    await tell('closed', first);
    assert.deepEqual(await service.balance(workspace), [2_500, 0]);
    await service.assertBooksAreRight();
  });

  test('that is only inquired about takes nothing', async () => {
    const { workspace, intent } = await newIntent(10);
    const inquiry = stripe.dispute(intent, 1_000, { isInquiry: true });
    await tell('created', inquiry);
    stripe.closeDispute(inquiry.id, 'warning_closed');
    await tell('closed', inquiry);
    assert.deepEqual(await bookingsOf(workspace), [['credit', 1_000]]);
  });

  test('takes the wallet below zero: then nothing is bought, also by card, until it is paid', async () => {
    const { workspace, intent } = await newIntent(20);
    assert.equal((await buy(workspace)).status, 201);
    const dispute = stripe.dispute(intent, 2_000);
    await tell('funds_withdrawn', dispute);
    stripe.closeDispute(dispute.id, 'lost');
    await tell('closed', dispute);
    assert.deepEqual((await workspace.get('/wallet')).body, {
      ...{ available_cents: -1_190, held_cents: 0, currency: 'EUR' },
    });
    assert.deepEqual(
      (await eventsOf(workspace, 'wallet.dispute_lost')).map((data) => data.available_cents),
      [-1_190],
    );
    for (const instrument of [{}, { payment_method: 'pm_card_visa' }]) {
      const refused = await buy(workspace, instrument);
      assert.deepEqual(refusal(refused), [402, 'insufficient_balance'], refused.text);
      assert.equal(refused.body.details.available, -1_190);
    }
    await workspace.fund(1_190);
    assert.equal((await buy(workspace, { payment_method: 'pm_card_visa' })).status, 201);
    await service.assertBooksAreRight();
  });

  test('has a renewal wait as with an empty wallet, and charges it once the dispute is won', async () => {
    const { workspace, intent } = await newIntent(20);
    const domain = newName();
    assert.equal((await workspace.post('/domains', { domain, confirm_price: 11.9 })).status, 201);
    await workspace.fund(1_000);
    const dispute = stripe.dispute(intent, 2_000);
    await tell('created', dispute);
    clock.advance(340 * DAY_MS);
    await domains.renewals.runDue();
    const waiting = (await workspace.get(`/domains/${domain}`)).body.renewal;
    assert.deepEqual([waiting.term, waiting.shortfall], ['unpaid', 11.9 + 1.9]);
    stripe.closeDispute(dispute.id, 'won');
    await tell('closed', dispute);
    await domains.renewals.runDue();
    // The registry may answer later than the run waits.
    await eventually(async () => {
      await domains.orders.sweep();
      const { renewal } = (await workspace.get(`/domains/${domain}`)).body;
      return new Date(renewal.billed_until) > new Date(waiting.billed_until) ? true : undefined;
    }, `${domain} is renewed`);
    await service.assertBooksAreRight();
  });
});

describe('a disputed payment of an order', () => {
  const visa = { payment_method: 'pm_card_visa' };
  const intentOf = (workspace: TestWorkspace) =>
    [...stripe.intents.values()].find(({ metadata }) => metadata.workspace_id === workspace.workspaceId) ??
    assert.fail('nothing was charged');

  test('is owed by the wallet', async () => {
    const workspace = await service.createWorkspace();
    assert.equal((await buy(workspace, visa)).status, 201);
    await tell('created', stripe.dispute(intentOf(workspace).id, 1_190));
    assert.deepEqual(await service.balance(workspace), [-1_190, 0]);
  });

  test('that fails afterwards is given back to the wallet and not to the card, which has it already', async () => {
    const workspace = await service.createWorkspace();
    const domain = `taken-${newName()}`;
    const asked = { auth_code: 'simulated-auth', confirm_price: 11.9, ...visa };
    const { status, body, text } = await workspace.post(`/domains/${domain}/transfer`, asked);
    assert.deepEqual([status, body.status], [201, 'Pending'], text);
    await tell('created', stripe.dispute(intentOf(workspace).id, 1_190));
    const operator = createOperator({ db, clock });
    await operator.end_order({ id: body.order_id, end: 'failed', reason: 'test' });
    await domains.orders.sweep();
    assert.deepEqual(await service.balance(workspace), [0, 0]);
    assert.equal([...stripe.refunds.values()].filter((one) => one.payment_intent === intentOf(workspace).id).length, 0);
    await service.assertBooksAreRight();
  });
});

describe('a refund that Stripe refuses, as the payment is disputed', () => {
  const refund = () => sendRefunds({ db, payments, clock, logger });

  /** An order that a card has paid, and that has failed. */
  async function fail() {
    const workspace = await service.createWorkspace();
    const asked = { auth_code: 'simulated-auth', confirm_price: 11.9, payment_method: 'pm_card_visa' };
    const { body, text } = await workspace.post(`/domains/taken-${newName()}/transfer`, asked);
    assert.equal(body.status, 'Pending', text);
    const intent =
      [...stripe.intents.values()].find(({ metadata }) => metadata.workspace_id === workspace.workspaceId) ??
      assert.fail('nothing was charged');
    const end = () => createOperator({ db, clock }).end_order({ id: body.order_id, end: 'failed', reason: 'test' });
    return { workspace, intent: intent.id, end };
  }

  test('goes into the wallet, where the order fails before anybody has heard of the dispute', async () => {
    const { workspace, intent, end } = await fail();
    const dispute = stripe.dispute(intent, 1_190);
    await end();
    for (let times = 0; times < 2; times += 1) await refund();
    await tell('created', dispute);
    assert.deepEqual(await service.balance(workspace), [0, 0]);
    stripe.closeDispute(dispute.id, 'won');
    await tell('closed', dispute);
    await refund();
    assert.deepEqual(await service.balance(workspace), [1_190, 0], 'it is here, and not with the card');
    await service.assertBooksAreRight();
  });

  test('goes into the wallet, where the dispute comes before the refund could be sent', async () => {
    const { workspace, intent, end } = await fail();
    await end();
    await tell('created', stripe.dispute(intent, 1_190));
    await Promise.all([refund(), refund()]);
    assert.deepEqual(await service.balance(workspace), [0, 0]);
    await service.assertBooksAreRight();
  });

  test('waits while Stripe does not say what is disputed', async () => {
    const { workspace, intent, end } = await fail();
    stripe.dispute(intent, 1_190);
    await end();
    const silent = { ...payments, listDisputes: () => Promise.reject(new Error('Stripe is away')) };
    await sendRefunds({ db, payments: silent, clock, logger });
    assert.deepEqual((await bookingsOf(workspace)).map(([kind]) => kind).toSorted(), ['charge', 'refund']);
    await refund();
    assert.deepEqual(await service.balance(workspace), [0, 0]);
    assert.deepEqual((await bookingsOf(workspace)).map(([kind]) => kind).toSorted(), [
      ...['charge', 'credit', 'dispute', 'refund'],
    ]);
  });
});

describe('the automatic top-up', () => {
  const settings = { enabled: true, threshold: 20, amount: 50, monthly_limit: 500 };
  async function prepare(): Promise<{ workspace: TestWorkspace; intent: string; save: () => Promise<void> }> {
    const { workspace, intent } = await newIntent(30);
    const save = async () => {
      const { body } = await workspace.post('/wallet/card', {});
      stripe.saveCard([...stripe.sessions.values()].find((one) => one.url === body.url)?.id ?? '');
      clock.advance(MINUTE_MS);
      await run();
    };
    await save();
    assert.equal((await workspace.put('/wallet/auto-top-up', settings)).status, 200);
    return { workspace, intent, save };
  }

  test('stops, and charges the card no more; another card may be saved', async () => {
    const { workspace, intent, save } = await prepare();
    const dispute = stripe.dispute(intent, 3_000);
    await tell('created', dispute);
    await run();
    const { enabled, failure } = (await workspace.get('/wallet/auto-top-up')).body;
    assert.deepEqual([enabled, failure.kind], [false, 'payment_disputed']);
    assert.equal((await eventsOf(workspace, 'auto_top_up.switched_off')).length, 1);
    const refused = await workspace.put('/wallet/auto-top-up', settings);
    assert.deepEqual([...refusal(refused), refused.body.details.kind], [422, 'payment_failed', 'payment_disputed']);
    await save();
    assert.equal((await workspace.put('/wallet/auto-top-up', settings)).status, 200);
    await tell('updated', dispute);
    await run();
    assert.equal((await workspace.get('/wallet/auto-top-up')).body.enabled, true);
    assert.deepEqual(await service.balance(workspace), [5_000, 0]);
  });

  test('may use the card again once the dispute is won', async () => {
    const { workspace, intent } = await prepare();
    const dispute = stripe.dispute(intent, 500);
    await tell('created', dispute);
    stripe.closeDispute(dispute.id, 'won');
    await tell('closed', dispute);
    assert.equal((await workspace.put('/wallet/auto-top-up', settings)).status, 200);
  });

  test('leaves a wallet alone that is below zero, and is itself disputed like any payment', async () => {
    const { workspace, intent, save } = await prepare();
    assert.equal((await buy(workspace)).status, 201);
    await run();
    assert.deepEqual(await service.balance(workspace), [6_810, 0]);
    const charged = [...stripe.intents.values()].find(
      ({ metadata }) => metadata.workspace_id === workspace.workspaceId,
    );
    await tell('created', stripe.dispute(charged?.id ?? '', 5_000));
    await tell('created', stripe.dispute(intent, 3_000));
    assert.deepEqual(await service.balance(workspace), [-1_190, 0]);
    await save();
    assert.equal((await workspace.put('/wallet/auto-top-up', settings)).status, 200);
    await run();
    assert.deepEqual(await service.balance(workspace), [-1_190, 0]);
  });
});

test('its owner is told by mail, once of each state, until the mail server takes it', async () => {
  const { workspace, intent } = await newIntent(10);
  const dispute = stripe.dispute(intent, 1_000);
  await tell('created', dispute);
  const mine = () => mails.filter(({ to }) => to === `${workspace.userId}@example.com`);
  let isAway = true;
  const flaky = {
    send: async (message: Message) => (isAway ? Promise.reject(new Error('away')) : mailer.send(message)),
  };
  await mailDisputes({ db, mailer: flaky, logger });
  assert.equal(mine().length, 0);
  isAway = false;
  for (let times = 0; times < 3; times += 1) await mailDisputes({ db, mailer: flaky, logger });
  stripe.closeDispute(dispute.id, 'won');
  await tell('closed', dispute);
  for (let times = 0; times < 3; times += 1) await mailDisputes({ db, mailer: flaky, logger });
  assert.deepEqual(
    mine().map(({ id }) => id),
    [`msg_${dispute.id}_open`, `msg_${dispute.id}_won`],
  );
  assert.match(mine()[0]?.text ?? '', /10\.00 EUR/);
});

test('the operator has a list of disputes', async () => {
  const { workspace, intent } = await newIntent(10);
  const dispute = stripe.dispute(intent, 900);
  await tell('created', dispute);
  const { disputes } = await createOperator({ db, clock }).list_disputes({});
  const { created_at, payment_id, ...listed } = disputes.find(({ id }) => id === dispute.id) ?? assert.fail();
  assert.deepEqual(listed, {
    ...{ id: dispute.id, workspace_id: workspace.workspaceId, amount_cents: 900, state: 'open', available_cents: 100 },
  });
});

test('only what Stripe has signed is believed, and what is of no payment here changes nothing', async () => {
  const { workspace, intent } = await newIntent(10);
  const dispute = stripe.dispute(intent, 1_000);
  const forged = await send('created', dispute, { secret: 'whsec_of_somebody_else' });
  assert.deepEqual([forged.status, forged.body.error], [400, 'bad_request']);
  const unsigned = await service.anybody.post('/stripe/webhook', { type: 'charge.dispute.created' });
  assert.deepEqual(refusal(unsigned), [400, 'bad_request']);
  const { body, headers } = stripe.signText('no JSON', { at: clock.now() });
  const broken = await fetch(`${url}/stripe/webhook`, { method: 'POST', body, headers });
  assert.equal(broken.status, 400);
  await tell('created', { id: 'dp_other', payment_intent: 'pi_other' });
  await tell('created', { id: 'dp_none', payment_intent: null });
  assert.deepEqual(await bookingsOf(workspace), [['credit', 1_000]]);
});

test('internal: a charge whose outcome is not known is settled before its dispute is taken', async () => {
  const workspace = await service.createWorkspace();
  assert.deepEqual(refusal(await buy(workspace, { payment_method: 'pm_card_processing' })), [500, 'internal']);
  const intent = [...stripe.intents.values()].find(({ metadata }) => metadata.workspace_id === workspace.workspaceId);
  assert.ok(intent);
  const dispute = stripe.dispute(intent.id, 1_190);
  const { rows } = await db.query<{ state: string }>({
    text: 'select state from domains.payments where workspace_id = $1',
    values: [workspace.workspaceId],
  });
  assert.deepEqual(rows, [{ state: 'open' }]);
  assert.equal((await send('created', dispute)).status, 500);
  intent.status = 'succeeded';
  await service.later(2 * MINUTE_MS);
  await tell('created', dispute);
  assert.deepEqual(await service.balance(workspace), [-1_190, 0]);
});

test('internal: while Stripe does not answer, it has to send the event again', async () => {
  const { workspace, intent } = await newIntent(10);
  const dispute = stripe.dispute(intent, 1_000);
  stripe.failNext('unavailable', 'unavailable');
  const refused = await send('created', dispute);
  assert.deepEqual([refused.status, refused.body.error], [500, 'internal']);
  assert.deepEqual(await bookingsOf(workspace), [['credit', 1_000]]);
  await tell('created', dispute);
  assert.deepEqual(await service.balance(workspace), [0, 0]);
});
