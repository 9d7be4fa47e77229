import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import {
  DAY_MS,
  done,
  openTestRegistry,
  refused,
  type TestRegistry,
} from '../../../../test/support/simulated-registry.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

const authInfo = 'auth-of-ours';

/** A name of ours that the other registrar has asked for; queues hold only the messages about that. */
async function askFor(name: string): Promise<TestRegistry> {
  const registry = await openTestRegistry(database.db);
  const { core, drain, ours, register, theirs } = registry;
  await register(name, 3);
  await drain(ours);
  assert.equal((await core.requestTransfer(theirs, { name, authInfo, years: 1, feeCents: 900 })).code, 1001);
  return registry;
}

async function textsOf(registry: TestRegistry, session: TestRegistry['ours']): Promise<string[]> {
  return (await registry.drain(session)).map(({ text }) => text);
}

test('a transfer that nobody answers is approved by the registry, and adds a year', async () => {
  const registry = await askFor('moved.com');
  const { clock, core, ours, theirs } = registry;
  const name = 'moved.com';
  const statuses = done(await core.infoDomain(ours, { name })).statuses;
  assert.ok(statuses.includes('pendingTransfer'));
  assert.deepEqual(await textsOf(registry, ours), ['Transfer requested: moved.com']);
  clock.advance(5 * DAY_MS - 1);
  assert.equal(done(await core.infoDomain(ours, { name })).sponsor, ours.registrarId);
  clock.advance(1);
  const info = done(await core.infoDomain(theirs, { name }));
  assert.equal(info.sponsor, theirs.registrarId);
  assert.equal(info.expiresAt.toISOString(), '2030-03-01T12:00:00.000Z');
  assert.equal(info.transferredAt?.getTime(), clock.now().getTime());
  const texts = ['Transfer approved by the registry: moved.com'];
  assert.deepEqual([await textsOf(registry, ours), await textsOf(registry, theirs)], [texts, texts]);
  assert.equal(done(await core.queryTransfer(ours, { name })).status, 'serverApproved');
  assert.equal(refused(await core.updateDomain(ours, { name, authInfo: 'another-code' })), 2201);
});

test('the sponsor approves or rejects, the one who asked cancels, and the other side gets a message', async () => {
  const approved = await askFor('approved.com');
  assert.equal(refused(await approved.core.approveTransfer(approved.theirs, { name: 'approved.com' })), 2201);
  assert.equal(refused(await approved.core.cancelTransfer(approved.ours, { name: 'approved.com' })), 2201);
  assert.equal(
    done(await approved.core.approveTransfer(approved.ours, { name: 'approved.com' })).status,
    'clientApproved',
  );
  assert.deepEqual(await textsOf(approved, approved.theirs), ['Transfer approved: approved.com']);
  const info = done(await approved.core.infoDomain(approved.theirs, { name: 'approved.com' }));
  assert.equal(info.sponsor, approved.theirs.registrarId);

  const rejected = await askFor('rejected.com');
  assert.equal(
    done(await rejected.core.rejectTransfer(rejected.ours, { name: 'rejected.com' })).status,
    'clientRejected',
  );
  assert.deepEqual(await textsOf(rejected, rejected.theirs), ['Transfer rejected: rejected.com']);

  const cancelled = await askFor('cancelled.com');
  const { ours, theirs } = cancelled;
  assert.equal(
    done(await cancelled.core.cancelTransfer(theirs, { name: 'cancelled.com' })).actedBy,
    theirs.registrarId,
  );
  assert.deepEqual(await textsOf(cancelled, ours), [
    'Transfer requested: cancelled.com',
    'Transfer cancelled: cancelled.com',
  ]);
  assert.equal(refused(await cancelled.core.cancelTransfer(theirs, { name: 'cancelled.com' })), 2301);
  assert.equal((await cancelled.core.requestTransfer(theirs, { name: 'cancelled.com', authInfo })).code, 1001);
});

test('what a transfer can be refused for', async () => {
  const { core, ours, register, theirs } = await openTestRegistry(database.db);
  await register('stays.com');
  const command = { name: 'stays.com', authInfo };
  assert.equal(refused(await core.requestTransfer(theirs, { ...command, authInfo: 'wrong-code' })), 2202);
  assert.equal(refused(await core.requestTransfer(theirs, { ...command, name: 'nobodys.com' })), 2303);
  assert.equal(refused(await core.requestTransfer(theirs, { ...command, years: 2 })), 2306);
  assert.equal(refused(await core.requestTransfer(theirs, { ...command, feeCents: 1 })), 2004);
  assert.equal(refused(await core.requestTransfer(ours, command)), 2106);
  assert.equal(refused(await core.queryTransfer(ours, { name: 'stays.com' })), 2301);
  assert.equal(refused(await core.queryTransfer(theirs, { name: 'stays.com' })), 2201);
  assert.equal(refused(await core.queryTransfer(theirs, { name: 'stays.com', authInfo: 'wrong-code' })), 2202);
  done(await core.updateDomain(ours, { name: 'stays.com', statuses: { add: ['clientTransferProhibited'] } }));
  assert.equal(refused(await core.requestTransfer(theirs, command)), 2304);
});

