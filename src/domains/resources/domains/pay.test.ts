import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startStripe } from '../../../../test/fakes/stripe-server.ts';
import type { TestWorkspace } from '../../../../test/support/domains.ts';
import { startDomains } from '../../../../test/support/domains.ts';
import { refusal, silenceAfter, startOrders } from '../../../../test/support/orders.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { createOperator } from '../../operator/index.ts';
import { endByHand, findAnyOrder } from '../../orders/index.ts';
import { sendRefunds } from '../../orders/pay-order.ts';
import { unconfiguredPayments } from '../../wallet/index.ts';
import { createStripePayments } from '../../wallet/payments/stripe-payments.ts';

const stripe = await startStripe();
const service = await startOrders({
  payments: createStripePayments({
    secretKey: stripe.secretKey,
    apiUrl: stripe.url,
    returnUrl: 'https://shop.example/done',
    logger: openTestLogger(),
  }),
});
const { plan, balance, later, fundedWorkspace } = service;
after(async () => {
  await service.close();
  await stripe.close();
});

const PRICE = 11.9;
const CENTS = 1_190;
const visa = { confirm_price: PRICE, payment_method: 'pm_card_visa' };

const register = (workspace: TestWorkspace, domain: string, body: object = visa, headers = {}) =>
  workspace.post('/domains', { domain, ...body }, headers);

/** How often a card was charged for the name, and what is left of that with us. */
function charged(name: string): [times: number, netCents: number] {
  const intents = [...stripe.intents.values()].filter(
    ({ metadata, status }) => metadata.domain === name && status === 'succeeded',
  );
  const ids = new Set(intents.map(({ id }) => id));
  const refunded = [...stripe.refunds.values()].filter(({ payment_intent: id }) => ids.has(id));
  const cents = (amounts: readonly { amount: number }[]) => amounts.reduce((sum, { amount }) => sum + amount, 0);
  return [intents.length, cents(intents) - cents(refunded)];
}

async function openRefunds(): Promise<number> {
  const { rowCount } = await service.db.query({
    text: `select from domains.payments where kind = 'refund' and state = 'open'`,
    values: [],
  });
  return rowCount;
}

test('a card is charged and then the name is bought; the wallet is left alone', async () => {
  const workspace = await fundedWorkspace(500);
  const bought = await register(workspace, 'card.com');
  assert.deepEqual([bought.status, bought.body.status, bought.body.paid_with], [201, 'Completed', 'card'], bought.text);
  assert.deepEqual(charged('card.com'), [1, CENTS]);
  const token = { confirm_price: PRICE, shared_payment_token: 'spt_card_visa' };
  const renewed = await workspace.post('/domains/card.com/renew', token);
  assert.deepEqual([renewed.status, renewed.body.paid_with], [200, 'card'], renewed.text);
  const transfer = { ...token, auth_code: 'simulated-auth' };
  const transferred = await workspace.post('/domains/taken-card.com/transfer', transfer);
  assert.deepEqual([transferred.status, transferred.body.status], [201, 'Pending'], transferred.text);
  assert.deepEqual(charged('card.com'), [2, 2 * CENTS]);
  assert.deepEqual(charged('taken-card.com'), [1, CENTS]);
  assert.deepEqual(await balance(workspace), [500, CENTS]);
  await service.assertBooksAreRight();
});

const declines = [
  ['pm_card_chargeDeclined', 402, 'card_declined'],
  ['pm_card_chargeDeclinedInsufficientFunds', 402, 'card_declined'],
  ['spt_card_chargeDeclined', 402, 'card_declined'],
  ['pm_card_authenticationRequired', 422, 'authentication_required'],
  ['pm_card_requiresAction', 422, 'authentication_required'],
  ['pm_card_nobody_knows', 422, 'invalid_instrument'],
] as const;

test('payment_failed: a declined card is 402, another refusal 422, and neither buys anything', async () => {
  const workspace = await fundedWorkspace();
  for (const [card, status, kind] of declines) {
    const member = card.startsWith('spt_') ? 'shared_payment_token' : 'payment_method';
    const answer = await register(workspace, 'declined.com', { confirm_price: PRICE, [member]: card });
    assert.deepEqual([...refusal(answer), answer.body.details.kind], [status, 'payment_failed', kind], card);
    assert.doesNotMatch(answer.text, new RegExp(card), 'the answer does not contain the instrument');
  }
  assert.deepEqual(refusal(await workspace.get('/domains/declined.com')), [404, 'not_found']);
  assert.deepEqual(charged('declined.com'), [0, 0]);
  // Another instrument, and it is his.
  assert.equal((await register(workspace, 'declined.com')).status, 201);
  assert.deepEqual(await balance(workspace), [100_000, 0]);
  await service.assertBooksAreRight();
});

