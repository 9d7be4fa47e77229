import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { DAY_MS, done, openTestRegistry, refused, testPrices } from '../../../../test/support/simulated-registry.ts';
import { createRegistryCore } from './index.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

const authInfo = 'auth-of-ours';
const ds = { keyTag: 12345, algorithm: 13, digestType: 2, digest: 'ab'.repeat(32) };

test('a check tells free, taken, reserved, malformed and unknown zones apart, and gives the fees', async () => {
  const { core, ours, register } = await openTestRegistry(database.db);
  await register('checked.com');
  const names = [
    'checked.com',
    'free.com',
    'google.com',
    'taken-x.com',
    'nic.com',
    'reserved-x.co.uk',
    'x.zz',
    '-x.com',
  ];
  const checks = done(await core.checkDomains(ours, names));
  assert.deepEqual(
    checks.map(({ state }) => state),
    ['taken', 'available', 'taken', 'taken', 'reserved', 'reserved', 'not_served', 'invalid'],
  );
  assert.equal(checks[1]?.fees?.createCents, 1_000);
  assert.equal(checks[6]?.fees, undefined);
});

test('a registration is pending, then done, and the registrar gets a message with its own id', async () => {
  const { clock, core, drain, ours, registrant, theirs } = await openTestRegistry(database.db);
  done(await core.createHost(ours, { name: 'ns1.created.net', addresses: [] }));
  const created = await core.createDomain(ours, {
    name: 'Created.com',
    years: 2,
    registrant,
    nameservers: ['NS1.created.net'],
    dsRecords: [ds],
    authInfo,
    feeCents: 2_000,
  });
  assert.equal(created.code, 1001);
  assert.deepEqual(done(await core.infoDomain(ours, { name: 'created.com' })).statuses, ['pendingCreate']);
  assert.equal(refused(await core.infoDomain(theirs, { name: 'created.com' })), 2201);
  assert.equal(done(await core.checkDomains(theirs, ['created.com']))[0]?.state, 'taken');
  clock.advance(1_999);
  assert.deepEqual(await drain(ours), []);
  clock.advance(1);
  const info = done(await core.infoDomain(ours, { name: 'CREATED.com' }));
  assert.deepEqual(info.statuses, ['ok']);
  assert.deepEqual(info.rgpStatuses, ['addPeriod']);
  assert.deepEqual(info.nameservers, ['ns1.created.net']);
  assert.deepEqual(info.dsRecords, [{ ...ds, digest: 'AB'.repeat(32) }]);
  assert.equal(info.expiresAt.toISOString(), '2028-03-01T12:00:00.000Z');
  const [message] = await drain(ours);
  assert.deepEqual(message?.data, {
    type: 'pendingAction',
    command: 'create',
    name: 'created.com',
    succeeded: true,
    clTRID: 'client-1',
    svTRID: created.svTRID,
    at: clock.now(),
  });
});

test('a registration that fails later frees the name and says so', async () => {
  const { clock, core, drain, ours, registrant } = await openTestRegistry(database.db);
  const command = { name: 'reject-me.com', years: 1, registrant, authInfo };
  assert.equal((await core.createDomain(ours, command)).code, 1001);
  clock.advance(2_000);
  assert.equal(refused(await core.infoDomain(ours, { name: 'reject-me.com' })), 2303);
  const [message] = await drain(ours);
  assert.ok(message?.data.type === 'pendingAction' && !message.data.succeeded);
  assert.equal(done(await core.checkDomains(ours, ['reject-me.com']))[0]?.state, 'available');
});

test('a registration without a delay is done at once, and a slow one takes ten minutes', async () => {
  const { clock, core, drain, ours, registrant } = await openTestRegistry(database.db, {
    delays: { createSeconds: 0 },
  });
  const command = { name: 'at-once.com', years: 1, registrant, authInfo };
  assert.equal((await core.createDomain(ours, command)).code, 1000);
  assert.deepEqual(await drain(ours), []);
  assert.equal((await core.createDomain(ours, { ...command, name: 'slow-x.com' })).code, 1001);
  clock.advance(599_999);
  assert.deepEqual(done(await core.infoDomain(ours, { name: 'slow-x.com' })).statuses, ['inactive', 'pendingCreate']);
  clock.advance(1);
  assert.deepEqual(done(await core.infoDomain(ours, { name: 'slow-x.com' })).statuses, ['inactive']);
});