test('while a transfer is pending nothing else may be done with the name', async () => {
  const { core, ours, registrant, theirs } = await askFor('waiting.com');
  const name = 'waiting.com';
  assert.equal(refused(await core.requestTransfer(theirs, { name, authInfo })), 2300);
  assert.equal(refused(await core.updateDomain(ours, { name, registrant })), 2304);
  assert.equal(refused(await core.deleteDomain(ours, { name })), 2304);
  assert.equal(refused(await core.renewDomain(ours, { name, currentExpiryDate: '2029-03-01', years: 1 })), 2304);
});

test('a transfer without a delay is done at once, with a message to the one who loses the name', async () => {
  const registry = await openTestRegistry(database.db, { delays: { transferSeconds: 0 } });
  await registry.register('snatched.com');
  done(await registry.core.updateDomain(registry.ours, { name: 'snatched.com', statuses: { add: ['clientHold'] } }));
  await registry.drain(registry.ours);
  const reply = await registry.core.requestTransfer(registry.theirs, { name: 'snatched.com', authInfo });
  assert.equal(reply.code, 1000);
  assert.equal(done(reply).status, 'serverApproved');
  assert.deepEqual(await textsOf(registry, registry.theirs), []);
  assert.deepEqual(await textsOf(registry, registry.ours), ['Transfer approved by the registry: snatched.com']);
  // What the former registrar had set is its own affair.
  assert.deepEqual(done(await registry.core.infoDomain(registry.theirs, { name: 'snatched.com' })).statuses, [
    'inactive',
  ]);
});

test('a transfer never leads beyond ten years, and never cuts a term', async () => {
  const { core, clock, ours, register, theirs } = await openTestRegistry(database.db, {
    delays: { transferSeconds: 0 },
  });
  await register('longest.com', 10);
  clock.advance(100 * DAY_MS);
  const limit = new Date(Date.UTC(2036, 5, 9, 12, 0, 2)).toISOString();
  const gained = done(await core.requestTransfer(theirs, { name: 'longest.com', authInfo }));
  assert.equal(gained.expiresAt.toISOString(), limit);
  const back = done(await core.requestTransfer(ours, { name: 'longest.com', authInfo }));
  assert.equal(back.expiresAt.toISOString(), limit);
});

test('a zone may add two years with a transfer', async () => {
  const { core, ours, register, theirs } = await openTestRegistry(database.db, { delays: { transferSeconds: 0 } });
  await register('clever.ai', 1);
  assert.equal(refused(await core.requestTransfer(theirs, { name: 'clever.ai', authInfo, years: 1 })), 2306);
  done(await core.requestTransfer(theirs, { name: 'clever.ai', authInfo, years: 2 }));
  const info = done(await core.infoDomain(ours, { name: 'clever.ai' }));
  assert.equal(info.expiresAt.toISOString(), '2029-03-01T12:00:00.000Z');
});

test('a name that is registered elsewhere is transferred in with its code, and keeps its nameservers', async () => {
  const { clock, core, drain, ours } = await openTestRegistry(database.db);
  const before = done(await core.infoDomain(ours, { name: 'taken-shop.com' }));
  assert.equal(before.sponsor, 'elsewhere');
  assert.ok(before.expiresAt > clock.now());
  const command = { name: 'taken-shop.com', authInfo: 'simulated-auth' };
  assert.equal((await core.requestTransfer(ours, command)).code, 1001);
  clock.advance(5 * DAY_MS);
  const after = done(await core.infoDomain(ours, { name: 'taken-shop.com' }));
  assert.equal(after.sponsor, ours.registrarId);
  assert.equal(after.roid, before.roid);
  assert.deepEqual(after.nameservers, ['ns1.elsewhere.example', 'ns2.elsewhere.example']);
  assert.equal((await drain(ours))[0]?.data.type, 'transfer');
  assert.equal((await core.deleteDomain(ours, { name: 'taken-shop.com' })).code, 1001);
});

test('names elsewhere can be locked, and their registrar can reject a transfer', async () => {
  const { clock, core, drain, ours } = await openTestRegistry(database.db);
  const authInfo = 'simulated-auth';
  assert.equal(refused(await core.requestTransfer(ours, { name: 'locked-x.com', authInfo })), 2304);
  const name = 'reject-transfer-x.com';
  assert.equal((await core.requestTransfer(ours, { name, authInfo })).code, 1001);
  clock.advance(5 * DAY_MS);
  assert.equal(done(await core.infoDomain(ours, { name })).sponsor, 'elsewhere');
  const [message] = await drain(ours);
  assert.ok(message?.data.type === 'transfer');
  assert.equal(message.data.transfer.status, 'clientRejected');
});
