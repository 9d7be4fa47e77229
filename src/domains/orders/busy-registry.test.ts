/** A registry that takes so few commands that nobody can ask it for a price when something is ordered. */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { startStripe } from '../../../test/fakes/stripe-server.ts';
import type { TestWorkspace } from '../../../test/support/domains.ts';
import { refusal, startOrders } from '../../../test/support/orders.ts';
import { createLogger } from '../../kernel/log/log.ts';
import { type Registry, RegistryBusy, RegistryUnavailable } from '../registry/registry.ts';
import { createSimulatedRegistry, readBill } from '../registry/simulated/index.ts';
import { createStripePayments } from '../wallet/payments/stripe-payments.ts';

const MINUTE_MS = 60_000;
const OURS = 'ironcraft';
let trouble: 'none' | 'busy' | 'away' = 'none';
const fees = () => ({ createCents: 500, renewCents: 500, transferCents: 500, restoreCents: 5_000 });
const stripe = await startStripe();
const service = await startOrders({
  registry(parts) {
    const special = { premium: new Map([['gold.com', 20_000]]), reserved: new Set(['kept.com']) };
    const delays = { createSeconds: 0, renewSeconds: 0 };
    const registry = createSimulatedRegistry({ ...parts, options: { prices: fees, delays, special } });
    return new Proxy<Registry>(registry, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member);
        if (member === 'feeOf' && trouble !== 'none') {
          const Trouble = trouble === 'busy' ? RegistryBusy : RegistryUnavailable;
          return async () => Promise.reject(new Trouble('its turn did not come'));
        }
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  },
  payments: createStripePayments({
    secretKey: stripe.secretKey,
    apiUrl: stripe.url,
    returnUrl: 'https://domains.example/api/v1/docs',
    logger: createLogger({ logLevel: 'silent' }),
  }),
});
const { db } = service;
after(async () => {
  await service.assertBooksAreRight();
  await service.close();
  await stripe.close();
});
beforeEach(() => {
  trouble = 'busy';
});

const billOf = async (name: string) => (await readBill(db, OURS)).filter((charge) => charge.name === name).length;
const orderOf = async (workspace: TestWorkspace, id: string) => (await workspace.get(`/orders/${id}`)).body;

test('a name is ordered all the same, with its money set aside, and bought once the registry says the price', async () => {
  const workspace = await service.fundedWorkspace();
  const { status, body, text } = await workspace.post('/domains', { domain: 'patience.com', confirm_price: 11.9 });
  assert.deepEqual([status, body.status, body.price], [201, 'Pending', 11.9], text);
  assert.deepEqual(await service.balance(workspace), [98_810, 1_190]);
  await service.later(MINUTE_MS);
  assert.equal((await orderOf(workspace, body.order_id)).status, 'Pending');
  assert.equal(await billOf('patience.com'), 0, 'nothing is sent before the price is known');
  trouble = 'none';
  await service.later(MINUTE_MS);
  assert.equal((await orderOf(workspace, body.order_id)).status, 'Completed');
  assert.equal(await billOf('patience.com'), 1);
  assert.deepEqual(await service.balance(workspace), [98_810, 0]);
});

test('price_changed: an order fails, and has its money back, where the registry then asks for something else', async () => {
  const workspace = await service.fundedWorkspace();
  const { body } = await workspace.post('/domains', { domain: 'gold.com', confirm_price: 11.9 });
  assert.equal(body.status, 'Pending');
  trouble = 'none';
  await service.later(MINUTE_MS);
  const { failure, status } = await orderOf(workspace, body.order_id);
  assert.deepEqual([status, failure.error], ['Failed', 'price_changed']);
  assert.match(failure.message, /240 EUR .*said 11\.9\. Nothing was charged/);
  assert.deepEqual(await service.balance(workspace), [100_000, 0]);
  assert.equal(await billOf('gold.com'), 0);
  assert.equal((await workspace.get('/domains/gold.com')).status, 404);
});