test('what a registration can be refused for', async () => {
  const { core, ours, register, registrant, theirRegistrant } = await openTestRegistry(database.db);
  await register('refusals.com');
  const command = { name: 'refusable.com', years: 1, registrant, authInfo };
  const cases: [number, Partial<Parameters<typeof core.createDomain>[1]>][] = [
    [2302, { name: 'refusals.com' }],
    [2302, { name: 'google.com' }],
    [2306, { name: 'reserved-x.com' }],
    [2306, { name: 'refuse-x.com' }],
    [2306, { name: 'x.zz' }],
    [2306, { name: 'www.refusable.com' }],
    [2005, { name: 'un_derscore.com' }],
    [2004, { years: 0 }],
    [2004, { years: 11 }],
    [2004, { years: 1.5 }],
    [2004, { feeCents: 999 }],
    [2303, { registrant: 'NOBODY' }],
    [2201, { registrant: theirRegistrant }],
    [2303, { contacts: [{ type: 'tech', id: 'NOBODY' }] }],
    [2303, { nameservers: ['ns.nowhere.net'] }],
    [2306, { nameservers: Array.from({ length: 14 }, (_, index) => `ns${index}.many.net`) }],
    [2306, { dsRecords: [{ ...ds, digest: 'ABC' }] }],
    [2306, { authInfo: 'short' }],
  ];
  for (const [code, change] of cases) {
    assert.equal(refused(await core.createDomain(ours, { ...command, ...change })), code, JSON.stringify(change));
  }
  assert.equal(done(await core.checkDomains(ours, ['refusable.com']))[0]?.state, 'available');
});

test('a renewal moves the term it names, once', async () => {
  const { clock, core, drain, ours, register } = await openTestRegistry(database.db);
  await register('renewed.com');
  await drain(ours);
  const command = { name: 'renewed.com', currentExpiryDate: '2027-03-01', years: 2 };
  const renewed = await core.renewDomain(ours, { ...command, feeCents: 2_200 });
  assert.equal(renewed.code, 1001);
  assert.equal(done(renewed).expiresAt.toISOString(), '2029-03-01T12:00:00.000Z');
  const waiting = done(await core.infoDomain(ours, { name: 'renewed.com' }));
  assert.ok(waiting.statuses.includes('pendingRenew'));
  assert.equal(waiting.expiresAt.toISOString(), '2027-03-01T12:00:00.000Z');
  assert.equal(refused(await core.renewDomain(ours, command)), 2304);
  clock.advance(1_000);
  assert.equal(refused(await core.renewDomain(ours, command)), 2004);
  const info = done(await core.infoDomain(ours, { name: 'renewed.com' }));
  assert.equal(info.expiresAt.toISOString(), '2029-03-01T12:00:00.000Z');
  assert.deepEqual(
    (await drain(ours)).map(({ text }) => text),
    ['Renewal completed: renewed.com'],
  );
});

test('a renewal that fails later leaves the term as it was', async () => {
  const { clock, core, drain, ours, register } = await openTestRegistry(database.db);
  await register('reject-renew-x.com');
  await drain(ours);
  const command = { name: 'reject-renew-x.com', currentExpiryDate: '2027-03-01', years: 1 };
  assert.equal((await core.renewDomain(ours, command)).code, 1001);
  clock.advance(1_000);
  const info = done(await core.infoDomain(ours, { name: command.name }));
  assert.equal(info.expiresAt.toISOString(), '2027-03-01T12:00:00.000Z');
  assert.deepEqual(
    (await drain(ours)).map(({ text }) => text),
    ['Renewal failed: reject-renew-x.com'],
  );
});

test('what a renewal can be refused for', async () => {
  const { core, ours, register, theirs } = await openTestRegistry(database.db);
  await register('unrenewed.com', 8);
  await register('refuse-renew-x.com');
  const command = { name: 'unrenewed.com', currentExpiryDate: '2034-03-01', years: 1 };
  assert.equal(refused(await core.renewDomain(theirs, command)), 2201);
  assert.equal(refused(await core.renewDomain(ours, { ...command, name: 'nobodys.com' })), 2303);
  assert.equal(refused(await core.renewDomain(ours, { ...command, years: 11 })), 2004);
  assert.equal(refused(await core.renewDomain(ours, { ...command, years: 3 })), 2105);
  assert.equal(refused(await core.renewDomain(ours, { ...command, feeCents: 1 })), 2004);
  const other = { name: 'refuse-renew-x.com', currentExpiryDate: '2027-03-01', years: 1 };
  assert.equal(refused(await core.renewDomain(ours, other)), 2306);
  done(await core.updateDomain(ours, { name: command.name, statuses: { add: ['clientRenewProhibited'] } }));
  assert.equal(refused(await core.renewDomain(ours, command)), 2304);
});

