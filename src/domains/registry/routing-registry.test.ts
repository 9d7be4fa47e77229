/** One file, three registries of different habits: each sells, renews, changes and deletes its names. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openWire } from '../../../test/support/epp.ts';
import { DAY_MS, done } from '../../../test/support/simulated-registry.ts';
import { startThreeRegistries } from '../../../test/support/three-registries.ts';
import { systemDb } from '../workspace-scope.ts';
import { createRoutingRegistry } from './routing-registry.ts';

const folder = await mkdtemp(join(tmpdir(), 'registries-'));
const service = await startThreeRegistries(folder, { send: async () => undefined });
after(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});
const { anybody, db, deliver, servers } = service;
const { renewing, thin, attributes } = servers;
const CONTACT = { street: '1 Mill Lane', city: 'London', postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' };
const OWN = { nameservers: ['ns1.ironcraft.test', 'ns2.ironcraft.test'] };

test('one question is answered by every registry, at the prices of the file', async () => {
  const { body } = await anybody.get('/check?q=everywhere');
  const answers = body.results.map(({ domain, price, status }: { domain: string; status: string; price: unknown }) => [
    domain,
    status,
    price,
  ]);
  const years = { min_years: 1, max_years: 10 };
  assert.deepEqual(answers, [
    ['everywhere.com', 'available', { currency: 'EUR', register: 10.9, renew: 10.9, transfer: 10.9, ...years }],
    ['everywhere.net', 'available', { currency: 'EUR', register: 12, renew: 13, transfer: 12, ...years }],
    ['everywhere.org', 'available', { currency: 'EUR', register: 5, renew: 10.8, transfer: 10.8, ...years }],
  ]);
});

for (const { server, name, price, renewal, isPrivate } of [
  { server: renewing, name: 'mine.com', price: 10.9, renewal: 10.9, isPrivate: true },
  { server: thin, name: 'mine.net', price: 12, renewal: 13, isPrivate: true },
  { server: attributes, name: 'mine.org', price: 5, renewal: 10.8, isPrivate: false },
]) {
  test(`${name} is bought, renewed, locked and deleted at its registry alone`, async () => {
    const owner = await service.owner(CONTACT);
    const bought = await owner.post('/domains', { domain: name, confirm_price: price });
    assert.deepEqual([bought.status, bought.body.status], [201, 'Completed'], bought.text);
    const info = done(await server.core.infoDomain(server.ours, { name }));
    assert.deepEqual([info.sponsor, info.nameservers], [server.ours.registrarId, OWN.nameservers]);

    const renewed = await owner.post(`/domains/${name}/renew`, { confirm_price: renewal });
    assert.deepEqual([renewed.status, renewed.body.expires_at?.slice(0, 4)], [200, '2028'], renewed.text);
    const changed = await owner.patch(`/domains/${name}/settings`, {
      registrar_lock: true,
      nameservers: ['ns1.example.net', 'ns2.example.net'],
    });
    assert.equal(changed.status, 200, changed.text);
    const shown = (await owner.get(`/domains/${name}`)).body;
    assert.deepEqual([shown.registrar_lock, shown.nameservers], [true, ['ns1.example.net', 'ns2.example.net']]);
    assert.equal(shown.whois_privacy, isPrivate);

    assert.equal((await owner.patch(`/domains/${name}/settings`, { registrar_lock: false })).status, 200);
    const deleted = await owner.delete(`/domains/${name}`);
    assert.deepEqual([deleted.status, deleted.body.status], [200, 'Deleted'], deleted.text);
    assert.equal((await server.core.infoDomain(server.ours, { name })).ok, false);
  });
}

test('a registrant needs an address only where a registry keeps it', async () => {
  const owner = await service.owner();
  const refused = await owner.post('/domains', { domain: 'bare.com', confirm_price: 10.9 });
  assert.deepEqual([refused.status, refused.body.details.missing], [422, ['city', 'country']]);
  const bought = await owner.post('/domains', { domain: 'bare.net', confirm_price: 12 });
  assert.equal(bought.status, 201, bought.text);
});

test('what a registry cannot hide or show is refused with a reason', async () => {
  const owner = await service.owner(CONTACT);
  for (const [name, price, wanted] of [
    ['hidden.org', 5, true],
    ['hidden.net', 12, false],
  ] as const) {
    await owner.post('/domains', { domain: name, confirm_price: price });
    const { status, body } = await owner.patch(`/domains/${name}/settings`, { whois_privacy: wanted });
    assert.deepEqual([status, body.error], [400, 'bad_request'], name);
  }
});

test('an unpaid name is suspended where its registry renews it, and left alone where not', async () => {
  const owner = await service.owner(CONTACT);
  for (const [name, price] of [
    ['late.com', 10.9],
    ['late.org', 5],
  ] as const) {
    assert.equal((await owner.post('/domains', { domain: name, confirm_price: price })).status, 201);
    assert.equal((await owner.patch(`/domains/${name}/settings`, { auto_renew: false })).status, 200);
  }
  renewing.clock.advance(367 * DAY_MS);
  await service.domains.orders.sweep();
  await service.domains.unpaidNames.runDue();
  const held = async ({ core, ours }: typeof renewing, name: string) =>
    done(await core.infoDomain(ours, { name })).statuses.includes('clientHold');
  assert.deepEqual([await held(renewing, 'late.com'), await held(attributes, 'late.org')], [true, false]);
});

test('a price that begins later takes effect by itself, and a promotion ends so', async () => {
  const { body } = await anybody.get('/tlds');
  const [, net, org] = body.tlds;
  assert.deepEqual([net.register, net.renew, org.register], [14, 15, 10.8 + 0]);
});

test('a registry that is away is its own matter, and is not waited for again and again', async (t) => {
  const names = { queueTimeoutMs: 2_000, checkTimeoutMs: 60_000, reconnectDelayMs: 100, reconnectDelayMaxMs: 200 };
  const near = await renewing.connect({ id: 'near', zones: ['com'] });
  const wire = await openWire(thin.server.port);
  t.after(() => wire.close());
  const far = await thin.connect({ id: 'far', zones: ['net'], port: wire.port, ...names });
  const both = createRoutingRegistry([near, far]);
  const untilLoggedIn = async () => {
    while (far.countSessions() === 0) await new Promise((resolve) => setImmediate(resolve));
  };
  await untilLoggedIn();
  const availabilities = async () =>
    (await both.check(['a-1.com', 'a-1.net', 'a-1.nowhere'])).map((each) => each.availability);
  assert.deepEqual(await availabilities(), ['available', 'available', 'unknown']);
  wire.setDown(true);
  assert.deepEqual(await availabilities(), ['available', 'unknown', 'unknown']);
  await assert.rejects(both.info('a-1.net'), { name: 'RegistryUnavailable' });
  await assert.rejects(both.info('a-1.net'), { name: 'RegistryUnavailable' });
  // Once it has been away for as long as a command waits, no further one does.
  await assert.rejects(far.poll(), /none is waited for/);
  assert.equal(await both.info('a-1.com'), undefined);
  wire.setDown(false);
  await untilLoggedIn();
  assert.deepEqual(await availabilities(), ['available', 'available', 'unknown']);
});

test('a name that leads to no registry is asked about nowhere, and its order is kept', async () => {
  const near = await renewing.connect({ id: 'near', zones: ['com'] });
  const registry = createRoutingRegistry([near]);
  await assert.rejects(registry.info('a.net'), /no registry is configured for names under \.net/);
  const outcome = await registry.delete({ name: 'a.net', transactionId: 'del_1' });
  assert.equal(outcome.kind, 'unknown');
});

test('what waits for a registry that fails keeps nothing at another waiting', async () => {
  const owner = await service.owner(CONTACT);
  const now = renewing.clock.now();
  for (const [name, price] of [
    ['waits.com', 10.9],
    ['goes.net', 14],
  ] as const) {
    const bought = await owner.post('/domains', { domain: name, confirm_price: price });
    assert.equal(bought.status, 201, bought.text);
  }
  // As a process that has ended had written them down.
  const wanted = { deletion_wanted_at: now, deletion_look_at: now };
  await systemDb(db).updateTable('domains').set(wanted).where('name', 'in', ['waits.com', 'goes.net']).execute();
  await systemDb(db)
    .updateTable('domains')
    .set({ deletion_look_at: new Date(now.getTime() - DAY_MS) })
    .where('name', '=', 'waits.com')
    .execute();
  deliver(({ kind }) => (kind === 'domain:delete' ? { kind: 'refused', code: 2400 } : undefined));
  await service.domains.resendDeletions();
  deliver(undefined);
  const left = (await owner.get('/domains')).body.domains.map(({ domain }: { domain: string }) => domain);
  assert.deepEqual(left, ['waits.com']);
});
