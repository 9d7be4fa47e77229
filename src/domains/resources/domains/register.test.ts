import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomains } from '../../../../test/support/domains.ts';
import { silenceAfter } from '../../../../test/support/orders.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import type { Fault, FaultCommand } from '../../registry/simulated/index.ts';
import { auditLedger, readWallet } from '../../wallet/index.ts';

const clock = createManualClock(new Date('2027-03-01T12:00:00Z'));
/** Faults by name of the domain: the first is met first. */
const faults = new Map<string, { command: FaultCommand; moment: 'before' | 'after'; fault: Fault }[]>();
const meet = (moment: 'before' | 'after') => (command: FaultCommand, name: string) => {
  const planned = faults.get(name)?.[0];
  if (planned?.command !== command || planned.moment !== moment) return 'ok';
  faults.get(name)?.shift();
  return planned.fault;
};
const faultsOfNames = { before: meet('before'), after: meet('after') };
const service = await startDomains({ clock, simulated: { faults: faultsOfNames } });
after(() => service.close());

const PRICE = 11.9;

async function fundedWorkspace(cents = 100_000) {
  const workspace = await service.createWorkspace();
  await workspace.fund(cents);
  return workspace;
}

async function balance(workspaceId: string): Promise<[available: number, held: number]> {
  const { availableCents, heldCents } = await readWallet(service.db, workspaceId);
  return [availableCents, heldCents];
}

test('a registration is charged once, listed, and reported by the registry', async () => {
  const workspace = await fundedWorkspace();
  const bought = await workspace.post('/domains', { domain: 'Bücher-One.com', duration: 2, confirm_price: '23.80' });
  assert.equal(bought.status, 201, bought.text);
  const { order_id: orderId, ...rest } = bought.body;
  assert.match(orderId, /^ord_/);
  assert.deepEqual(rest, {
    domain: 'xn--bcher-one-q9a.com',
    kind: 'registration',
    status: 'Completed',
    duration: 2,
    price: 23.8,
    currency: 'EUR',
    paid_with: 'wallet',
    expires_at: '2029-03-01T12:00:00.000Z',
  });
  assert.deepEqual(await balance(workspace.workspaceId), [97_620, 0]);

  const list = await workspace.reader.get('/domains');
  assert.equal(list.headers.get('cache-control'), 'private, no-store');
  assert.equal(list.body.domains.length, 1);
  assert.equal(list.body.domains[0].syncedAt, '2027-03-01T12:00:00.000Z');

  const { status, body } = await workspace.reader.get('/domains/BÜCHER-one.com.');
  assert.equal(status, 200);
  assert.equal(body.unicode, 'bücher-one.com');
  assert.equal(body.status, 'Active');
  assert.equal(body.hosted, true);
  assert.deepEqual(body.nameservers, ['ns1.ironcraft.test', 'ns2.ironcraft.test']);
  assert.equal(body.renewal.auto_renew, true);
  assert.equal(body.renewal.billed_until, '2029-03-01T12:00:00.000Z');
  assert.deepEqual(await auditLedger(service.db), []);
});

test('price_changed, bad_request: a price that is not the live one is refused with the live one, and nothing happens', async () => {
  const workspace = await fundedWorkspace();
  for (const confirm_price of [11.89, '11.91', 12, 0, '23.80']) {
    const { status, body } = await workspace.post('/domains', { domain: 'price.com', confirm_price });
    assert.deepEqual([status, body.error, body.details.current_price], [409, 'price_changed', PRICE]);
  }
  for (const confirm_price of ['11.900', 11.901, '1e1', '-1', 'free']) {
    const { status, body } = await workspace.post('/domains', { domain: 'price.com', confirm_price });
    assert.deepEqual([status, body.error, body.details.param], [400, 'bad_request', 'confirm_price']);
  }
  assert.deepEqual(await balance(workspace.workspaceId), [100_000, 0]);
});

test('insufficient_balance: a wallet that is short says by how much and keeps its money', async () => {
  const workspace = await fundedWorkspace(1_000);
  const { status, body } = await workspace.post('/domains', { domain: 'short.com', confirm_price: PRICE });
  assert.deepEqual([status, body.error], [402, 'insufficient_balance']);
  assert.deepEqual([body.details.required, body.details.available], [1_190, 1_000]);
  assert.deepEqual((await workspace.get('/domains')).body.domains, []);
});

test('registration_failed, pending_at_registry: what the registry refuses is released, at once or later', async () => {
  const workspace = await fundedWorkspace();
  const refused = await workspace.post('/domains', { domain: 'refuse-me.com', confirm_price: PRICE });
  assert.deepEqual([refused.status, refused.body.error], [422, 'registration_failed']);
  const taken = await workspace.post('/domains', { domain: 'google.com', confirm_price: PRICE });
  assert.deepEqual([taken.status, taken.body.error], [422, 'registration_failed']);
  const rejected = await workspace.post('/domains', { domain: 'reject-me.com', confirm_price: PRICE });
  assert.deepEqual([rejected.status, rejected.body.status], [201, 'Pending']);
  assert.deepEqual(await balance(workspace.workspaceId), [98_810, 1_190]);
  const pending = await workspace.get('/domains/reject-me.com');
  assert.deepEqual([pending.status, pending.body.error], [409, 'pending_at_registry']);
  assert.equal(pending.body.details.addedVia, 'registration');
  clock.advance(40_000);
  // The first refreshes the name, the second reads the registry’s message about it.
  await service.domains.orders.sweep();
  await service.domains.orders.sweep();
  assert.equal((await workspace.get('/domains/reject-me.com')).status, 404);
  assert.deepEqual(await balance(workspace.workspaceId), [100_000, 0]);
  assert.deepEqual(await auditLedger(service.db), []);
});

