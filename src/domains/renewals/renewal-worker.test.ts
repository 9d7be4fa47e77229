import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { RenewalWorld } from '../../../test/support/renewal-world.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The table's price of a .com. */
const COM_CENTS = 1_190;
const START = new Date('2027-03-01T00:00:00.000Z');

let database: TestDatabase;
let world: RenewalWorld;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());
beforeEach(async () => {
  await world?.retire();
  world = new RenewalWorld(database.db, START);
});

const inDays = (days: number): Date => new Date(START.getTime() + days * DAY_MS);

/** What happens in between: while the registry is asked, or just before the order is placed. */
function interrupt(moment: 'onAsked' | 'onPlacing', act: (() => Promise<unknown>) | undefined): void {
  if (moment === 'onAsked') world.registry.onAsked = act;
  else world.onPlacing = act;
}

async function oneName(cents: number, days: number, options: { tld?: string; autoRenew?: boolean } = {}) {
  const workspaceId = await world.addWorkspace(cents);
  return world.addName(workspaceId, { expiresAt: inDays(days), ...options });
}

test('a term is charged for once 30 days are left, and not a moment earlier', async () => {
  const name = await oneName(5_000, 31);
  const worker = world.startWorker();
  world.clock.advance(DAY_MS - 1);
  await worker.runDue();
  assert.equal(world.charges.length, 0);
  const before = await world.renewalOf(name);
  assert.deepEqual([before.term, before.next_charge_at, before.price], ['not_due', inDays(1).toISOString(), 11.9]);

  world.clock.advance(1);
  assert.deepEqual(await worker.runDue(), { looked: 1, charged: 1, isComplete: true });
  assert.equal(await world.availableCents(name.workspaceId), 5_000 - COM_CENTS);
  const charged = await world.renewalOf(name);
  assert.deepEqual([charged.term, charged.renewed_until], ['pending', '2028-04-01T00:00:00.000Z']);

  await world.settleOrders();
  await worker.runDue();
  const renewed = await world.renewalOf(name);
  const until = '2028-04-01T00:00:00.000Z';
  assert.deepEqual(
    [renewed.term, renewed.expires_at, renewed.billed_until, renewed.renewed_until, renewed.next_charge_at],
    ['renewed', until, until, until, '2028-03-02T00:00:00.000Z'],
  );
  world.clock.advance(30 * DAY_MS);
  assert.deepEqual((await world.renewalOf(name)).renewed_until, null);
  assert.equal((await world.renewalOf(name)).term, 'not_due');
  assert.equal(world.charges.length, 1);
});

test('a name is renewed for the years that its TLD sells at least', async () => {
  const name = await oneName(100_000, 20, { tld: 'ai' });
  await world.startWorker().runDue();
  const [charge] = world.chargesOf(name);
  assert.deepEqual([charge?.years, charge?.priceCents], [2, 2 * 7_990]);
  assert.equal((await world.renewalOf(name)).renewed_until, '2029-03-21T00:00:00.000Z');
});

test('a short wallet shows by how much, and is charged once it is topped up', async () => {
  const name = await oneName(1_000, 25);
  const worker = world.startWorker();
  await worker.runDue();
  const unpaid = await world.renewalOf(name);
  assert.deepEqual([unpaid.term, unpaid.shortfall], ['unpaid', 1.9]);
  assert.match(unpaid.reason ?? '', /1\.90 EUR/);
  assert.equal(world.registry.asked, 0, 'the registry was asked for nothing');
  await world.topUp(name.workspaceId, 190);
  await worker.runDue();
  assert.equal(world.charges.length, 1);
  assert.equal((await world.renewalOf(name)).shortfall, null);
});

test('what is unpaid 10 days before expiry is left to expire, whatever the wallet has from then on', async () => {
  const name = await oneName(1_000, 25);
  const worker = world.startWorker();
  await worker.runDue();
  world.clock.advance(15 * DAY_MS);
  await world.topUp(name.workspaceId, 10_000);
  await worker.runDue();
  await worker.runDue();
  assert.equal(world.charges.length, 0);
  const lapsing = await world.renewalOf(name);
  assert.deepEqual([lapsing.term, lapsing.next_charge_at, lapsing.shortfall], ['lapsing', null, 1.9]);
  assert.match(lapsing.reason ?? '', /by 2027-03-16.*1\.90 EUR/);
});

