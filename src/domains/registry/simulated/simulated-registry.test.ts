import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { DAY_MS, done, openTestRegistry, testPrices } from '../../../../test/support/simulated-registry.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import { type CreateCommand, type Registry, RegistryUnavailable } from '../registry.ts';
import {
  addFault,
  createRegistryCore,
  createSimulatedRegistry,
  type Fault,
  type FaultCommand,
  registryDb,
  type SimulatedRegistryOptions,
} from './index.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

const logger = openTestLogger();
const ds = { keyTag: 7, algorithm: 13, digestType: 2, digest: 'CD'.repeat(32) };
let count = 0;

function openRegistry(options: Partial<SimulatedRegistryOptions> = {}) {
  count += 1;
  const clock = createManualClock(new Date('2026-03-01T12:00:00Z'));
  const registrarId = options.registrarId ?? `port-${count}`;
  const deps = { db: database.db, clock, logger, options: { prices: testPrices, registrarId, ...options } };
  const core = createRegistryCore({ db: database.db, clock, prices: testPrices });
  return { registry: createSimulatedRegistry(deps), core, clock, session: { registrarId } };
}

function creation(name: string, more: Partial<CreateCommand> = {}): CreateCommand {
  const registrant = { name: 'Grace Hopper', email: 'grace@example.net' };
  const nameservers = ['ns1.service.net', 'ns2.service.net'];
  return { name, years: 1, registrant, nameservers, isPrivate: true, transactionId: 'order-1', ...more };
}

async function own(registry: Registry, clock: { advance(ms: number): void }, name: string) {
  assert.equal((await registry.create(creation(name))).kind, 'pending');
  clock.advance(2_000);
  return infoOf(registry, name);
}

async function infoOf(registry: Registry, name: string) {
  const info = await registry.info(name);
  assert.ok(info !== undefined);
  return info;
}

test('a name is bought, seen once it is there, and announced', async () => {
  const { clock, registry } = openRegistry();
  const name = 'bought.com';
  assert.deepEqual(await registry.check([name]), [{ name, availability: 'available' }]);
  assert.deepEqual(await registry.create(creation(name)), { kind: 'pending' });
  assert.equal(await registry.info(name), undefined);
  assert.equal((await registry.check([name]))[0]?.availability, 'taken');
  clock.advance(2_000);
  const { registryId, ...info } = await infoOf(registry, name);
  assert.match(registryId, /^D\d+-SIM$/);
  assert.deepEqual(info, {
    name,
    isOurs: true,
    statuses: ['ok', 'addPeriod'],
    createdAt: '2026-03-01T12:00:00.000Z',
    updatedAt: null,
    expiresAt: '2027-03-01T12:00:00.000Z',
    nameservers: ['ns1.service.net', 'ns2.service.net'],
    dsRecords: [],
    isPrivate: true,
  });
  const polled = await registry.poll();
  assert.equal(polled?.count, 1);
  assert.equal(polled?.message.kind, 'registration_completed');
  assert.equal(polled?.message.name, name);
  await registry.acknowledge(polled?.message.id ?? '');
  await registry.acknowledge(polled?.message.id ?? '');
  assert.equal(await registry.poll(), undefined);
});

test('a check answers in the order of the names, and tells reserved names apart', async () => {
  const { registry } = openRegistry();
  const answers = await registry.check(['google.com', 'nic.com', 'checked-free.com', 'x.zz']);
  assert.deepEqual(
    answers.map(({ availability }) => availability),
    ['taken', 'reserved', 'available', 'reserved'],
  );
  assert.match(answers[3]?.reason ?? '', /no names are registered below zz/);
});

test('commands without a delay are completed with the new expiry', async () => {
  const { registry } = openRegistry({ delays: { createSeconds: 0, renewSeconds: 0, transferSeconds: 0 } });
  const name = 'immediate.com';
  const created = await registry.create(creation(name, { years: 2 }));
  assert.deepEqual(created, { kind: 'completed', expiresAt: '2028-03-01T12:00:00.000Z' });
  const renewal = { name, years: 1, currentExpiresAt: '2028-03-01T12:00:00.000Z', transactionId: 'order-2' };
  assert.deepEqual(await registry.renew(renewal), { kind: 'completed', expiresAt: '2029-03-01T12:00:00.000Z' });
  const again = await registry.renew(renewal);
  assert.ok(again.kind === 'rejected' && again.code === 'wrong_expiry');
  const transfer = { name: 'taken-now.com', authCode: 'simulated-auth', years: 1, transactionId: 'order-3' };
  assert.equal((await registry.transfer(transfer)).kind, 'completed');
  const ended = await registry.transferOf(transfer.name);
  assert.deepEqual([ended?.isOurs, ended?.state], [true, 'approved']);
  assert.equal(await registry.transferOf('nobody-asked.com'), undefined);
  assert.equal((await infoOf(registry, 'taken-now.com')).isOurs, true);
});

