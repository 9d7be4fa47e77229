/** Our adapter against our server over TLS: every operation of the port. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import {
  openTestEpp,
  PASSWORD,
  rejectionOf,
  type TestEpp,
  testCreation,
  testNameservers,
  testRegistrant,
} from '../../../../test/support/epp.ts';
import { DAY_MS, done } from '../../../../test/support/simulated-registry.ts';
import type { SingleRegistry } from '../registry.ts';
import { addYears } from '../term.ts';

const dsRecord = { keyTag: 12_345, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) };

let database: TestDatabase;
let epp: TestEpp;
let registry: SingleRegistry;
let count = 0;

before(async () => {
  database = await openTestDatabase();
  epp = await openTestEpp(database.db, { delays: { createSeconds: 0, renewSeconds: 0 } });
  registry = await epp.connect();
});
after(async () => {
  await epp.close();
  await database.close();
});

function newName(label = 'name'): string {
  count += 1;
  return `${label}-${count}.com`;
}

async function register(name = newName()): Promise<string> {
  const outcome = await registry.create(testCreation(name));
  assert.equal(outcome.kind, 'completed');
  return name;
}

async function infoOf(name: string) {
  const info = await registry.info(name);
  assert.ok(info);
  return info;
}

test('names are checked in batches, in their order', async () => {
  const taken = await register();
  const free = Array.from({ length: 23 }, (_, index) => `free-${index}.com`);
  const names = [...free.slice(0, 12), taken, 'reserved-1.com', 'a.nowhere', ...free.slice(12)];
  const found = await registry.check(names);
  assert.deepEqual(
    found.map(({ name }) => name),
    names,
  );
  assert.deepEqual(
    found.filter(({ availability }) => availability !== 'available').map(({ availability }) => availability),
    ['taken', 'reserved', 'reserved'],
  );
});

test('a name is registered with its contact and its hosts, and read back', async () => {
  const name = newName();
  const outcome = await registry.create({ ...testCreation(name), years: 2 });
  assert.deepEqual(outcome, { kind: 'completed', expiresAt: '2028-03-01T12:00:00.000Z' });
  const info = await infoOf(name);
  assert.match(info.registryId, /./);
  const registrantId = registry.habitsOf(name).registrantIdOf?.(name, testRegistrant);
  assert.match(registrantId ?? '', /./);
  assert.deepEqual(
    { ...info, registryId: '' },
    {
      name,
      registryId: '',
      registrantId,
      isOurs: true,
      statuses: ['ok', 'addPeriod'],
      createdAt: '2026-03-01T12:00:00.000Z',
      updatedAt: null,
      expiresAt: '2028-03-01T12:00:00.000Z',
      nameservers: testNameservers,
      dsRecords: [],
      isPrivate: true,
    },
  );
  const { registrant: id } = done(await epp.core.infoDomain(epp.ours, { name }));
  const contact = done(await epp.core.infoContact(epp.ours, { id }));
  assert.deepEqual(contact.postalInfo, [
    {
      type: 'loc',
      name: testRegistrant.name,
      street: [testRegistrant.street],
      city: testRegistrant.city,
      country: 'SE',
    },
  ]);
  assert.equal(contact.disclose, false);
});

test('a name that is not there is undefined, and one of another registrar is not ours', async () => {
  assert.equal(await registry.info('nobody-has-this.com'), undefined);
  assert.equal((await infoOf('taken-one.com')).isOurs, false);
});

test('refusals of the registry are distinguished', async () => {
  assert.equal(rejectionOf(await registry.create(testCreation('taken-two.com'))), 'object_exists');
  assert.equal(rejectionOf(await registry.create(testCreation('refuse-this.com'))), 'policy');
  const { city: _, ...homeless } = testRegistrant;
  const lacking = await registry.create({ ...testCreation(newName()), registrant: homeless });
  assert.deepEqual(lacking, {
    kind: 'rejected',
    code: 'policy',
    reason: "the registry needs the registrant's city",
    explanation: "The registry needs the registrant's city.",
  });
  const unwritable = await registry.create({
    ...testCreation(newName()),
    registrant: { ...testRegistrant, name: 'a\u0000b' },
  });
  assert.equal(rejectionOf(unwritable), 'other');
  assert.equal(
    rejectionOf(await registry.delete({ name: 'nobody.com', transactionId: 'del-1' })),
    'object_does_not_exist',
  );
  assert.equal(rejectionOf(await registry.delete({ name: 'taken-two.com', transactionId: 'del-2' })), 'not_authorized');
  assert.equal(
    rejectionOf(await registry.restore({ name: await register(), transactionId: 'res-1' })),
    'status_prohibits',
  );
});

test('a renewal moves the expiry that it names, once', async () => {
  const name = await register();
  const { expiresAt: currentExpiresAt = '' } = await infoOf(name);
  const command = { name, transactionId: 'ren-1', years: 2, currentExpiresAt };
  assert.deepEqual(await registry.renew(command), { kind: 'completed', expiresAt: '2029-03-01T12:00:00.000Z' });
  assert.equal(rejectionOf(await registry.renew(command)), 'wrong_expiry');
  assert.equal((await infoOf(name)).expiresAt, '2029-03-01T12:00:00.000Z');
  const refused = await registry.renew({ ...command, currentExpiresAt: '2029-03-01T12:00:00Z', years: 99 });
  assert.equal(rejectionOf(refused), 'policy');
});

test('a transfer needs the auth code, is pending, and ends with a message', async () => {
  const command = { name: 'taken-mine.com', transactionId: 'tra-1', authCode: 'simulated-auth', years: 1 };
  const { expiresAt: before = '' } = await infoOf(command.name);
  assert.equal(rejectionOf(await registry.transfer({ ...command, authCode: 'not-it-at-all' })), 'bad_auth_code');
  assert.deepEqual(await registry.transfer(command), { kind: 'pending' });
  assert.equal(rejectionOf(await registry.transfer(command)), 'pending_transfer');
  assert.ok((await infoOf(command.name)).statuses.includes('pendingTransfer'));
  const begun = epp.clock.now();
  const actsAt = new Date(begun.getTime() + 5 * DAY_MS).toISOString();
  const requestedBy = epp.ours.registrarId;
  const expiresAt = addYears(new Date(before), 1).toISOString();
  const asked = { isOurs: true, requestedBy, requestedAt: begun.toISOString(), actsAt, expiresAt };
  assert.deepEqual(await registry.transferOf(command.name), { ...asked, state: 'pending' });
  assert.equal(await registry.transferOf('taken-by-nobody.com'), undefined);
  epp.clock.advance(6 * DAY_MS);
  assert.deepEqual(await registry.transferOf(command.name), { ...asked, state: 'approved' });
  assert.equal((await infoOf(command.name)).isOurs, true);
  const messages = await drain(registry);
  assert.ok(messages.some(({ name, kind }) => name === command.name && kind === 'transfer_completed'));
  assert.equal(rejectionOf(await registry.transfer({ ...command, transactionId: 'tra-2' })), 'not_eligible');
});

async function drain(from: SingleRegistry) {
  const messages = [];
  for (;;) {
    const found = await from.poll();
    if (found === undefined) return messages;
    messages.push(found.message);
    await from.acknowledge(found.message.id);
    // One that is repeated finds it gone, and that is what it wants.
    await from.acknowledge(found.message.id);
  }
}

test('an update sends what differs, and nothing where nothing does', async () => {
  const name = await register();
  const change = {
    name,
    transactionId: 'upd-1',
    nameservers: ['ns2.ironcraft.example', 'ns3.elsewhere.example'],
    dsRecords: [dsRecord],
    isPrivate: false,
    locked: true,
    authCode: 'a-new-auth-code',
  };
  assert.deepEqual(await registry.update(change), { kind: 'completed' });
  const { statuses, ...info } = await infoOf(name);
  assert.deepEqual(info.nameservers, ['ns2.ironcraft.example', 'ns3.elsewhere.example']);
  assert.deepEqual(info.dsRecords, [dsRecord]);
  assert.equal(info.isPrivate, false);
  for (const status of ['clientDeleteProhibited', 'clientTransferProhibited', 'clientUpdateProhibited']) {
    assert.ok(statuses.includes(status), status);
  }
  assert.equal(done(await epp.core.infoDomain(epp.ours, { name })).authInfo, 'a-new-auth-code');
  epp.clock.advance(1_000);
  const { authCode: _, ...same } = change;
  assert.deepEqual(await registry.update(same), { kind: 'completed' });
  assert.equal((await infoOf(name)).updatedAt, info.updatedAt);
});

test('a locked name changes and stays locked, until it is unlocked', async () => {
  const name = await register();
  await registry.update({ name, transactionId: 'loc-1', locked: true });
  assert.deepEqual(await registry.update({ name, transactionId: 'loc-2', nameservers: [] }), { kind: 'completed' });
  const locked = await infoOf(name);
  assert.deepEqual(locked.nameservers, []);
  assert.equal(locked.statuses.filter((status) => status.startsWith('client')).length, 3);
  assert.equal(rejectionOf(await registry.delete({ name, transactionId: 'loc-3' })), 'status_prohibits');
  assert.deepEqual(await registry.update({ name, transactionId: 'loc-4', locked: false }), { kind: 'completed' });
  assert.equal((await infoOf(name)).statuses.filter((status) => status.startsWith('client')).length, 0);
});

test('a lock of which a cut left only a part is completed by the next update', async () => {
  const name = await register();
  await registry.update({ name, transactionId: 'hal-1', locked: true });
  done(await epp.core.updateDomain(epp.ours, { name, statuses: { remove: ['clientUpdateProhibited'] } }));
  await registry.update({ name, transactionId: 'hal-2', dsRecords: [dsRecord] });
  assert.ok((await infoOf(name)).statuses.includes('clientUpdateProhibited'));
});

test('a status that somebody else has set is lifted for a change at most', async () => {
  for (const status of ['clientTransferProhibited', 'clientUpdateProhibited'] as const) {
    const name = await register();
    done(await epp.core.updateDomain(epp.ours, { name, statuses: { add: [status] } }));
    const changed = await registry.update({ name, transactionId: 'own-1', dsRecords: [dsRecord] });
    assert.deepEqual(changed, { kind: 'completed' });
    const { statuses, dsRecords } = await infoOf(name);
    assert.deepEqual(dsRecords, [dsRecord]);
    assert.deepEqual(
      statuses.filter((present) => present.startsWith('client')),
      [status],
    );
  }
});

test('a deleted name goes at once when it is new; later it can be restored', async () => {
  const fresh = await register();
  assert.deepEqual(await registry.delete({ name: fresh, transactionId: 'del-3' }), { kind: 'completed' });
  assert.equal(await registry.info(fresh), undefined);
  const old = await register();
  epp.clock.advance(6 * DAY_MS);
  assert.deepEqual(await registry.delete({ name: old, transactionId: 'del-4' }), { kind: 'pending' });
  assert.ok((await infoOf(old)).statuses.includes('redemptionPeriod'));
  assert.deepEqual(await registry.restore({ name: old, transactionId: 'res-2' }), { kind: 'completed' });
  assert.ok(!(await infoOf(old)).statuses.includes('redemptionPeriod'));
});

test('messages show how pending commands ended, and what happened to names', async (t) => {
  const slow = await openTestEpp(database.db);
  t.after(() => slow.close());
  const adapter = await slow.connect();
  assert.equal(await adapter.poll(), undefined);
  assert.deepEqual(await adapter.create(testCreation('good.com')), { kind: 'pending' });
  assert.deepEqual(await adapter.create(testCreation('good.com')), { kind: 'pending' });
  assert.deepEqual(await adapter.create(testCreation('reject-bad.com')), { kind: 'pending' });
  assert.ok((await adapter.info('good.com'))?.statuses.includes('pendingCreate'));
  slow.clock.advance(60_000);
  await slow.core.runDue();
  const first = await adapter.poll();
  assert.equal(first?.count, 2);
  assert.deepEqual((await drain(adapter)).map(({ name, kind }) => [name, kind]).sort(), [
    ['good.com', 'registration_completed'],
    ['reject-bad.com', 'registration_failed'],
  ]);
  slow.clock.advance(500 * DAY_MS);
  await slow.core.runDue();
  assert.deepEqual(
    (await drain(adapter)).map(({ name, kind }) => [name, kind]),
    [
      ['good.com', 'notice'],
      ['good.com', 'notice'],
      ['good.com', 'notice'],
      ['good.com', 'deleted'],
    ],
  );
});

test('what a registry asks is told with its answers, and what was agreed goes with the command', async () => {
  const paying = await epp.connect({ fees: { currency: 'EUR' } });
  const name = newName();
  const [found] = await paying.check([name]);
  const fee = (cents: number) => ({ currency: 'EUR', cents, isPremium: false });
  assert.equal(found?.availability, 'available');
  assert.deepEqual(found?.fees, { create: fee(1_000), renew: fee(1_100), transfer: fee(900) });
  const asked = await paying.feeOf({ name, command: 'create', years: 2 });
  assert.deepEqual(asked, fee(2_000));
  const creation = { ...testCreation(name), years: 2 };
  assert.equal(rejectionOf(await paying.create({ ...creation, fee: fee(1_999) })), 'policy');
  assert.equal(rejectionOf(await paying.create({ ...creation, fee: { currency: 'USD', cents: 2_000 } })), 'policy');
  assert.equal((await paying.create({ ...creation, fee: fee(2_000) })).kind, 'completed');
});

test('a registry that refuses a check for its currency is asked without fees, and its prices are not known', async () => {
  const foreign = await epp.connect({ fees: { currency: 'USD' } });
  const name = newName();
  assert.deepEqual(await foreign.check([name]), [{ name, availability: 'available' }]);
  assert.equal(await foreign.feeOf({ name, command: 'create', years: 1 }), undefined);
});

test('nameservers go as attributes to a registry that wants them so, which this one does not', async () => {
  const attributes = await epp.connect({ nameserverModel: 'hostAttr' });
  const refused = await attributes.create(testCreation(newName()));
  assert.equal(refused.kind === 'rejected' && /host objects/.test(refused.reason), true);
});

test('two sessions of a registrar see one registry', async () => {
  const second = await epp.connect({ connections: 2, password: PASSWORD });
  const names = Array.from({ length: 8 }, () => newName('pair'));
  const outcomes = await Promise.all(names.map((name, i) => (i % 2 ? registry : second).create(testCreation(name))));
  assert.ok(outcomes.every(({ kind }) => kind === 'completed'));
  const [a, b] = await Promise.all([
    registry.create(testCreation('race.com')),
    second.create(testCreation('race.com')),
  ]);
  assert.deepEqual([a.kind, b.kind].sort(), ['completed', 'rejected']);
});
