import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import {
  DAY_MS,
  done,
  openTestRegistry,
  refused,
  type TestRegistry,
} from '../../../../test/support/simulated-registry.ts';
import { readBill } from './index.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

async function statesOf({ core, ours }: TestRegistry, name: string): Promise<string[]> {
  const info = done(await core.infoDomain(ours, { name }));
  return [...info.statuses, ...info.rgpStatuses].filter((status) => status !== 'inactive' && status !== 'ok');
}

test('a name that is not renewed is put on hold, into redemption, and goes', async () => {
  const registry = await openTestRegistry(database.db, { delays: { createSeconds: 0 } });
  const { clock, core, drain, ours, register } = registry;
  const name = 'lapsing.com';
  await register(name);
  const roid = done(await core.infoDomain(ours, { name })).roid;
  clock.advance(365 * DAY_MS - 1);
  assert.deepEqual(await statesOf(registry, name), []);
  clock.advance(1);
  assert.deepEqual(await statesOf(registry, name), ['serverHold']);
  clock.advance(30 * DAY_MS);
  assert.deepEqual(await statesOf(registry, name), ['pendingDelete', 'redemptionPeriod']);
  assert.equal(refused(await core.renewDomain(ours, { name, currentExpiryDate: '2027-03-01', years: 1 })), 2304);
  assert.equal(refused(await core.deleteDomain(ours, { name })), 2304);
  clock.advance(30 * DAY_MS);
  assert.deepEqual(await statesOf(registry, name), ['pendingDelete', 'pendingDelete']);
  assert.equal(refused(await core.restoreDomain(ours, { name })), 2304);
  clock.advance(5 * DAY_MS - 1);
  assert.equal(done(await core.checkDomains(ours, [name]))[0]?.state, 'taken');
  clock.advance(1);
  assert.equal(done(await core.checkDomains(ours, [name]))[0]?.state, 'available');
  assert.equal(refused(await core.infoDomain(ours, { name })), 2303);
  const events = (await drain(ours)).map(({ data }) => (data.type === 'lifeCycle' ? data.event : data.type));
  assert.deepEqual(events, ['expired', 'redemption', 'pendingDelete', 'deleted']);
  await register(name);
  assert.notEqual(done(await core.infoDomain(ours, { name })).roid, roid);
});

test('everything that was due in a long silence happens in its order, once, when somebody looks', async () => {
  const { clock, core, drain, ours, register } = await openTestRegistry(database.db, { delays: { createSeconds: 0 } });
  await register('forgotten.com');
  clock.advance(1_000 * DAY_MS);
  assert.ok((await core.runDue()).touched >= 1);
  const messages = await drain(ours);
  assert.deepEqual(
    messages.map(({ queuedAt }) => queuedAt.toISOString().slice(0, 10)),
    ['2027-03-01', '2027-03-31', '2027-04-30', '2027-05-05'],
  );
  await core.runDue();
  assert.deepEqual(await drain(ours), []);
});

test('a name on hold is renewed from the end of its term', async () => {
  const registry = await openTestRegistry(database.db, { delays: { createSeconds: 0 } });
  const { clock, core, ours, register } = registry;
  const name = 'late.com';
  await register(name);
  clock.advance((365 + 29) * DAY_MS);
  assert.equal((await core.renewDomain(ours, { name, currentExpiryDate: '2027-03-01', years: 1 })).code, 1001);
  assert.deepEqual(await statesOf(registry, name), ['pendingRenew', 'serverHold']);
  clock.advance(1_000);
  assert.deepEqual(await statesOf(registry, name), []);
  assert.equal(done(await core.infoDomain(ours, { name })).expiresAt.toISOString(), '2028-03-01T12:00:00.000Z');
});