test('a name with a price of its own is bought at the price that was agreed to, and keeps what its renewal costs', async () => {
  const workspace = await service.fundedWorkspace();
  const { body } = await workspace.post('/domains', { domain: 'gold.com', confirm_price: 240 });
  trouble = 'none';
  await service.later(MINUTE_MS);
  assert.equal((await orderOf(workspace, body.order_id)).status, 'Completed');
  assert.equal((await workspace.get('/domains/gold.com')).body.renewal.price, 240);
});

test('a card is charged after the price is known, and only for a name that is free', async () => {
  const workspace = await service.createWorkspace();
  const visa = { confirm_price: 11.9, payment_method: 'pm_card_visa' };
  const bought = await workspace.post('/domains', { domain: 'carded.com', ...visa });
  const kept = await workspace.post('/domains', { domain: 'kept.com', ...visa });
  assert.deepEqual(
    [bought, kept].map(({ body }) => body.status),
    ['Pending', 'Pending'],
  );
  assert.equal(stripe.intents.size, 0);
  trouble = 'none';
  await service.later(MINUTE_MS);
  await service.later(MINUTE_MS);
  assert.equal((await orderOf(workspace, bought.body.order_id)).status, 'Completed');
  const { failure } = await orderOf(workspace, kept.body.order_id);
  assert.equal(failure.error, 'registration_failed');
  assert.equal(stripe.intents.size, 1);
  assert.equal(stripe.netCents(), 1_190);
});

test('renewals and transfers wait in the same way', async () => {
  const workspace = await service.fundedWorkspace();
  trouble = 'none';
  await workspace.post('/domains', { domain: 'again.com', confirm_price: 11.9 });
  trouble = 'busy';
  const renewal = await workspace.post('/domains/again.com/renew', { confirm_price: 11.9 });
  assert.deepEqual([renewal.status, renewal.body.status], [200, 'Pending'], renewal.text);
  const asked = { auth_code: 'simulated-auth', confirm_price: 1 };
  const transfer = await workspace.post('/domains/taken-again.com/transfer', asked);
  assert.deepEqual([transfer.status, transfer.body.status], [201, 'Pending'], transfer.text);
  trouble = 'none';
  await service.later(MINUTE_MS);
  assert.equal((await orderOf(workspace, renewal.body.order_id)).status, 'Completed');
  assert.equal((await orderOf(workspace, transfer.body.order_id)).failure.error, 'price_changed');
  assert.deepEqual(await service.balance(workspace), [100_000 - 2 * 1_190, 0]);
});

test('a repetition under the same key joins the order, and any number of workers buy once', async () => {
  const workspace = await service.fundedWorkspace();
  const key = { 'idempotency-key': 'patient' };
  const ask = { domain: 'keyed.com', confirm_price: 11.9 };
  const first = await workspace.post('/domains', ask, key);
  const second = await workspace.post('/domains', ask, key);
  assert.equal(second.body.order_id, first.body.order_id);
  trouble = 'none';
  service.clock.advance(MINUTE_MS);
  await Promise.all([1, 2, 3].map(() => service.domains.orders.sweep()));
  assert.equal((await orderOf(workspace, first.body.order_id)).status, 'Completed');
  assert.equal(await billOf('keyed.com'), 1);
});

test('bad_request: no price at all is agreed to; a registry that is away is waited for as well', async () => {
  const workspace = await service.fundedWorkspace();
  const nothing = await workspace.post('/domains', { domain: 'nothing.com', confirm_price: 'twelve' });
  assert.deepEqual(refusal(nothing), [400, 'bad_request']);
  trouble = 'away';
  const away = await workspace.post('/domains', { domain: 'away.com', confirm_price: 11.9 });
  assert.deepEqual([away.status, away.body.status], [201, 'Pending'], away.text);
  assert.deepEqual(await service.balance(workspace), [98_810, 1_190]);
  trouble = 'none';
  await service.later(MINUTE_MS);
  assert.equal((await orderOf(workspace, away.body.order_id)).status, 'Completed');
});
