import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { NAMESERVERS, startDomains, type TestWorkspace } from '../../../../test/support/domains.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import { json } from '../../../kernel/db/values.ts';
import type { ZonePublisher } from '../../dns/publisher.ts';
import { addFault, type FaultCommand, registryDb } from '../../registry/simulated/index.ts';
import { readWallet } from '../../wallet/index.ts';

const DAY_MS = 86_400_000;
const START = new Date('2027-03-01T12:00:00Z');
const PRICE = 11.9;
const EXTERNAL = ['ns1.example.net', 'ns2.example.net'];

/** Signing fails, so that a zone that is to be signed stays on its way there. */
const publisher: ZonePublisher & { supportsDnssec: boolean } = {
  kind: 'powerdns',
  supportsDnssec: true,
  publish: async () => undefined,
  remove: async () => undefined,
  sign: async () => Promise.reject(new Error('not today')),
  unsign: async () => undefined,
  addKey: async () => Promise.reject(new Error('not today')),
  retireKeys: async () => undefined,
  start: async () => undefined,
  stop: async () => undefined,
};
const clock = createManualClock(START);
const service = await startDomains({ clock, publisher: () => publisher, simulated: { faults: 'stored' } });
after(() => service.close());
afterEach(() => clock.set(START));

let names = 0;

/** A workspace with a name of its own. */
async function own(prefix = 'name'): Promise<{ workspace: TestWorkspace; name: string; path: string }> {
  names += 1;
  const name = `${prefix}-${names}.com`;
  const workspace = await service.createWorkspace();
  await workspace.fund(10_000);
  const bought = await workspace.post('/domains', { domain: name, confirm_price: PRICE });
  assert.equal(bought.status, 201, bought.text);
  return { workspace, name, path: `/domains/${name}/settings` };
}

const breakOnce = (command: FaultCommand, namePattern: string, moment: 'before' | 'after') =>
  addFault(registryDb(service.db), { command, namePattern, moment, outcome: 'disconnect' });

test('lock and privacy are set at the registry, and shown at once', async () => {
  const { workspace, name, path } = await own();
  const { status, body } = await workspace.patch(path, { registrar_lock: true });
  assert.equal(status, 200);
  assert.deepEqual(body.settings, {
    auto_renew: true,
    registrar_lock: true,
    whois_privacy: true,
    dnssec: false,
    nameservers: [...NAMESERVERS],
  });
  assert.deepEqual(
    [body.domain, body.status, body.renewal.term, 'renewed_until' in body],
    [name, 'Completed', 'not_due', false],
  );
  const open = await workspace.patch(path, { registrar_lock: false, whois_privacy: false });
  assert.deepEqual([open.body.settings.registrar_lock, open.body.settings.whois_privacy], [false, false]);
  const [entry] = (await workspace.get('/domains')).body.domains;
  assert.deepEqual([entry.registrar_lock, entry.whois_privacy], [false, false]);
  assert.equal((await service.registry.info(name))?.isPrivate, false);
});

test('a locked domain is changed by the call that unlocks it, and by no other', async () => {
  const { workspace, path } = await own();
  await workspace.patch(path, { registrar_lock: true });
  for (const change of [{ whois_privacy: false }, { nameservers: EXTERNAL }, { dnssec: true }]) {
    const { status, body } = await workspace.patch(path, { ...change, auto_renew: false });
    assert.deepEqual([status, body.error, body.details.param], [400, 'bad_request', 'registrar_lock'], json(change));
    assert.match(body.details.message, /registrar_lock.*false/);
  }
  assert.equal((await workspace.get('/domains')).body.domains[0].auto_renew, true, 'all of a call or nothing');
  const unlocked = await workspace.patch(path, { registrar_lock: false, nameservers: EXTERNAL });
  assert.deepEqual([unlocked.status, unlocked.body.settings.nameservers], [200, EXTERNAL]);
});

test('with other nameservers the records are kept elsewhere, and with ours again here', async () => {
  const { workspace, name, path } = await own();
  const record = { subdomain: 'www', type: 'A', value: '192.0.2.1' };
  assert.equal((await workspace.post(`/domains/${name}/zone`, record)).status, 201);
  const away = await workspace.patch(path, {
    nameservers: ['NS2.Example.NET.', 'ns1.bücher.example', 'ns2.example.net'],
  });
  assert.deepEqual(away.body.settings.nameservers, ['ns1.xn--bcher-kva.example', 'ns2.example.net']);
  const refused = await workspace.get(`/domains/${name}/zone`);
  assert.deepEqual([refused.status, refused.body.error], [409, 'no_hosted_zone']);
  const back = await workspace.patch(path, { nameservers: 'hosted' });
  assert.deepEqual(back.body.settings.nameservers, [...NAMESERVERS]);
  const { body } = await workspace.get(`/domains/${name}/zone`);
  assert.ok(body.records.some((each: { subdomain: string }) => each.subdomain === 'www'));
  const same = await workspace.patch(path, { nameservers: [...NAMESERVERS].reverse() });
  assert.deepEqual(same.body.settings.nameservers, [...NAMESERVERS]);
});