test('a term reaches ten years from now and not a day more', async () => {
  const { clock, core, ours, register } = await openTestRegistry(database.db, {
    delays: { createSeconds: 0, renewSeconds: 0 },
  });
  await register('decade.com', 9);
  const command = { name: 'decade.com', currentExpiryDate: '2035-03-01', years: 1 };
  assert.equal(done(await core.renewDomain(ours, command)).expiresAt.toISOString(), '2036-03-01T12:00:00.000Z');
  const further = { ...command, currentExpiryDate: '2036-03-01' };
  clock.advance(365 * DAY_MS - 1);
  assert.equal(refused(await core.renewDomain(ours, further)), 2105);
  clock.advance(1);
  assert.equal((await core.renewDomain(ours, further)).code, 1000);
});

test('a term that ends on 29 February ends on 28 February when the year has none, and stays there', async () => {
  const { core, ours, register } = await openTestRegistry(database.db, {
    at: new Date('2028-02-29T08:00:00Z'),
    delays: { createSeconds: 0, renewSeconds: 0 },
  });
  await register('leap.com', 4);
  const ends: string[] = ['2032-02-29'];
  for (let year = 0; year < 5; year += 1) {
    const command = { name: 'leap.com', currentExpiryDate: ends.at(-1) ?? '', years: 1 };
    ends.push(
      done(await core.renewDomain(ours, command))
        .expiresAt.toISOString()
        .slice(0, 10),
    );
  }
  assert.deepEqual(ends, ['2032-02-29', '2033-02-28', '2034-02-28', '2035-02-28', '2036-02-28', '2037-02-28']);
});

test('an update changes what it names and nothing else', async () => {
  const { core, ours, register, registrant } = await openTestRegistry(database.db);
  await register('updated.com');
  for (const name of ['a.updates.net', 'b.updates.net', 'c.updates.net'])
    done(await core.createHost(ours, { name, addresses: [] }));
  const name = 'updated.com';
  done(await core.updateDomain(ours, { name, nameservers: { set: ['a.updates.net', 'b.updates.net'] } }));
  const nameservers = { add: ['C.updates.net', 'b.updates.net'], remove: ['A.updates.net', 'nothing.net'] };
  done(await core.updateDomain(ours, { name, nameservers, dsRecords: { add: [ds] } }));
  done(await core.updateDomain(ours, { name, contacts: { add: [{ type: 'tech', id: registrant }] } }));
  done(await core.updateDomain(ours, { name, statuses: { add: ['clientHold'] }, authInfo: 'another-code' }));
  const info = done(await core.infoDomain(ours, { name }));
  assert.deepEqual(info.nameservers, ['b.updates.net', 'c.updates.net']);
  assert.deepEqual(info.statuses, ['clientHold']);
  assert.deepEqual(info.contacts, [{ type: 'tech', id: registrant }]);
  assert.equal(info.dsRecords.length, 1);
  assert.equal(info.authInfo, 'another-code');
  assert.equal(info.updatedBy, ours.registrarId);
  done(await core.updateDomain(ours, { name, dsRecords: { set: [] }, statuses: { remove: ['clientHold'] } }));
  const cleared = done(await core.infoDomain(ours, { name }));
  assert.deepEqual([cleared.dsRecords, cleared.statuses], [[], ['ok']]);
});

test('a name that is locked against updates takes only one that unlocks it', async () => {
  const { core, ours, register } = await openTestRegistry(database.db);
  await register('locked.com');
  const name = 'locked.com';
  done(
    await core.updateDomain(ours, { name, statuses: { add: ['clientUpdateProhibited', 'clientDeleteProhibited'] } }),
  );
  assert.equal(refused(await core.updateDomain(ours, { name, authInfo: 'another-code' })), 2304);
  assert.equal(refused(await core.deleteDomain(ours, { name })), 2304);
  const statuses = { remove: ['clientUpdateProhibited' as const] };
  done(await core.updateDomain(ours, { name, statuses, authInfo: 'another-code' }));
  assert.deepEqual(done(await core.infoDomain(ours, { name })).statuses, ['clientDeleteProhibited', 'inactive']);
});