for (const moment of ['before', 'after'] as const) {
  test(`an answer that is lost ${moment} the registry did it is found out, and charged once`, async () => {
    const name = `lost-${moment}.com`;
    faults.set(name, [{ command: 'create', moment, fault: 'disconnect' }]);
    const workspace = await fundedWorkspace();
    const { status, body } = await workspace.post('/domains', { domain: name, confirm_price: PRICE });
    assert.deepEqual([status, body.status], [201, 'Completed']);
    assert.deepEqual(await balance(workspace.workspaceId), [98_810, 0]);
  });
}

test('Pending: while the outcome is not known the hold stays, and the same key is answered the same', async () => {
  const name = 'silent.com';
  faults.set(name, silenceAfter('create'));
  const workspace = await fundedWorkspace();
  const buy = () => workspace.post('/domains', { domain: name, confirm_price: PRICE }, { 'idempotency-key': 'k1' });
  const first = await buy();
  assert.deepEqual([first.status, first.body.status, first.body.expires_at], [201, 'Pending', null]);
  assert.deepEqual(await balance(workspace.workspaceId), [98_810, 1_190]);
  faults.delete(name);
  clock.advance(120_000);
  await service.domains.orders.sweep();
  const other = await workspace.post('/domains', { domain: name, confirm_price: PRICE });
  assert.deepEqual([other.status, other.body.error], [409, 'already_in_portfolio']);
  const second = await buy();
  assert.deepEqual([second.status, second.body], [201, first.body]);
  assert.equal(second.headers.get('idempotent-replay'), 'true');
  assert.equal((await workspace.get(`/domains/${name}`)).body.status, 'Active');
  assert.deepEqual(await balance(workspace.workspaceId), [98_810, 0]);
});

test('a repetition under the same key is a replay; idempotency_key_reused for another body', async () => {
  const workspace = await fundedWorkspace();
  const key = { 'idempotency-key': 'once' };
  const body = { domain: 'replay.com', confirm_price: PRICE };
  const first = await workspace.post('/domains', body, key);
  const second = await workspace.post('/domains', body, key);
  assert.deepEqual([second.status, second.body], [first.status, first.body]);
  assert.deepEqual([first.headers.get('idempotent-replay'), second.headers.get('idempotent-replay')], [null, 'true']);
  const other = await workspace.post('/domains', { ...body, domain: 'replay2.com' }, key);
  assert.deepEqual([other.status, other.body.error], [409, 'idempotency_key_reused']);
  assert.deepEqual(await balance(workspace.workspaceId), [98_810, 0]);
});

test('a failure is not kept: the same key buys once it can', async () => {
  const workspace = await fundedWorkspace(1_000);
  const buy = () =>
    workspace.post('/domains', { domain: 'later.com', confirm_price: PRICE }, { 'idempotency-key': 'later' });
  assert.equal((await buy()).status, 402);
  await workspace.fund(1_000);
  assert.equal((await buy()).status, 201);
});

test('already_in_portfolio: of many requests for one name, with and without a key, one buys', async () => {
  const workspace = await fundedWorkspace();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      workspace.post(
        '/domains',
        { domain: 'race.com', confirm_price: PRICE },
        index % 2 ? { 'idempotency-key': 'race' } : {},
      ),
    ),
  );
  const orders = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.order_id));
  assert.equal(orders.size, 1);
  for (const { status, body } of answers) {
    if (status !== 201) assert.deepEqual([status, body.error], [409, 'already_in_portfolio']);
  }
  assert.deepEqual(await balance(workspace.workspaceId), [98_810, 0]);
});

test('a message that comes twice is not applied to the next order of the name', async () => {
  const delays = { createSeconds: 60 };
  const slow = await startDomains({ clock, sharing: service, simulated: { delays, faults: faultsOfNames } });
  try {
    const workspace = await slow.createWorkspace();
    await workspace.fund(100_000);
    const buy = () => workspace.post('/domains', { domain: 'reject-twice.com', confirm_price: PRICE });
    const later = async () => {
      clock.advance(61_000);
      for (let sweep = 0; sweep < 3; sweep += 1) await slow.domains.orders.sweep();
    };
    const forgetful = { command: 'acknowledge', moment: 'before', fault: 'timeout' } as const;
    for (let id = 1; id < 100; id += 1) faults.set(String(id), Array(10).fill(forgetful));
    assert.equal((await buy()).body.status, 'Pending');
    await later();
    assert.deepEqual(await balance(workspace.workspaceId), [100_000, 0]);
    assert.equal((await buy()).body.status, 'Pending');
    await slow.domains.orders.sweep();
    assert.deepEqual(await balance(workspace.workspaceId), [98_810, 1_190]);
    for (let id = 1; id < 100; id += 1) faults.delete(String(id));
    await later();
    assert.deepEqual(await balance(workspace.workspaceId), [100_000, 0]);
  } finally {
    await slow.close();
  }
});

test('registration_failed, not_found: another workspace’s name cannot be bought, and to others it does not exist', async () => {
  const [owner, other] = [await fundedWorkspace(), await fundedWorkspace()];
  assert.equal((await owner.post('/domains', { domain: 'owned.com', confirm_price: PRICE })).status, 201);
  const { status, body } = await other.post('/domains', { domain: 'owned.com', confirm_price: PRICE });
  assert.deepEqual([status, body.error], [422, 'registration_failed']);
  const [foreign, never] = [await other.get('/domains/owned.com'), await other.get('/domains/never.com')];
  assert.deepEqual([foreign.status, foreign.text], [404, never.text]);
  const again = await owner.post('/domains', { domain: 'owned.com', confirm_price: PRICE });
  assert.deepEqual([again.status, again.body.error], [409, 'already_in_portfolio']);
});
