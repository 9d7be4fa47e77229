import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startStripe } from '../../../../test/fakes/stripe-server.ts';
import { refusal, startOrders } from '../../../../test/support/orders.ts';
import { createLogger } from '../../../kernel/log/log.ts';
import { settleTopUps } from '../../wallet/index.ts';
import { createStripePayments } from '../../wallet/payments/stripe-payments.ts';

const stripe = await startStripe();
const logger = createLogger({ logLevel: 'silent' });
const payments = createStripePayments({
  secretKey: stripe.secretKey,
  apiUrl: stripe.url,
  returnUrl: 'https://domains.example/api/v1/docs',
  logger,
});
const service = await startOrders({ payments });
const { clock, db } = service;
after(async () => {
  await service.close();
  await stripe.close();
});

const HOUR_MS = 3_600_000;
const DAYS_MS = 30 * 24 * HOUR_MS;
let paid = 0;
const settle = () => settleTopUps({ db, payments, clock, logger, onPaid: async () => void ++paid });
const sessionOf = (url: string) => [...stripe.sessions.values()].find((session) => session.url === url)?.id ?? '';

describe('a top-up', () => {
  test('is in the wallet once it is paid, once, however many processes see that', async () => {
    const workspace = await service.createWorkspace();
    const { status, body } = await workspace.post('/wallet/top-ups', { amount: '25.50' });
    assert.deepEqual([status, body.amount, body.currency, body.state], [201, 25.5, 'EUR', 'open']);
    await settle();
    assert.deepEqual((await workspace.get(`/wallet/top-ups/${body.id}`)).body, body);
    stripe.paySession(sessionOf(body.url));
    clock.advance(HOUR_MS);
    await Promise.all([settle(), settle(), settle(), settle()]);
    const after = await workspace.reader.get(`/wallet/top-ups/${body.id}`);
    assert.deepEqual(after.body, { ...body, state: 'succeeded', url: null });
    assert.deepEqual(await service.balance(workspace), [2_550, 0]);
    const { movements } = (await workspace.get('/wallet/ledger')).body;
    assert.deepEqual(
      movements.map((one: { kind: string; payment_id: string }) => [one.kind, one.payment_id]),
      [['credit', body.id]],
    );
    assert.ok(paid > 0, 'what waits for money is told');
    await service.assertBooksAreRight();
  });

  test('that is not paid in time expires, and its page is not shown any more', async () => {
    const workspace = await service.createWorkspace();
    const { body } = await workspace.post('/wallet/top-ups', { amount: 5 });
    stripe.expireSession(sessionOf(body.url));
    clock.advance(HOUR_MS);
    await settle();
    assert.deepEqual((await workspace.get('/wallet/top-ups')).body, {
      top_ups: [{ ...body, state: 'expired', url: null }],
      next_after: null,
    });
    assert.deepEqual(await service.balance(workspace), [0, 0]);
  });

  for (const looks of ['leapt ahead', 'was ahead, and is right again']) {
    test(`that is paid while the clock ${looks} is in the wallet`, async () => {
      const workspace = await service.createWorkspace();
      const { body } = await workspace.post('/wallet/top-ups', { amount: 5 });
      clock.advance(DAYS_MS);
      await settle();
      if (looks !== 'leapt ahead') clock.advance(-DAYS_MS);
      stripe.paySession(sessionOf(body.url));
      clock.advance(HOUR_MS);
      await settle();
      assert.equal((await workspace.get(`/wallet/top-ups/${body.id}`)).body.state, 'succeeded');
      assert.deepEqual(await service.balance(workspace), [500, 0]);
    });
  }

  test('is opened once under one Idempotency-Key', async () => {
    const workspace = await service.createWorkspace();
    const key = { 'idempotency-key': 'top-up' };
    const first = await workspace.post('/wallet/top-ups', { amount: 5 }, key);
    const again = await workspace.post('/wallet/top-ups', { amount: 5 }, key);
    assert.deepEqual([again.status, again.body], [201, first.body]);
    assert.equal(again.headers.get('idempotent-replay'), 'true');
    assert.equal((await workspace.get('/wallet/top-ups')).body.top_ups.length, 1);
  });

  test('is of its workspace alone', async () => {
    const [one, other] = [await service.createWorkspace(), await service.createWorkspace()];
    const { body } = await one.post('/wallet/top-ups', { amount: 5 });
    const foreign = await other.get(`/wallet/top-ups/${body.id}`);
    assert.deepEqual(refusal(foreign), [404, 'not_found']);
    assert.equal(foreign.text, (await other.get('/wallet/top-ups/pay_0')).text);
    assert.deepEqual((await other.get('/wallet/top-ups')).body.top_ups, []);
  });
});

test('lists run newest first, a page at a time', async () => {
  const workspace = await service.createWorkspace();
  const made: string[] = [];
  for (const amount of [1, 2, 3]) made.unshift((await workspace.post('/wallet/top-ups', { amount })).body.id);
  const first = (await workspace.get('/wallet/top-ups?limit=2')).body;
  const second = (await workspace.get(`/wallet/top-ups?limit=2&after=${first.next_after}`)).body;
  const listed = [...first.top_ups, ...second.top_ups].map(({ id }: { id: string }) => id);
  assert.deepEqual([listed, second.next_after], [made, null]);
});

test('bad_request: an amount that is none, or beyond the limits', async () => {
  const workspace = await service.createWorkspace();
  for (const amount of [0, 0.99, 10_000.01, 1.005, -5, '5,00', '']) {
    const refused = await workspace.post('/wallet/top-ups', { amount });
    assert.deepEqual([...refusal(refused), refused.body.details.param], [400, 'bad_request', 'amount'], String(amount));
  }
  assert.deepEqual((await workspace.get('/wallet/top-ups')).body.top_ups, []);
});

test('payment_failed: the payment provider is away, and nothing is left of it; ten that wait are enough', async () => {
  const workspace = await service.createWorkspace();
  stripe.failNext('unavailable');
  const away = await workspace.post('/wallet/top-ups', { amount: 5 });
  assert.deepEqual([...refusal(away), away.body.details.kind], [422, 'payment_failed', 'payment_service_unavailable']);
  assert.deepEqual((await workspace.get('/wallet/top-ups')).body.top_ups, []);
  for (let open = 0; open < 10; open += 1) {
    assert.equal((await workspace.post('/wallet/top-ups', { amount: 5 })).status, 201);
  }
  const refused = await workspace.post('/wallet/top-ups', { amount: 5 });
  assert.deepEqual([...refusal(refused), refused.body.details.kind], [422, 'payment_failed', 'too_many_open']);
});