test('what is no change, or no host name, is refused and changes nothing', async () => {
  const { workspace, name, path } = await own();
  const cases: [unknown, RegExp][] = [
    [{}, /at least one/],
    [{ colour: 'red' }, /colour/],
    [{ auto_renew: 'yes' }, /auto_renew/],
    [{ auto_renew: false, nameservers: ['ns1.example.net'] }, /nameservers/],
    [{ auto_renew: false, nameservers: ['ns1.example.net', 'NS1.example.net.'] }, /2 to 13 different/],
    [{ auto_renew: false, nameservers: Array.from({ length: 14 }, (_, n) => `ns${n}.example.net`) }, /nameservers/],
    [{ auto_renew: false, nameservers: ['ns1.example.net', '192.0.2.1'] }, /nameservers\.1/],
    [{ auto_renew: false, nameservers: ['ns1.example.net', 'ns_2.example.net'] }, /nameservers\.1/],
    [{ auto_renew: false, nameservers: ['ns1.example.net', 'localhost'] }, /nameservers\.1/],
    [{ auto_renew: false, nameservers: ['ns1.example.net', `ns.${name}`] }, /lies below.*glue/],
    [{ auto_renew: false, nameservers: 'theirs' }, /nameservers/],
  ];
  for (const [change, message] of cases) {
    const { status, body } = await workspace.patch(path, change);
    assert.deepEqual([status, body.error], [400, 'bad_request'], json(change));
    assert.match(`${body.details.param} ${body.details.message}`, message);
  }
  assert.equal((await workspace.get('/domains')).body.domains[0].auto_renew, true);
});

test('only the owner’s write token changes settings', async () => {
  const { workspace, path } = await own();
  const stranger = await service.createWorkspace();
  const answers = [
    [await service.anybody.patch(path, { auto_renew: false }), 401, 'missing_token'],
    [await workspace.reader.patch(path, { auto_renew: false }), 403, 'insufficient_scope'],
    [await stranger.patch(path, { auto_renew: false }), 404, 'not_found'],
    [await stranger.patch('/domains/never-existed.com/settings', { auto_renew: false }), 404, 'not_found'],
    [await workspace.patch('/domains/not%20a%20name/settings', { auto_renew: false }), 400, 'bad_request'],
  ] as const;
  for (const [{ status, body }, expected, code] of answers) assert.deepEqual([status, body.error], [expected, code]);
  assert.equal((await workspace.get('/domains')).body.domains[0].auto_renew, true);
});

test('auto-renew that is off before the charge costs nothing', async () => {
  const { workspace, path } = await own();
  const off = await workspace.patch(path, { auto_renew: false });
  assert.deepEqual(
    [off.body.renewal.term, off.body.renewal.next_charge_at, 'renewed_until' in off.body],
    ['off', null, false],
  );
  clock.advance(340 * DAY_MS);
  await service.domains.renewals.runDue();
  assert.equal((await readWallet(service.db, workspace.workspaceId)).availableCents, 10_000 - 1_190);
  const on = await workspace.patch(path, { auto_renew: true });
  assert.deepEqual([on.body.renewal.term, on.body.renewal.next_charge_at], ['charging', '2028-01-31T12:00:00.000Z']);
});

test('after the charge the renewal stands, and the answer says until when', async () => {
  const { workspace, name, path } = await own();
  clock.advance(340 * DAY_MS);
  await service.domains.renewals.runDue();
  const { body } = await workspace.patch(path, { auto_renew: false });
  assert.equal(body.renewed_until, '2029-03-01T12:00:00.000Z');
  assert.deepEqual([body.settings.auto_renew, body.renewal.term, body.renewal.auto_renew], [false, 'renewed', false]);
  assert.equal((await readWallet(service.db, workspace.workspaceId)).availableCents, 10_000 - 2 * 1_190);
  const details = await workspace.get(`/domains/${name}`);
  assert.deepEqual(details.body.renewal, body.renewal);
  assert.equal(details.body.expires_at, '2029-03-01T12:00:00.000Z');
});

test('turning auto-renew on takes a scheduled release back', async () => {
  const { workspace, name, path } = await own();
  assert.equal((await workspace.delete(`/domains/${name}?when=at_expiry`)).body.status, 'ReleaseScheduled');
  const released = await workspace.patch(path, { whois_privacy: true });
  assert.deepEqual([released.body.renewal.term, released.body.settings.auto_renew], ['off', false]);
  const { body } = await workspace.patch(path, { auto_renew: true });
  assert.equal(body.renewal.term, 'not_due');
  assert.equal((await workspace.get(`/domains/${name}`)).body.release_at, null);
});

