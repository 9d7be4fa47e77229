import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DAY_MS, refusal, startOrders } from '../../../../test/support/orders.ts';

const service = await startOrders();
const { plan, balance, later, fundedWorkspace } = service;
after(() => service.close());

const PRICE = 11.9;
/** After so long a pending transfer is checked, with or without a message of the registry. */
const LOOK_MS = 900_000;
const right = { auth_code: 'simulated-auth', confirm_price: PRICE };

test('a transfer holds its price until the present registrar lets the name go, and is charged then', async () => {
  const workspace = await fundedWorkspace();
  const asked = await workspace.post('/domains/Taken-One.com/transfer', right);
  assert.equal(asked.status, 201, asked.text);
  const { order_id: orderId, ...rest } = asked.body;
  assert.match(orderId, /^ord_/);
  assert.deepEqual(rest, {
    domain: 'taken-one.com',
    kind: 'transfer',
    status: 'Pending',
    duration: 1,
    price: PRICE,
    currency: 'EUR',
    paid_with: 'wallet',
    expires_at: null,
  });
  for (let day = 0; day < 4; day += 1) {
    await later(DAY_MS);
    const pending = await workspace.get('/domains/taken-one.com');
    assert.deepEqual([...refusal(pending), pending.body.details.addedVia], [409, 'pending_at_registry', 'transfer']);
    assert.deepEqual(await balance(workspace), [98_810, 1_190]);
  }
  const [listed] = (await workspace.get('/domains')).body.domains;
  assert.deepEqual([listed.status, listed.addedVia, listed.syncedAt], ['Pending', 'transfer', null]);
  await later(DAY_MS);
  assert.deepEqual(await balance(workspace), [98_810, 0]);
  const { status, body } = await workspace.get('/domains/taken-one.com');
  assert.deepEqual([status, body.status, body.addedVia], [200, 'Active', 'transfer']);
  assert.equal(body.renewal.billed_until, body.expires_at);
  await service.assertBooksAreRight();
});

test('a completed transfer appends order.completed and domain.transferred_in', async () => {
  const workspace = await fundedWorkspace();
  const { body } = await workspace.post('/domains/quick-transfer-told.com/transfer', right);
  await later(LOOK_MS);
  const { expires_at } = (await workspace.get('/domains/quick-transfer-told.com')).body;
  const [gained, completed] = (await workspace.get('/events')).body.events;
  assert.deepEqual([completed.type, completed.data.kind], ['order.completed', 'transfer']);
  assert.deepEqual(
    [gained.type, gained.data],
    [
      'domain.transferred_in',
      { domain: 'quick-transfer-told.com', order_id: body.order_id, expires_at, billed_until: expires_at },
    ],
  );
});

test('no_hosted_zone: a name that was transferred in keeps its nameservers', async () => {
  const workspace = await fundedWorkspace();
  await workspace.post('/domains/quick-transfer-zone.com/transfer', right);
  await later(LOOK_MS);
  const { body } = await workspace.get('/domains/quick-transfer-zone.com');
  assert.deepEqual(body.nameservers, ['ns1.elsewhere.example', 'ns2.elsewhere.example']);
  assert.equal(body.hosted, false);
  assert.deepEqual(refusal(await workspace.get('/domains/quick-transfer-zone.com/zone')), [409, 'no_hosted_zone']);
});

test('transfer_failed: a wrong code, a locked name and a free one are refused at once, and the money is released', async () => {
  const workspace = await fundedWorkspace();
  const cases = [
    ['taken-code.com', { ...right, auth_code: 'wrong' }],
    ['locked-one.com', right],
    ['nobody-has-it.com', right],
  ] as const;
  for (const [name, body] of cases) {
    assert.deepEqual(refusal(await workspace.post(`/domains/${name}/transfer`, body)), [422, 'transfer_failed'], name);
    assert.deepEqual(refusal(await workspace.get(`/domains/${name}`)), [404, 'not_found']);
  }
  assert.deepEqual(await balance(workspace), [100_000, 0]);
  assert.deepEqual((await workspace.get('/domains')).body.domains, []);
});

test('a transfer that the losing registrar rejects after days is released, and can be asked for again', async () => {
  const workspace = await fundedWorkspace();
  for (const _ of ['once', 'again']) {
    const asked = await workspace.post('/domains/reject-transfer-x.com/transfer', right);
    assert.deepEqual([asked.status, asked.body.status], [201, 'Pending']);
    await later(2 * DAY_MS);
    assert.deepEqual(await balance(workspace), [98_810, 1_190]);
    await later(3 * DAY_MS);
    assert.deepEqual(await balance(workspace), [100_000, 0]);
    assert.equal((await workspace.get('/domains/reject-transfer-x.com')).status, 404);
  }
  await service.assertBooksAreRight();
});

