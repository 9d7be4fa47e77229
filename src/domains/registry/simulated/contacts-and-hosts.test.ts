import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { done, openTestRegistry, refused, testContact } from '../../../../test/support/simulated-registry.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

const authInfo = 'auth-of-ours';

test('a contact is made, seen, changed and deleted by its registrar', async () => {
  const { clock, core, ours } = await openTestRegistry(database.db);
  const contact = testContact('LIFE-1');
  done(await core.createContact(ours, contact));
  const info = done(await core.infoContact(ours, { id: 'LIFE-1' }));
  const { createdAt, roid, ...shown } = info;
  assert.match(roid, /^C\d+-SIM$/);
  assert.deepEqual(createdAt, clock.now());
  const sponsor = { sponsor: ours.registrarId, createdBy: ours.registrarId };
  assert.deepEqual(shown, { ...contact, ...sponsor, statuses: ['ok'] });
  done(await core.updateContact(ours, { id: 'LIFE-1', email: 'lovelace@example.net', disclose: false }));
  const changed = done(await core.infoContact(ours, { id: 'LIFE-1' }));
  assert.equal(changed.email, 'lovelace@example.net');
  assert.equal(changed.disclose, false);
  assert.deepEqual(changed.postalInfo, contact.postalInfo);
  assert.equal(changed.updatedBy, ours.registrarId);
  done(await core.deleteContact(ours, { id: 'LIFE-1' }));
  assert.equal(refused(await core.infoContact(ours, { id: 'LIFE-1' })), 2303);
});

test('what a command on contacts can be refused for', async () => {
  const { core, ours, registrant, theirs } = await openTestRegistry(database.db);
  const contact = testContact('REFUSED-1');
  const [address] = contact.postalInfo;
  const cases: [number, object][] = [
    [2302, { id: registrant }],
    [2005, { id: 'ab' }],
    [2005, { email: 'nobody' }],
    [2005, { voice: '0207 123' }],
    [2003, { postalInfo: [] }],
    [2003, { postalInfo: [address, address] }],
    [2003, { postalInfo: [{ ...address, city: ' ' }] }],
    [2005, { postalInfo: [{ ...address, country: 'Germany' }] }],
    [2306, { postalInfo: [{ ...address, street: ['1', '2', '3', '4'] }] }],
    [2306, { authInfo: 'short' }],
  ];
  for (const [code, change] of cases) {
    assert.equal(refused(await core.createContact(ours, { ...contact, ...change })), code, JSON.stringify(change));
  }
  assert.equal(refused(await core.updateContact(theirs, { id: registrant, email: 'x@example.net' })), 2201);
  assert.equal(refused(await core.updateContact(ours, { id: registrant, email: 'nobody' })), 2005);
  assert.equal(refused(await core.deleteContact(theirs, { id: registrant })), 2201);
  assert.equal(refused(await core.deleteContact(ours, { id: 'NOBODY' })), 2303);
  assert.deepEqual(
    done(await core.checkContacts(ours, [registrant, 'NOBODY'])).map(({ available }) => available),
    [false, true],
  );
});

test('a contact is shown to its registrar, to any holder of its auth code, and to the sponsor of a name that uses it', async () => {
  const { core, ours, register, registrant, theirs } = await openTestRegistry(database.db, {
    delays: { transferSeconds: 0 },
  });
  assert.equal(refused(await core.infoContact(theirs, { id: registrant })), 2201);
  assert.equal(refused(await core.infoContact(theirs, { id: registrant, authInfo: 'wrong-code' })), 2202);
  const seen = done(await core.infoContact(theirs, { id: registrant, authInfo: 'contact-secret' }));
  assert.equal(seen.authInfo, undefined);
  await register('contacts-move.com');
  assert.deepEqual(done(await core.infoContact(ours, { id: registrant })).statuses, ['linked', 'ok']);
  done(await core.requestTransfer(theirs, { name: 'contacts-move.com', authInfo }));
  assert.equal(done(await core.infoContact(theirs, { id: registrant })).sponsor, ours.registrarId);
});