test('refusals carry a code and the reason of the registry', async () => {
  const { clock, registry } = openRegistry();
  await own(registry, clock, 'refusing.com');
  const renewal = { name: 'refusing.com', years: 10, currentExpiresAt: '2027-03-01T12:00:00.000Z', transactionId: 't' };
  const transfer = { name: 'taken-y.com', authCode: 'wrong-code', years: 1, transactionId: 't' };
  const command = { name: 'google.com', transactionId: 't' };
  const outcomes = {
    object_exists: await registry.create(creation('google.com')),
    policy: await registry.create(creation('refuse-y.com')),
    not_eligible: await registry.renew(renewal),
    bad_auth_code: await registry.transfer(transfer),
    object_does_not_exist: await registry.delete({ ...command, name: 'nobodys.com' }),
    not_authorized: await registry.delete(command),
    status_prohibits: await registry.restore({ ...command, name: 'refusing.com' }),
  };
  for (const [code, outcome] of Object.entries(outcomes)) {
    assert.ok(outcome.kind === 'rejected', `${code}: ${outcome.kind}`);
    assert.equal(outcome.code, code);
    assert.ok(outcome.reason.length > 0);
  }
  const asked = { ...transfer, authCode: 'simulated-auth' };
  assert.equal((await registry.transfer(asked)).kind, 'pending');
  const twice = await registry.transfer(asked);
  assert.ok(twice.kind === 'rejected' && twice.code === 'pending_transfer');
  const wrongPhone = { registrant: { name: 'Grace', email: 'grace@example.net', phone: '123' } };
  const outcome = await registry.create(creation('wrong-phone.com', wrongPhone));
  assert.ok(outcome.kind === 'rejected' && outcome.code === 'policy');
});

test('an update sets nameservers, DS records, privacy, lock and auth code, and repeating it is done', async () => {
  const { clock, core, registry, session } = openRegistry();
  const name = 'settings.com';
  await own(registry, clock, name);
  const update = {
    name,
    transactionId: 'set-1',
    nameservers: ['ns9.service.net'],
    dsRecords: [ds],
    isPrivate: false,
    locked: true,
    authCode: 'fresh-code',
  };
  assert.deepEqual(await registry.update(update), { kind: 'completed' });
  const info = await infoOf(registry, name);
  assert.deepEqual(info.nameservers, ['ns9.service.net']);
  assert.deepEqual(info.dsRecords, [ds]);
  assert.equal(info.isPrivate, false);
  const lock = ['clientDeleteProhibited', 'clientTransferProhibited', 'clientUpdateProhibited'];
  assert.deepEqual(info.statuses, [...lock, 'addPeriod']);
  assert.equal(done(await core.infoDomain(session, { name })).authInfo, 'fresh-code');
  assert.deepEqual(await registry.update(update), { kind: 'completed' });
  const prohibited = await registry.update({ name, transactionId: 'set-2', dsRecords: [] });
  assert.ok(prohibited.kind === 'rejected' && prohibited.code === 'status_prohibits');
  const unlock = { name, transactionId: 'set-3', locked: false, isPrivate: true, dsRecords: [] };
  assert.deepEqual(await registry.update(unlock), { kind: 'completed' });
  const after = await infoOf(registry, name);
  assert.deepEqual([after.statuses, after.isPrivate, after.dsRecords], [['ok', 'addPeriod'], true, []]);
});

test("another registrar's name is not updated, and its data can be taken over after a transfer", async () => {
  const { clock, core, registry, session } = openRegistry();
  const name = 'taken-private.com';
  const refusal = await registry.update({ name, transactionId: 't', locked: false });
  assert.ok(refusal.kind === 'rejected' && refusal.code === 'not_authorized');
  const transfer = { name, authCode: 'simulated-auth', years: 1, transactionId: 't' };
  assert.equal((await registry.transfer(transfer)).kind, 'pending');
  assert.deepEqual((await infoOf(registry, name)).statuses, ['pendingTransfer']);
  clock.advance(5 * DAY_MS);
  assert.deepEqual(await registry.update({ name, transactionId: 't', isPrivate: false }), { kind: 'completed' });
  const info = done(await core.infoDomain(session, { name }));
  assert.equal(info.isPrivate, false);
  assert.equal(done(await core.infoContact(session, { id: info.registrant })).sponsor, session.registrarId);
});

