import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startDomains, type TestWorkspace } from '../../../../test/support/domains.ts';
import { refusal } from '../../../../test/support/orders.ts';
import { credit } from '../../wallet/index.ts';
import type { WalletMovement } from './schema.ts';

const service = await startDomains();
after(() => service.close());

const PRICE = 11.9;
let made = 0;
const newName = () => `wallet-${process.pid}-${++made}.com`;

async function buy(workspace: TestWorkspace): Promise<string> {
  const { status, body, text } = await workspace.post('/domains', { domain: newName(), confirm_price: PRICE });
  assert.equal(status, 201, text);
  return body.order_id;
}

/** Every page of a list, `limit` at a time. */
async function walk<Row>(workspace: TestWorkspace, path: string, member: string, limit: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const { status, body, text } = await workspace.get(`${path}?limit=${limit}${next && `&after=${next}`}`);
    assert.equal(status, 200, text);
    rows.push(...body[member]);
    next = body.next_after;
  }
  return rows;
}

describe('the wallet', () => {
  test('shows what is available and what is set aside', async () => {
    const workspace = await service.createWorkspace();
    await workspace.fund(5_000);
    await buy(workspace);
    await workspace.post(`/domains/taken-${newName()}/transfer`, { auth_code: 'simulated-auth', confirm_price: PRICE });
    const { body } = await workspace.reader.get('/wallet');
    assert.deepEqual(body, { available_cents: 5_000 - 2 * 1_190, held_cents: 1_190, currency: 'EUR' });
  });

  test('lists every movement once, newest first, and they add up to it', async () => {
    const workspace = await service.createWorkspace();
    await workspace.fund(5_000);
    const orderId = await buy(workspace);
    const bought = `registration of ${(await workspace.get(`/orders/${orderId}`)).body.domain}`;
    await workspace.fund(700);
    const movements = await walk<WalletMovement>(workspace, '/wallet/ledger', 'movements', 1);
    assert.deepEqual(
      movements.map((one) => [
        one.kind,
        one.available_change_cents,
        one.held_change_cents,
        one.order_id,
        one.description,
      ]),
      [
        ['credit', 700, 0, null, 'test'],
        ['capture', 0, -1_190, orderId, bought],
        ['hold', -1_190, 1_190, orderId, bought],
        ['credit', 5_000, 0, null, 'test'],
      ],
    );
    assert.deepEqual((await workspace.get('/wallet/ledger')).body, { movements, next_after: null });
  });

  test('a movement names the payment that it is of', async () => {
    const workspace = await service.createWorkspace();
    const [workspaceId, paymentId] = [workspace.workspaceId, workspace.userId];
    const booking = { workspaceId, source: 'card', amountCents: 100, description: 'top-up by card' } as const;
    await service.db.transaction((tx) => credit(tx, { ...booking, reference: `payment:${paymentId}` }));
    const [movement] = (await workspace.get('/wallet/ledger')).body.movements;
    assert.deepEqual([movement.payment_id, movement.order_id], [paymentId, null]);
    assert.deepEqual((await workspace.get('/wallet/ledger')).body.movements, [movement]);
  });

  test('is each workspace’s own, and a page of it leads nowhere in another', async () => {
    const [one, other] = [await service.createWorkspace(), await service.createWorkspace()];
    await one.fund(100);
    await one.fund(200);
    const { body } = await one.get('/wallet/ledger?limit=1');
    assert.deepEqual((await other.get('/wallet/ledger')).body.movements, []);
    assert.deepEqual((await other.get('/wallet')).body.available_cents, 0);
    assert.deepEqual(refusal(await other.get(`/wallet/ledger?after=${body.next_after}`)), [400, 'bad_request']);
  });
});

describe('orders', () => {
  test('are listed newest first, and shown with what has become of them', async () => {
    const workspace = await service.createWorkspace();
    await workspace.fund(5_000);
    const first = await buy(workspace);
    const second = await buy(workspace);
    const orders = await walk<{ id: string }>(workspace, '/orders', 'orders', 1);
    assert.deepEqual(
      orders.map(({ id }) => id),
      [second, first],
    );
    const { body } = await workspace.reader.get(`/orders/${first}`);
    assert.deepEqual(orders[1], body);
    const { kind, origin, duration, price, currency, paid_with, status, failure } = body;
    assert.deepEqual(
      { kind, origin, duration, price, currency, paid_with, status, failure },
      {
        kind: 'registration',
        origin: 'request',
        duration: 1,
        price: PRICE,
        currency: 'EUR',
        paid_with: 'wallet',
        status: 'Completed',
        failure: null,
      },
    );
  });

  test('one that failed says why, as its call did', async () => {
    const workspace = await service.createWorkspace();
    await workspace.fund(5_000);
    const wrong = { auth_code: 'not the code', confirm_price: PRICE };
    const refused = await workspace.post(`/domains/taken-${newName()}/transfer`, wrong);
    assert.deepEqual(refusal(refused), [422, 'transfer_failed'], refused.text);
    const { order_id, message } = refused.body.details;
    const { body } = await workspace.get(`/orders/${order_id}`);
    assert.deepEqual([body.status, body.failure], ['Failed', { error: 'transfer_failed', message }]);
    assert.ok(body.ended_at);
  });

  test('not_found: one of another workspace is as one that never was', async () => {
    const [one, other] = [await service.createWorkspace(), await service.createWorkspace()];
    await one.fund(5_000);
    const order = await buy(one);
    const foreign = await other.get(`/orders/${order}`);
    assert.deepEqual(refusal(foreign), [404, 'not_found']);
    assert.equal(foreign.text, (await other.get('/orders/ord_0')).text);
    assert.deepEqual((await other.get('/orders')).body, { orders: [], next_after: null });
    assert.deepEqual((await other.get(`/orders?after=${order}`)).body.orders, []);
  });
});