test('a contact that a name uses is not deleted, whatever it is used as', async () => {
  const { core, ours, register, registrant } = await openTestRegistry(database.db);
  await register('uses-contacts.com');
  const name = 'uses-contacts.com';
  assert.equal(refused(await core.deleteContact(ours, { id: registrant })), 2305);
  done(await core.createContact(ours, testContact('TECH-1')));
  done(await core.updateDomain(ours, { name, contacts: { set: [{ type: 'tech', id: 'TECH-1' }] } }));
  assert.equal(refused(await core.deleteContact(ours, { id: 'TECH-1' })), 2305);
  done(await core.updateDomain(ours, { name, contacts: { set: [] } }));
  done(await core.deleteContact(ours, { id: 'TECH-1' }));
});

test('whether a name is private is what its registrant says', async () => {
  const { core, ours, register, registrant } = await openTestRegistry(database.db);
  await register('private.com');
  assert.equal(done(await core.infoDomain(ours, { name: 'private.com' })).isPrivate, false);
  done(await core.updateContact(ours, { id: registrant, disclose: false }));
  assert.equal(done(await core.infoDomain(ours, { name: 'private.com' })).isPrivate, true);
});

test('a host that is not below a name of the registry has no addresses, and is there once for all', async () => {
  const { core, ours, theirs } = await openTestRegistry(database.db);
  assert.equal(refused(await core.createHost(ours, { name: 'ns1.outside.net', addresses: ['192.0.2.1'] })), 2306);
  done(await core.createHost(ours, { name: 'NS1.outside.net', addresses: [] }));
  assert.equal(refused(await core.createHost(theirs, { name: 'ns1.outside.net', addresses: [] })), 2302);
  assert.equal(refused(await core.createHost(ours, { name: 'no dots', addresses: [] })), 2005);
  const checks = done(await core.checkHosts(theirs, ['ns1.outside.net', 'ns2.outside.net']));
  assert.deepEqual(
    checks.map(({ available }) => available),
    [false, true],
  );
  assert.equal(refused(await core.deleteHost(theirs, { name: 'ns1.outside.net' })), 2201);
  done(await core.deleteHost(ours, { name: 'ns1.outside.net' }));
  assert.equal(refused(await core.infoHost(ours, { name: 'ns1.outside.net' })), 2303);
  done(await core.createHost(ours, { name: 'ns1.google.com', addresses: [] }));
});

test('a host below a name belongs to its sponsor, needs an address, and moves with it', async () => {
  const { core, ours, register, theirs } = await openTestRegistry(database.db, { delays: { transferSeconds: 0 } });
  await register('glue.com');
  const host = { name: 'ns1.deep.glue.com', addresses: ['192.0.2.1', '2001:DB8::1'] };
  assert.equal(refused(await core.createHost(ours, { ...host, addresses: [] })), 2003);
  assert.equal(refused(await core.createHost(ours, { ...host, addresses: ['192.0.2.256'] })), 2005);
  assert.equal(refused(await core.createHost(theirs, host)), 2201);
  done(await core.createHost(ours, host));
  assert.equal(refused(await core.updateHost(ours, { name: host.name, addresses: { set: [] } })), 2003);
  done(await core.updateHost(ours, { name: host.name, addresses: { add: ['192.0.2.2'], remove: ['192.0.2.1'] } }));
  assert.deepEqual(done(await core.infoHost(theirs, { name: host.name })).addresses, ['192.0.2.2', '2001:db8::1']);
  done(await core.requestTransfer(theirs, { name: 'glue.com', authInfo }));
  assert.equal(done(await core.infoHost(ours, { name: host.name })).sponsor, theirs.registrarId);
});

test('a host that a name is delegated to is not deleted', async () => {
  const { core, ours, register } = await openTestRegistry(database.db);
  await register('delegated.com');
  done(await core.createHost(ours, { name: 'ns1.linked.net', addresses: [] }));
  done(await core.updateDomain(ours, { name: 'delegated.com', nameservers: { set: ['ns1.linked.net'] } }));
  assert.deepEqual(done(await core.infoHost(ours, { name: 'ns1.linked.net' })).statuses, ['linked', 'ok']);
  assert.equal(refused(await core.deleteHost(ours, { name: 'ns1.linked.net' })), 2305);
  done(await core.updateDomain(ours, { name: 'delegated.com', nameservers: { set: [] } }));
  done(await core.deleteHost(ours, { name: 'ns1.linked.net' }));
});