test('a clock that goes straight past the deadline, or past the expiry, charges nothing', async () => {
  const names = [await oneName(5_000, 40), await oneName(5_000, 35)];
  world.clock.set(inDays(36));
  await world.startWorker().runDue();
  assert.equal(world.charges.length, 0);
  for (const name of names) assert.equal((await world.rowOf(name)).renewal_state, 'lapsing');
});

test('a clock that steps back does not charge for a term again', async () => {
  const name = await oneName(50_000, 25);
  await world.startWorker().runDue();
  await world.settleOrders();
  for (const days of [-20, -1, 3, 24]) {
    world.clock.set(inDays(days));
    await world.startWorker().runDue();
    await world.settleOrders();
  }
  assert.equal(world.chargesOf(name).length, 1);
});

test('a snapshot that is behind the registry is put right and nothing is charged', async () => {
  const name = await oneName(5_000, 20);
  name.atRegistry.expiresAt = inDays(20 + 365);
  await world.startWorker().runDue();
  assert.equal(world.charges.length, 0);
  assert.deepEqual((await world.rowOf(name)).expires_at, inDays(20 + 365));
  assert.equal((await world.renewalOf(name)).term, 'not_due');
});

test('a term that was sold is not sold again while the registry still shows the old expiry', async () => {
  const name = await oneName(50_000, 20);
  const worker = world.startWorker();
  await worker.runDue();
  await world.settleOrders();
  await database.db.query({
    text: 'update domains.domains set expires_at = $1 where id = $2',
    values: [inDays(20), name.domainId],
  });
  await worker.runDue();
  assert.equal(world.charges.length, 1);
  assert.equal((await world.renewalOf(name)).term, 'pending');
});

test('without the registry’s answer nothing is charged, and the next run tries again', async () => {
  const name = await oneName(5_000, 20);
  const worker = world.startWorker();
  world.registry.isAway = true;
  await worker.runDue();
  assert.equal(world.charges.length, 0);
  const waiting = await world.renewalOf(name);
  assert.deepEqual([waiting.term, waiting.reason], ['failed', 'The registry did not answer.']);
  world.registry.isAway = false;
  await worker.runDue();
  assert.equal(world.chargesOf(name).length, 1);
});

test('a registry that is away is not asked for every name, and names it never answers for keep no other back', async () => {
  const workspaceId = await world.addWorkspace(50_000);
  const days = [20, 21, 22, 23, 24];
  const names = await Promise.all(days.map((day) => world.addName(workspaceId, { expiresAt: inDays(day) })));
  for (const { name } of names.slice(0, 3)) world.registry.silent.add(name);
  const worker = world.startWorker({ batchSize: 2 });
  assert.deepEqual(await worker.runDue(), { looked: 3, charged: 0, isComplete: false });
  assert.deepEqual(await worker.runDue(), { looked: 5, charged: 2, isComplete: false });
  world.registry.silent.clear();
  assert.equal((await worker.runDue()).charged, 3);
  assert.equal(world.charges.length, 5);
});

test('a name that the registry would not renew now is not charged for', async () => {
  const name = await oneName(5_000, 20);
  const worker = world.startWorker();
  name.atRegistry.statuses = ['clientHold', 'pendingTransfer'];
  await worker.runDue();
  assert.equal(world.charges.length, 0);
  const waiting = await world.renewalOf(name);
  assert.equal(waiting.term, 'failed');
  assert.match(waiting.reason ?? '', /pendingTransfer/);
  name.atRegistry.statuses = ['ok'];
  await worker.runDue();
  assert.equal(world.chargesOf(name).length, 1);
});

test('a renewal that the registry refuses is tried again after an hour, then after two', async () => {
  const name = await oneName(5_000, 20);
  name.atRegistry.refusals = 2;
  const worker = world.startWorker();
  const tryAt = async (hours: number): Promise<number> => {
    world.clock.set(new Date(START.getTime() + hours * HOUR_MS));
    await worker.runDue();
    await world.settleOrders();
    return world.chargesOf(name).length;
  };
  assert.equal(await tryAt(0), 1);
  const failed = await world.renewalOf(name);
  assert.deepEqual([failed.term, failed.renewed_until], ['failed', null]);
  assert.match(failed.reason ?? '', /The rules of the registry do not allow this for .+ Nothing was charged\./);
  assert.equal(await world.availableCents(name.workspaceId), 5_000);
  assert.equal(await tryAt(0.9), 1);
  assert.equal(await tryAt(1), 2);
  assert.equal(await tryAt(2.9), 2);
  assert.equal(await tryAt(3), 3);
  assert.equal((await world.renewalOf(name)).term, 'renewed');
});