test('a name is deleted at once in its first days, later restored', async () => {
  const { clock, registry } = openRegistry();
  await own(registry, clock, 'brief.com');
  await own(registry, clock, 'lasting.com');
  const command = { name: 'brief.com', transactionId: 't' };
  assert.deepEqual(await registry.delete(command), { kind: 'completed' });
  assert.equal(await registry.info('brief.com'), undefined);
  clock.advance(6 * DAY_MS);
  const later = { name: 'lasting.com', transactionId: 't' };
  assert.deepEqual(await registry.delete(later), { kind: 'pending' });
  assert.deepEqual((await infoOf(registry, 'lasting.com')).statuses, ['pendingDelete', 'redemptionPeriod']);
  const restored = { kind: 'completed', expiresAt: '2027-03-01T12:00:02.000Z' };
  assert.deepEqual(await registry.restore(later), restored);
});

test('each end of what was pending has a kind of message', async () => {
  const { clock, core, registry, session } = openRegistry();
  const { ours: rival } = await openTestRegistry(database.db);
  const kinds: string[] = [];
  const read = async () => {
    for (let polled = await registry.poll(); polled !== undefined; polled = await registry.poll()) {
      kinds.push(polled.message.kind);
      await registry.acknowledge(polled.message.id);
    }
  };
  await own(registry, clock, 'news.com');
  await own(registry, clock, 'reject-renew-news.com');
  await registry.create(creation('reject-news.com'));
  const renewal = { years: 1, currentExpiresAt: '2027-03-01T12:00:00.000Z', transactionId: 't' };
  await registry.renew({ ...renewal, name: 'news.com' });
  clock.advance(2_000);
  await registry.renew({ ...renewal, name: 'reject-renew-news.com' });
  await core.runDue();
  const transfer = { authCode: 'simulated-auth', years: 1, transactionId: 't' };
  await registry.transfer({ ...transfer, name: 'taken-news.com' });
  await registry.transfer({ ...transfer, name: 'reject-transfer-news.com' });
  const { authInfo = '' } = done(await core.infoDomain(session, { name: 'news.com' }));
  assert.equal((await core.requestTransfer(rival, { name: 'news.com', authInfo })).code, 1001);
  clock.advance(5 * DAY_MS);
  await core.runDue();
  await registry.delete({ name: 'reject-renew-news.com', transactionId: 't' });
  clock.advance(36 * DAY_MS);
  await core.runDue();
  await read();
  assert.deepEqual(kinds.toSorted(), [
    'deleted',
    'notice',
    'registration_completed',
    'registration_completed',
    'registration_failed',
    'renewal_completed',
    'renewal_failed',
    'transfer_completed',
    'transfer_failed',
    'transfer_requested',
    'transferred_away',
  ]);
});

/** Says `fault` once for the command, at that moment. */
function faultOnce(command: FaultCommand, moment: 'before' | 'after', fault: Fault) {
  let isLeft = true;
  const at = (now: 'before' | 'after') => (hit: FaultCommand) => {
    if (!isLeft || hit !== command || now !== moment) return 'ok';
    isLeft = false;
    return fault;
  };
  return { before: at('before'), after: at('after') };
}

test('a create whose answer is lost is carried out, one that is lost is not, and repeating either is safe', async () => {
  for (const [moment, fault] of [['after', 'disconnect'] as const, ['before', 'timeout'] as const]) {
    const { clock, registry } = openRegistry({ faults: faultOnce('create', moment, fault) });
    const name = `create-${moment}.com`;
    const outcome = await registry.create(creation(name));
    assert.ok(outcome.kind === 'unknown' && outcome.reason.length > 0);
    assert.equal((await registry.check([name]))[0]?.availability, moment === 'after' ? 'taken' : 'available');
    assert.equal((await registry.create(creation(name))).kind, 'pending');
    clock.advance(2_000);
    assert.equal((await infoOf(registry, name)).isOurs, true);
    assert.equal((await registry.poll())?.count, 1);
    const repeated = await registry.create(creation(name));
    assert.ok(repeated.kind === 'rejected' && repeated.code === 'object_exists');
  }
});