test('a name is deleted at once in its first five days, and can be restored after that', async () => {
  const registry = await openTestRegistry(database.db, { delays: { createSeconds: 0 } });
  const { clock, core, drain, ours, register, theirs } = registry;
  await register('regretted.com');
  await register('deleted.com');
  clock.advance(5 * DAY_MS - 1);
  assert.equal(refused(await core.deleteDomain(theirs, { name: 'regretted.com' })), 2201);
  assert.equal((await core.deleteDomain(ours, { name: 'regretted.com' })).code, 1000);
  assert.equal(done(await core.checkDomains(ours, ['regretted.com']))[0]?.state, 'available');
  clock.advance(1);
  assert.equal((await core.deleteDomain(ours, { name: 'deleted.com' })).code, 1001);
  assert.deepEqual(await drain(ours), []);
  assert.equal(refused(await core.updateDomain(ours, { name: 'deleted.com', authInfo: 'another-code' })), 2304);
  assert.equal(refused(await core.requestTransfer(theirs, { name: 'deleted.com', authInfo: 'auth-of-ours' })), 2304);
  assert.equal(refused(await core.restoreDomain(theirs, { name: 'deleted.com' })), 2201);
  assert.equal(refused(await core.restoreDomain(ours, { name: 'deleted.com', feeCents: 1 })), 2004);
  clock.advance(30 * DAY_MS - 1);
  assert.deepEqual(done(await core.restoreDomain(ours, { name: 'deleted.com', feeCents: 8_000 })), {
    name: 'deleted.com',
    expiresAt: new Date('2027-03-01T12:00:00Z'),
    feeCents: 8_000,
    awaitsReport: false,
  });
  assert.deepEqual(await statesOf(registry, 'deleted.com'), []);
  assert.equal(refused(await core.restoreDomain(ours, { name: 'deleted.com' })), 2304);
});

test('restoring a name whose term has ended renews it, for the fee of both', async () => {
  const { clock, core, ours, register } = await openTestRegistry(database.db, { delays: { createSeconds: 0 } });
  await register('returned.com');
  clock.advance((365 + 45) * DAY_MS);
  const restored = done(await core.restoreDomain(ours, { name: 'returned.com' }));
  assert.equal(restored.feeCents, 9_100);
  assert.equal(restored.expiresAt.toISOString(), '2028-03-01T12:00:00.000Z');
});

test('a transfer that is still pending when redemption begins ends without effect', async () => {
  const { clock, core, drain, ours, register, theirs } = await openTestRegistry(database.db, {
    delays: { createSeconds: 0 },
  });
  const name = 'too-late.com';
  await register(name);
  clock.advance((365 + 28) * DAY_MS);
  assert.equal((await core.requestTransfer(theirs, { name, authInfo: 'auth-of-ours' })).code, 1001);
  clock.advance(2 * DAY_MS);
  assert.equal(done(await core.infoDomain(ours, { name })).sponsor, ours.registrarId);
  const [message] = await drain(theirs);
  assert.ok(message?.data.type === 'transfer');
  assert.equal(message.data.transfer.status, 'serverCancelled');
});

test('names that are registered elsewhere never lapse', async () => {
  const { clock, core, ours } = await openTestRegistry(database.db);
  done(await core.infoDomain(ours, { name: 'taken-forever.com' }));
  clock.advance(3_000 * DAY_MS);
  const info = done(await core.infoDomain(ours, { name: 'taken-forever.com' }));
  assert.ok(info.expiresAt > clock.now());
  assert.deepEqual(info.statuses, ['ok']);
});

test('hosts below a name go with it, and so do the delegations to them', async () => {
  const { clock, core, ours, register } = await openTestRegistry(database.db, { delays: { createSeconds: 0 } });
  await register('parent.com');
  await register('dependent.com', 5);
  done(await core.createHost(ours, { name: 'ns1.parent.com', addresses: ['192.0.2.1'] }));
  done(await core.updateDomain(ours, { name: 'dependent.com', nameservers: { set: ['ns1.parent.com'] } }));
  assert.deepEqual(done(await core.infoDomain(ours, { name: 'parent.com' })).subordinateHosts, ['ns1.parent.com']);
  assert.equal(refused(await core.deleteDomain(ours, { name: 'parent.com' })), 2305);
  clock.advance((365 + 65) * DAY_MS);
  await core.runDue();
  assert.equal(refused(await core.infoHost(ours, { name: 'ns1.parent.com' })), 2303);
  assert.deepEqual(done(await core.infoDomain(ours, { name: 'dependent.com' })).nameservers, []);
});