test('a retry with the same key after a decline charges the next instrument of the same request', async () => {
  const workspace = await fundedWorkspace();
  const key = { 'idempotency-key': 'card' };
  const declined = { confirm_price: PRICE, payment_method: 'pm_card_chargeDeclined' };
  assert.equal((await register(workspace, 'retry.com', declined, key)).status, 402);
  assert.equal((await register(workspace, 'retry.com', declined, key)).status, 402);
  assert.equal((await register(workspace, 'retry.com', visa, key)).status, 201);
  assert.equal((await register(workspace, 'retry.com', visa, key)).headers.get('idempotent-replay'), 'true');
  assert.deepEqual(charged('retry.com'), [1, CENTS]);
});

test('what the registry refuses after the charge is given back: at once, later, and for each kind of order', async () => {
  const workspace = await fundedWorkspace();
  assert.deepEqual(refusal(await register(workspace, 'refuse-card.com')), [422, 'registration_failed']);
  const transfer = { ...visa, auth_code: 'wrong' };
  const transferred = await workspace.post('/domains/taken-refund.com/transfer', transfer);
  assert.deepEqual(refusal(transferred), [422, 'transfer_failed']);
  await register(workspace, 'refuse-renew-card.com', { confirm_price: PRICE });
  const renewed = await workspace.post('/domains/refuse-renew-card.com/renew', visa);
  assert.deepEqual(refusal(renewed), [422, 'renew_failed']);
  const accepted = await register(workspace, 'reject-card.com');
  assert.deepEqual([accepted.status, accepted.body.status], [201, 'Pending']);
  await later(40_000);
  await later(0);
  for (const name of ['refuse-card.com', 'taken-refund.com', 'refuse-renew-card.com', 'reject-card.com']) {
    assert.deepEqual(charged(name), [1, 0], name);
  }
  assert.deepEqual(await balance(workspace), [100_000 - CENTS, 0]);
  await service.assertBooksAreRight();
});

test('a refund whose answer is lost is asked for again, and given once', async () => {
  const workspace = await fundedWorkspace();
  for (const faults of [['unavailable', 'drop_before', 'drop_after'], ['fail']] as const) {
    const name = `reject-${faults[0]}.com`;
    assert.equal((await register(workspace, name)).body.status, 'Pending');
    stripe.failNext(...faults);
    await later(40_000);
    for (const _ of faults) await later(1_000);
    assert.deepEqual(charged(name), [1, 0]);
    assert.equal(await openRefunds(), 0);
  }
  await service.assertBooksAreRight();
});

for (const fault of ['drop_before', 'drop_after', 'fail', 'unavailable'] as const) {
  test(`a charge whose answer is lost (${fault}) is made once`, async () => {
    const name = `charge-${fault.replace('_', '-')}.com`;
    const workspace = await fundedWorkspace();
    stripe.failNext(fault);
    const { status, text } = await register(workspace, name);
    assert.equal(status, 201, text);
    assert.deepEqual(charged(name), [1, CENTS]);
    await service.assertBooksAreRight();
  });
}

test('an order is not cancelled while it is not known whether its card was charged', async () => {
  const workspace = await fundedWorkspace();
  const asked = { confirm_price: PRICE, payment_method: 'pm_card_processing' };
  const unknown = await register(workspace, 'processing.com', asked);
  assert.deepEqual(refusal(unknown), [500, 'internal']);
  const { order_id: id } = unknown.body.details;
  service.clock.advance(120_000);
  const cancelling = createOperator(service).end_order({ id, end: 'failed', reason: 'it hangs' });
  await cancelling.catch(() => undefined);
  const intent = [...stripe.intents.values()].find(({ metadata }) => metadata.domain === 'processing.com');
  Object.assign(intent ?? assert.fail('nothing was charged'), { status: 'succeeded' });
  await later(120_000);
  assert.deepEqual(charged('processing.com'), [1, CENTS]);
  assert.equal((await workspace.get('/domains/processing.com')).body.status, 'Active', 'who has paid has the name');
  await assert.rejects(cancelling, /whether its card was charged/);
  await service.assertBooksAreRight();
});

test('an order whose card was not asked for yet can be cancelled', async () => {
  const workspace = await fundedWorkspace();
  const silent = { command: 'check', moment: 'before', fault: 'timeout' } as const;
  plan(
    'uncharged.com',
    Array.from({ length: 8 }, () => silent),
  );
  const { body } = await register(workspace, 'uncharged.com');
  service.clock.advance(120_000);
  const ended = await createOperator(service).end_order({ id: body.order_id, end: 'failed', reason: 'test' });
  assert.equal(ended.state, 'failed');
  await later(0);
  assert.deepEqual(charged('uncharged.com'), [0, 0]);
});