test('every mutation with a lost answer is unknown, and has been carried out', async () => {
  const hit: string[] = [];
  const faults = {
    before: () => 'ok' as const,
    after: (command: FaultCommand): Fault => {
      if (command === 'info') return 'ok';
      hit.push(command);
      return 'timeout';
    },
  };
  const { clock, registry } = openRegistry({ faults });
  const name = 'lost-answers.com';
  const transactionId = 't';
  const kinds = [(await registry.create(creation(name))).kind];
  clock.advance(6 * DAY_MS);
  const { expiresAt = '' } = await infoOf(registry, name);
  kinds.push((await registry.renew({ name, years: 1, currentExpiresAt: expiresAt, transactionId })).kind);
  clock.advance(1_000);
  assert.equal((await infoOf(registry, name)).expiresAt, '2028-03-01T12:00:00.000Z');
  kinds.push((await registry.update({ name, isPrivate: false, transactionId })).kind);
  assert.equal((await infoOf(registry, name)).isPrivate, false);
  kinds.push((await registry.delete({ name, transactionId })).kind);
  assert.ok((await infoOf(registry, name)).statuses.includes('redemptionPeriod'));
  kinds.push((await registry.restore({ name, transactionId })).kind);
  assert.deepEqual((await infoOf(registry, name)).statuses, ['ok']);
  const taken = { name: 'taken-lost.com', authCode: 'simulated-auth', years: 1, transactionId };
  kinds.push((await registry.transfer(taken)).kind);
  assert.deepEqual((await infoOf(registry, 'taken-lost.com')).statuses, ['pendingTransfer']);
  assert.deepEqual(kinds, Array(6).fill('unknown'));
  assert.deepEqual(hit, ['create', 'renew', 'update', 'delete', 'restore', 'transfer']);
});

test('a read without an answer says that nothing is known', async () => {
  const { registry } = openRegistry({ faults: { before: () => 'timeout', after: () => 'ok' } });
  const [answer] = await registry.check(['silent.com']);
  assert.equal(answer?.availability, 'unknown');
  for (const read of [() => registry.info('silent.com'), () => registry.poll(), () => registry.acknowledge('1')]) {
    await assert.rejects(read, RegistryUnavailable);
  }
});

test('a message whose acknowledgement is lost on its way comes again', async () => {
  const { clock, registry } = openRegistry({ faults: faultOnce('acknowledge', 'before', 'disconnect') });
  await own(registry, clock, 'comes-again.com');
  const polled = await registry.poll();
  const id = polled?.message.id ?? '';
  await assert.rejects(() => registry.acknowledge(id), RegistryUnavailable);
  assert.deepEqual(await registry.poll(), polled);
  await registry.acknowledge(id);
  assert.equal(await registry.poll(), undefined);
});

test('a fault can be arranged from outside the process', async () => {
  const { registry } = openRegistry({ faults: 'stored' });
  const db = registryDb(database.db);
  await addFault(db, {
    namePattern: 'arranged-*.com',
    command: 'create',
    moment: 'after',
    outcome: 'timeout',
    times: 2,
  });
  const names = ['arranged-1.com', 'other-1.com', 'arranged-2.com', 'arranged-3.com'];
  const kinds: string[] = [];
  for (const name of names) kinds.push((await registry.create(creation(name))).kind);
  assert.deepEqual(kinds, ['unknown', 'pending', 'unknown', 'pending']);
});

test('when the store fails a mutation is unknown and a read has no answer', async () => {
  const failing = {
    ...database.db,
    query: () => Promise.reject(new Error('connection reset')),
    transaction: () => Promise.reject(new Error('connection reset')),
  };
  const clock = createManualClock(new Date('2026-03-01T12:00:00Z'));
  const registry = createSimulatedRegistry({ db: failing, clock, logger, options: { prices: testPrices } });
  assert.equal((await registry.delete({ name: 'failing.com', transactionId: 't' })).kind, 'unknown');
  assert.equal((await registry.check(['failing.com']))[0]?.availability, 'unknown');
  await assert.rejects(() => registry.info('failing.com'), RegistryUnavailable);
});

test('once started it does what is due by itself, and stops', async () => {
  const { clock, registry, session } = openRegistry({ dueIntervalMs: 5 });
  await registry.start();
  await registry.create(creation('by-itself.com'));
  const announced = new EventTarget();
  const message = once(announced, 'message');
  clock.advance(2_000);
  const watch = setInterval(async () => {
    const queue = registryDb(database.db).selectFrom('registry_messages').select('id');
    const rows = await queue.where('registrar', '=', session.registrarId).execute();
    if (rows.length > 0) announced.dispatchEvent(new Event('message'));
  }, 5);
  await message;
  clearInterval(watch);
  await registry.stop();
});