test('what an update can be refused for', async () => {
  const { core, ours, register, theirRegistrant, theirs } = await openTestRegistry(database.db);
  await register('unchanged.com');
  const name = 'unchanged.com';
  assert.equal(refused(await core.updateDomain(theirs, { name, authInfo: 'another-code' })), 2201);
  assert.equal(refused(await core.updateDomain(ours, { name: 'nobodys.com' })), 2303);
  assert.equal(refused(await core.updateDomain(ours, { name, nameservers: { add: ['ns.nowhere.net'] } })), 2303);
  assert.equal(refused(await core.updateDomain(ours, { name, registrant: theirRegistrant })), 2201);
  assert.equal(refused(await core.updateDomain(ours, { name, authInfo: 'no' })), 2306);
  const status = JSON.parse('"serverHold"');
  assert.equal(refused(await core.updateDomain(ours, { name, statuses: { add: [status] } })), 2306);
});

test('auth codes are shown to the sponsor alone, and a wrong one is refused', async () => {
  const { core, ours, register, theirs } = await openTestRegistry(database.db);
  await register('secretive.com');
  const name = 'secretive.com';
  assert.equal(done(await core.infoDomain(ours, { name })).authInfo, authInfo);
  assert.equal(done(await core.infoDomain(theirs, { name })).authInfo, undefined);
  assert.equal(done(await core.infoDomain(theirs, { name, authInfo })).authInfo, undefined);
  assert.equal(refused(await core.infoDomain(theirs, { name, authInfo: 'wrong-code' })), 2202);
});

test('messages come in their order, and the first stays until it is acknowledged', async () => {
  const { core, ours, register, theirs } = await openTestRegistry(database.db);
  assert.equal((await core.requestMessage(ours)).code, 1300);
  await register('first-message.com');
  await register('second-message.com');
  const first = done(await core.requestMessage(ours));
  assert.equal(first?.message.name, 'first-message.com');
  assert.equal(first?.count, 2);
  assert.deepEqual(done(await core.requestMessage(ours)), first);
  const id = first?.message.id ?? '';
  assert.equal(refused(await core.acknowledgeMessage(theirs, id)), 2303);
  const rest = done(await core.acknowledgeMessage(ours, id));
  assert.equal(rest.count, 1);
  assert.equal(refused(await core.acknowledgeMessage(ours, id)), 2303);
  const second = done(await core.requestMessage(ours));
  assert.equal(second?.message.id, rest.nextId);
  assert.equal(second?.message.name, 'second-message.com');
  assert.equal(refused(await core.acknowledgeMessage(ours, 'x')), 2303);
});

test('another process finds everything as it was', async () => {
  const { clock, core, ours, registrant } = await openTestRegistry(database.db);
  done(await core.createDomain(ours, { name: 'restarted.com', years: 1, registrant, authInfo }));
  const other = createRegistryCore({ db: database.db, clock, prices: testPrices });
  assert.ok(done(await other.infoDomain(ours, { name: 'restarted.com' })).statuses.includes('pendingCreate'));
  clock.advance(2_000);
  assert.ok((await other.runDue()).touched >= 1);
  assert.equal(done(await other.requestMessage(ours))?.message.name, 'restarted.com');
});

test('a registrar logs in with its password and can change it', async () => {
  const { core } = await openTestRegistry(database.db);
  await core.ensureRegistrar({ id: 'epp-client', name: 'Client', password: 'first-password' });
  await core.ensureRegistrar({ id: 'epp-client', name: 'Client renamed' });
  const registrarId = 'epp-client';
  assert.equal(refused(await core.login({ registrarId, password: 'wrong' })), 2200);
  assert.equal(refused(await core.login({ registrarId: 'nobody', password: 'first-password' })), 2200);
  assert.equal(refused(await core.login({ registrarId: 'elsewhere', password: '' })), 2200);
  done(await core.login({ registrarId, password: 'first-password', newPassword: 'second-password' }));
  assert.equal(refused(await core.login({ registrarId, password: 'first-password' })), 2200);
  done(await core.login({ registrarId, password: 'second-password' }));
});