test('an order whose card is asked for meanwhile is not cancelled', async () => {
  const workspace = await fundedWorkspace();
  const silent = { command: 'check', moment: 'before', fault: 'timeout' } as const;
  plan(
    'charged-meanwhile.com',
    Array.from({ length: 8 }, () => silent),
  );
  const asked = { confirm_price: PRICE, payment_method: 'pm_card_processing' };
  const { body } = await register(workspace, 'charged-meanwhile.com', asked);
  const seen = (await findAnyOrder(service, body.order_id)) ?? assert.fail();
  plan('charged-meanwhile.com', []);
  await later(120_000);
  assert.equal(await endByHand(service, seen, 'failed', 'test'), undefined);
  const intent = [...stripe.intents.values()].find(({ metadata }) => metadata.domain === 'charged-meanwhile.com');
  Object.assign(intent ?? assert.fail('nothing was charged'), { status: 'succeeded' });
  await later(600_000);
  assert.equal((await workspace.get('/domains/charged-meanwhile.com')).body.status, 'Active');
});

test('registration_failed, already_in_portfolio: a card is not charged for a name that cannot be had', async () => {
  const workspace = await fundedWorkspace();
  for (const name of ['google.com', 'reserved-x.com']) {
    assert.deepEqual(refusal(await register(workspace, name)), [422, 'registration_failed'], name);
  }
  assert.equal((await register(workspace, 'mine.com')).status, 201);
  assert.deepEqual(refusal(await register(workspace, 'mine.com')), [409, 'already_in_portfolio']);
  const silent = { command: 'check', moment: 'before', fault: 'timeout' } as const;
  plan(
    'away.com',
    Array.from({ length: 8 }, () => silent),
  );
  assert.equal((await register(workspace, 'away.com')).body.status, 'Pending');
  assert.deepEqual(
    ['google.com', 'reserved-x.com', 'away.com'].map((name) => charged(name)[0]),
    [0, 0, 0],
  );
  assert.deepEqual(charged('mine.com'), [1, CENTS]);
  plan('away.com', []);
  await later(600_000);
  assert.deepEqual(charged('away.com'), [1, CENTS], 'it is charged once the registry says that the name is free');
});

test('Pending: a name that is charged and whose fate is not known is its buyer’s in the end', async () => {
  const workspace = await fundedWorkspace();
  plan('unsure.com', silenceAfter('create'));
  const buy = () => register(workspace, 'unsure.com', visa, { 'idempotency-key': 'unsure' });
  const first = await buy();
  assert.deepEqual([first.status, first.body.status], [201, 'Pending']);
  plan('unsure.com', []);
  await later(600_000);
  // The registry says now that the name is taken: by this order.
  const second = await buy();
  assert.equal(second.status, 201, second.text);
  assert.equal(second.body.order_id, first.body.order_id);
  assert.equal((await workspace.get('/domains/unsure.com')).body.status, 'Active');
  assert.deepEqual(charged('unsure.com'), [1, CENTS]);
});

test('bad_request: two instruments, or an empty one', async () => {
  const workspace = await fundedWorkspace();
  const both = await register(workspace, 'both.com', { ...visa, shared_payment_token: 'spt_card_visa' });
  assert.deepEqual([...refusal(both), both.body.details.param], [400, 'bad_request', 'shared_payment_token']);
  const empty = await register(workspace, 'both.com', { confirm_price: PRICE, payment_method: '' });
  assert.deepEqual(refusal(empty), [400, 'bad_request']);
  assert.deepEqual(charged('both.com'), [0, 0]);
});

test('payment_failed: a server without a payment provider says so, and sells from the wallet', async () => {
  const { db, vault, clock } = service;
  const cardless = await startDomains({ sharing: { db, vault }, clock, payments: unconfiguredPayments });
  try {
    const workspace = await cardless.createWorkspace();
    await workspace.fund(CENTS);
    const answer = await register(workspace, 'cardless.com');
    const { kind } = answer.body.details;
    assert.deepEqual([...refusal(answer), kind], [422, 'payment_failed', 'payments_unconfigured']);
    assert.equal((await register(workspace, 'cardless.com', { confirm_price: PRICE })).status, 201);
  } finally {
    await cardless.close();
  }
});

test('a refund waits while a server has no payment provider', async () => {
  const { clock, db } = service;
  const workspace = await fundedWorkspace();
  assert.deepEqual(refusal(await register(workspace, 'refuse-waits.com')), [422, 'registration_failed']);
  await sendRefunds({ db, clock, logger: openTestLogger(), payments: unconfiguredPayments });
  await later(0);
  assert.deepEqual(charged('refuse-waits.com'), [1, 0]);
});

test('in the end the payment provider has what was sold by card, and nothing else', async () => {
  await later(0);
  const { rows } = await service.db.query<{ cents: number }>({
    text: `select coalesce(sum(amount_cents), 0)::bigint as cents from domains.orders
      where pays_with = 'card' and state not in ('failed')`,
    values: [],
  });
  assert.equal(stripe.netCents(), rows[0]?.cents);
  await service.assertBooksAreRight();
});