test('DNSSEC is for zones that are kept here by nameservers that sign', async () => {
  const { workspace, name, path } = await own();
  publisher.supportsDnssec = false;
  const unable = await workspace.patch(path, { dnssec: true, auto_renew: false });
  publisher.supportsDnssec = true;
  assert.deepEqual([unable.status, unable.body.error, unable.body.details.param], [400, 'bad_request', 'dnssec']);
  await workspace.patch(path, { nameservers: EXTERNAL });
  const external = await workspace.patch(path, { dnssec: true, auto_renew: false });
  assert.deepEqual([external.status, external.body.error], [409, 'no_hosted_zone']);
  assert.equal((await workspace.get(`/domains/${name}`)).body.auto_renew, true);
  assert.equal((await workspace.patch(path, { dnssec: false })).body.status, 'Completed');
  const { body } = await workspace.patch(path, { dnssec: true, nameservers: 'hosted' });
  assert.deepEqual([body.settings.dnssec, body.status], [true, 'Pending']);
});

test('nameservers do not change while resolvers trust a key, and are not locked away from their keys', async () => {
  const { workspace, path, name } = await own();
  await workspace.patch(path, { dnssec: true });
  const signed = await workspace.patch(path, { nameservers: EXTERNAL });
  assert.deepEqual([signed.status, signed.body.details.param], [400, 'nameservers']);
  const locked = await workspace.patch(path, { registrar_lock: true, dnssec: true });
  assert.deepEqual([locked.status, locked.body.details.param], [400, 'registrar_lock']);
  await service.db.query({
    text: `update domains.zones set dnssec = 'disabling', dnssec_next_look_at = '2099-01-01' where name = $1`,
    values: [name],
  });
  const waiting = await workspace.patch(path, { nameservers: EXTERNAL });
  assert.deepEqual([waiting.status, waiting.body.error], [409, 'pending_operation']);
});

test('DS records that a domain brought along go by turning DNSSEC off', async () => {
  const { workspace, name, path } = await own();
  await workspace.patch(path, { nameservers: EXTERNAL });
  const dsRecords = [{ keyTag: 7, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) }];
  await service.registry.update({ name, dsRecords, transactionId: 'test' });
  const moved = await workspace.patch(path, { nameservers: 'hosted' });
  assert.deepEqual([moved.status, moved.body.details.param], [400, 'nameservers']);
  const { body } = await workspace.patch(path, { dnssec: false });
  assert.deepEqual([body.settings.dnssec, body.status], [false, 'Completed']);
  assert.deepEqual((await service.registry.info(name))?.dsRecords, []);
});

test('a registry that is at something else is waited for', async () => {
  const { workspace, name, path } = await own();
  const transfer = {
    status: 'pending',
    requestedBy: 'elsewhere',
    requestedAt: START,
    actedBy: 'ironcraft',
    actedAt: new Date(START.getTime() + DAY_MS),
    fails: false,
    expiresAt: START,
  };
  await registryDb(service.db)
    .updateTable('registry_domains')
    .set({ transfer: json(transfer) })
    .where('name', '=', name)
    .execute();
  const { status, body } = await workspace.patch(path, { whois_privacy: false });
  assert.deepEqual([status, body.error, body.details.status], [409, 'pending_operation', 'pendingTransfer']);
});

test('a domain that the registry does not report yet has only what is ours to change', async () => {
  const workspace = await service.createWorkspace();
  await workspace.fund(10_000);
  await workspace.post('/domains', { domain: 'slow-settings.com', confirm_price: PRICE });
  const path = '/domains/slow-settings.com/settings';
  const { status, body } = await workspace.patch(path, { registrar_lock: true, auto_renew: false });
  assert.deepEqual([status, body.error, body.details.addedVia], [409, 'pending_at_registry', 'registration']);
  const off = await workspace.patch(path, { auto_renew: false });
  assert.deepEqual([off.status, off.body.settings.auto_renew, off.body.renewal.expires_at], [200, false, null]);
});

test('an answer that is lost leaves nothing of ours behind, and the call can be repeated', async () => {
  const { workspace, name, path } = await own();
  const change = { registrar_lock: true, auto_renew: false };
  for (const [command, moment] of [
    ['info', 'before'],
    ['update', 'before'],
    ['update', 'after'],
  ] as const) {
    await breakOnce(command, name, moment);
    const { status, body } = await workspace.patch(path, change, { 'idempotency-key': 'settings-1' });
    assert.deepEqual([status, body.error], [500, 'internal'], `${command} ${moment}`);
    assert.equal((await workspace.get('/domains')).body.domains[0].auto_renew, true);
  }
  const { status, body } = await workspace.patch(path, change, { 'idempotency-key': 'settings-1' });
  assert.deepEqual([status, body.settings.registrar_lock, body.settings.auto_renew], [200, true, false]);
});

test('a repetition under the same key is answered from what is kept', async () => {
  const { workspace, path } = await own();
  const key = { 'idempotency-key': 'settings-2' };
  const first = await workspace.patch(path, { auto_renew: false }, key);
  await workspace.patch(path, { auto_renew: true });
  const again = await workspace.patch(path, { auto_renew: false }, key);
  assert.equal(again.headers.get('idempotent-replay'), 'true');
  assert.deepEqual(again.body, first.body);
  assert.equal((await workspace.get('/domains')).body.domains[0].auto_renew, true);
  const other = await workspace.patch(path, { auto_renew: true }, key);
  assert.deepEqual([other.status, other.body.error], [409, 'idempotency_key_reused']);
});