for (const moment of ['before', 'after'] as const) {
  test(`an answer that is lost ${moment} the registry took the transfer is found out, and charged once`, async () => {
    const name = `quick-transfer-${moment}.com`;
    const workspace = await fundedWorkspace();
    plan(name, [{ command: 'transfer', moment, fault: 'disconnect' }]);
    const { status, text } = await workspace.post(`/domains/${name}/transfer`, right);
    assert.equal(status, 201, text);
    assert.deepEqual(await balance(workspace), [98_810, 1_190]);
    await later(LOOK_MS);
    assert.equal((await workspace.get(`/domains/${name}`)).status, 200);
    assert.deepEqual(await balance(workspace), [98_810, 0]);
  });
}

test('already_in_portfolio, and transfer_failed for a name that another workspace has or is buying', async () => {
  const [owner, other] = [await fundedWorkspace(), await fundedWorkspace()];
  await owner.post('/domains', { domain: 'mine.com', confirm_price: PRICE });
  await owner.post('/domains/taken-mine.com/transfer', right);
  for (const name of ['mine.com', 'taken-mine.com']) {
    const path = `/domains/${name}/transfer`;
    assert.deepEqual(refusal(await owner.post(path, right)), [409, 'already_in_portfolio']);
    assert.deepEqual(refusal(await other.post(path, right)), [422, 'transfer_failed']);
  }
  assert.deepEqual(await balance(other), [100_000, 0]);
});

test('of many requests for one name one transfers it', async () => {
  const workspace = await fundedWorkspace();
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      workspace.post('/domains/taken-rush.com/transfer', right, index % 2 ? { 'idempotency-key': 'rush' } : {}),
    ),
  );
  assert.equal(new Set(answers.flatMap(({ status, body }) => (status === 201 ? [body.order_id] : []))).size, 1);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    assert.deepEqual(refusal(answer), [409, 'already_in_portfolio']);
  }
  assert.deepEqual(await balance(workspace), [98_810, 1_190]);
});

test('price_changed, bad_request, insufficient_balance: nothing is asked of anybody', async () => {
  const workspace = await fundedWorkspace(1_000);
  const path = '/domains/taken-price.com/transfer';
  const changed = await workspace.post(path, { ...right, confirm_price: 5 });
  assert.deepEqual([...refusal(changed), changed.body.details.current_price], [409, 'price_changed', PRICE]);
  const without = await workspace.post(path, { confirm_price: PRICE });
  assert.deepEqual(refusal(without), [400, 'bad_request']);
  assert.deepEqual(refusal(await workspace.post('/domains/not a name/transfer', right)), [400, 'bad_request']);
  const short = await workspace.post(path, right);
  assert.deepEqual(refusal(short), [402, 'insufficient_balance']);
  assert.deepEqual([short.body.details.required, short.body.details.available], [1_190, 1_000]);
});

test('idempotency_key_reused: the key of another transfer; the same one is a replay', async () => {
  const workspace = await fundedWorkspace();
  const ask = (name: string, body: object) =>
    workspace.post(`/domains/${name}/transfer`, body, { 'idempotency-key': 'once' });
  const first = await ask('taken-key.com', right);
  const second = await ask('taken-key.com', right);
  assert.deepEqual([second.status, second.body], [first.status, first.body]);
  assert.equal(second.headers.get('idempotent-replay'), 'true');
  assert.deepEqual(refusal(await ask('taken-key.com', { ...right, auth_code: 'x' })), [409, 'idempotency_key_reused']);
  assert.deepEqual(refusal(await ask('taken-key2.com', right)), [409, 'idempotency_key_reused']);
});

test('a name on its way in is neither renewed nor deleted: renew_failed, pending_at_registry', async () => {
  const workspace = await fundedWorkspace();
  await workspace.post('/domains/taken-wait.com/transfer', right);
  const renewed = await workspace.post('/domains/taken-wait.com/renew', { confirm_price: PRICE });
  assert.deepEqual(refusal(renewed), [422, 'renew_failed']);
  const deleted = await workspace.delete('/domains/taken-wait.com');
  assert.deepEqual([...refusal(deleted), deleted.body.details.addedVia], [409, 'pending_at_registry', 'transfer']);
  assert.deepEqual(await balance(workspace), [98_810, 1_190]);
});