describe('a registry that renews by itself', () => {
  const GRACE_DAYS = 45;
  const yearsOf = async (registry: TestRegistry, name: string, { registrarId } = registry.ours) => {
    const bill = await readBill(database.db, registrarId);
    return bill.filter((charge) => charge.name === name).map(({ kind, years }) => `${kind} ${years}`);
  };
  const open = () =>
    openTestRegistry(database.db, {
      delays: { createSeconds: 0, renewSeconds: 0, transferSeconds: 0 },
      autoRenewGraceDays: GRACE_DAYS,
    });

  test('keeps a name and bills each further year', async () => {
    const registry = await open();
    const { clock, core, ours, register } = registry;
    const name = 'goes-on.com';
    await register(name);
    clock.advance(365 * DAY_MS);
    assert.deepEqual(await statesOf(registry, name), ['autoRenewPeriod']);
    clock.advance(GRACE_DAYS * DAY_MS);
    assert.deepEqual(await statesOf(registry, name), []);
    clock.advance(366 * DAY_MS);
    const { expiresAt } = done(await core.infoDomain(ours, { name }));
    assert.equal(expiresAt.toISOString().slice(0, 10), '2029-03-01');
    assert.deepEqual(await yearsOf(registry, name), ['create 1', 'auto_renew 1', 'auto_renew 1']);
  });

  test('takes the renewal back with a delete in its grace period, and not later', async () => {
    const registry = await open();
    const { clock, core, ours, register } = registry;
    await register('in-time.com');
    await register('too-late.com');
    clock.advance((365 + GRACE_DAYS) * DAY_MS - 1);
    done(await core.deleteDomain(ours, { name: 'in-time.com' }));
    assert.deepEqual(await statesOf(registry, 'in-time.com'), ['pendingDelete', 'redemptionPeriod']);
    assert.deepEqual(await yearsOf(registry, 'in-time.com'), ['create 1', 'auto_renew 1', 'auto_renew -1']);
    clock.advance(1);
    done(await core.deleteDomain(ours, { name: 'too-late.com' }));
    assert.deepEqual(await yearsOf(registry, 'too-late.com'), ['create 1', 'auto_renew 1']);
    const { expiresAt } = done(await core.restoreDomain(ours, { name: 'in-time.com' }));
    assert.equal(expiresAt.toISOString().slice(0, 10), '2028-03-01');
    assert.deepEqual((await yearsOf(registry, 'in-time.com')).at(-1), 'restore 1');
  });

  test('takes it back when the name is handed over, whose new registrar pays for its own year', async () => {
    const registry = await open();
    const { clock, core, ours, register, theirs } = registry;
    const name = 'moves.com';
    await register(name);
    clock.advance(366 * DAY_MS);
    const { authInfo = '' } = done(await core.infoDomain(ours, { name }));
    done(await core.requestTransfer(theirs, { name, authInfo }));
    assert.deepEqual(await yearsOf(registry, name), ['create 1', 'auto_renew 1', 'auto_renew -1']);
    assert.deepEqual(await yearsOf(registry, name, theirs), ['transfer 1']);
    const { expiresAt } = done(await core.infoDomain(theirs, { name }));
    assert.equal(expiresAt.toISOString().slice(0, 10), '2028-03-01');
  });

  test('bills nothing for a name that is deleted within days of its registration', async () => {
    const registry = await open();
    const { core, ours, register } = registry;
    await register('tried.com');
    done(await core.deleteDomain(ours, { name: 'tried.com' }));
    const bill = (await readBill(database.db, ours.registrarId)).filter(({ name }) => name === 'tried.com');
    assert.equal(bill.length, 2);
    assert.equal(
      bill.reduce((sum, { amount_cents: cents }) => sum + cents, 0),
      0,
    );
  });
});