test('a run that is aborted ends after the current name', async () => {
  await oneName(5_000, 20);
  await oneName(5_000, 21);
  const stop = new AbortController();
  world.onPlacing = async () => stop.abort();
  const worker = world.startWorker();
  assert.deepEqual(await worker.runDue(stop.signal), { looked: 1, charged: 1, isComplete: false });
  assert.equal((await worker.runDue()).charged, 1);
});

test('two workers charge once', async () => {
  const workspaceId = await world.addWorkspace(100_000);
  for (let day = 11; day < 30; day += 1) await world.addName(workspaceId, { expiresAt: inDays(day) });
  const workers = [world.startWorker({ batchSize: 3 }), world.startWorker({ batchSize: 4 }), world.startWorker()];
  await Promise.all(workers.map((worker) => worker.runDue()));
  await Promise.all(workers.map((worker) => worker.runDue()));
  assert.equal(world.charges.length, 19);
  assert.equal(new Set(world.charges.map(({ domainId }) => domainId)).size, 19);
  assert.equal(await world.availableCents(workspaceId), 100_000 - 19 * COM_CENTS);
});

test('auto-renew that is off costs nothing, and off after the charge changes nothing', async () => {
  const off = await oneName(5_000, 20, { autoRenew: false });
  const charged = await oneName(5_000, 20);
  const worker = world.startWorker();
  await worker.runDue();
  await world.setAutoRenew(charged, false);
  await worker.runDue();
  await world.settleOrders();
  assert.deepEqual([world.chargesOf(off).length, (await world.renewalOf(off)).term], [0, 'off']);
  const { term, auto_renew, renewed_until, next_charge_at } = await world.renewalOf(charged);
  assert.deepEqual(
    [term, auto_renew, renewed_until, next_charge_at],
    ['renewed', false, '2028-03-21T00:00:00.000Z', null],
  );
});

test('a name that is to be released is not renewed', async () => {
  const name = await oneName(5_000, 20);
  await database.db.query({
    text: 'update domains.domains set release_at = $1 where id = $2',
    values: [inDays(20), name.domainId],
  });
  await world.startWorker().runDue();
  const { term, reason, next_charge_at } = await world.renewalOf(name);
  assert.deepEqual([world.charges.length, term, next_charge_at], [0, 'off', null]);
  assert.match(reason ?? '', /2027-03-21/);
});

test('turning auto-renew off at the last moment costs nothing', async () => {
  for (const moment of ['onAsked', 'onPlacing'] as const) {
    const name = await oneName(5_000, 20);
    interrupt(moment, () => world.setAutoRenew(name, false));
    await world.startWorker().runDue();
    interrupt(moment, undefined);
    assert.deepEqual([world.charges.length, await world.availableCents(name.workspaceId)], [0, 5_000], moment);
    assert.equal((await world.renewalOf(name)).term, 'off');
  }
});

test('a deadline that passes while the registry is asked is kept', async () => {
  for (const moment of ['onAsked', 'onPlacing'] as const) {
    world.clock.set(START);
    await oneName(5_000, 11);
    interrupt(moment, async () => world.clock.set(inDays(1)));
    await world.startWorker().runDue();
    interrupt(moment, undefined);
    assert.equal(world.charges.length, 0, moment);
    await world.retire();
  }
});

test('an answer of the registry that somebody else has overtaken is not written down', async () => {
  const name = await oneName(5_000, 20);
  world.registry.onAsked = async () => {
    await database.db.query({
      text: 'update domains.domains set expires_at = $1 where id = $2',
      values: [inDays(400), name.domainId],
    });
  };
  await world.startWorker().runDue();
  assert.deepEqual([world.charges.length, (await world.rowOf(name)).expires_at], [0, inDays(400)]);
});

test('toggles and charges at once happen in one order', async () => {
  for (let round = 0; round < 10; round += 1) {
    const name = await oneName(5_000, 20);
    const [, stood] = await Promise.all([world.startWorker().runDue(), world.setAutoRenew(name, false)]);
    await world.startWorker().runDue();
    assert.equal(world.chargesOf(name).length, stood ? 1 : 0);
  }
});
