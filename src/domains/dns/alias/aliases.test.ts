/** ALIAS records, from the resolver that knows their targets to what a nameserver answers. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer } from 'dns-packet';
import { dig, digMissing, digShort, hasDig } from '../../../../test/support/dig.ts';
import { startDomains, type TestWorkspace } from '../../../../test/support/domains.ts';
import { hasPowerDns, powerDnsMissing, startPowerDns } from '../../../../test/support/power-dns.ts';
import { openScriptedResolver, type ScriptedAnswer } from '../../../../test/support/scripted-resolver.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { addTestRecord, createHostedZone } from '../../../../test/support/zones.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import { createEmbeddedPublisher, type EmbeddedPublisher } from '../embedded/index.ts';
import { createZoneReconciler } from '../index.ts';
import { createPowerDnsPublisher } from '../powerdns/power-dns-publisher.ts';
import { createAliasTargets, refreshAliases } from './index.ts';

const NAMESERVERS = ['ns1.ironcraft.test', 'ns2.ironcraft.test'];
const HOUR_MS = 3_600_000;

/** What the world has; the rest is NXDOMAIN. */
const world = new Map<string, ScriptedAnswer>();
const resolver = await openScriptedResolver(
  (name, type) => world.get(`${name} ${type}`) ?? world.get(name) ?? { rcode: 3 },
);
const clock = createManualClock(new Date('2027-03-01T12:00:00Z'));
let nameserver: EmbeddedPublisher | undefined;
const aliasTargets = createAliasTargets({ resolvers: [resolver.address], allowsPrivate: false });
const service = await startDomains({
  clock,
  aliasTargets,
  publisher: ({ db, logger }) => {
    nameserver = createEmbeddedPublisher({
      ...{ db, logger, clock, nameservers: NAMESERVERS },
      ...{ host: '127.0.0.1', port: 0, responsesPerSecond: 1_000_000 },
    });
    return nameserver;
  },
});
after(async () => {
  await service.close();
  await resolver.close();
});
const port = nameserver?.port ?? 0;
const skip = hasDig() ? false : digMissing;

const a = (name: string, data: string, ttl = 300): Answer => ({ type: 'A', name, data, ttl });
const aaaa = (name: string, data: string, ttl = 300): Answer => ({ type: 'AAAA', name, data, ttl });
const cname = (name: string, data: string, ttl = 300): Answer => ({ type: 'CNAME', name, data, ttl });

function setTarget(name: string, ipv4: readonly Answer[], ipv6: readonly Answer[] = []): void {
  world.set(`${name} A`, { answers: ipv4 });
  world.set(`${name} AAAA`, { answers: ipv6 });
}

let count = 0;

/** The first joins the pass that the service has under way, which may have begun too early. */
async function refresh(): Promise<void> {
  await service.domains.refreshAliases();
  await service.domains.refreshAliases();
}

/** A zone whose own name is an alias of that target. */
async function own(target: string, ttl = 3_600) {
  count += 1;
  const name = `alias-${count}.test`;
  const workspace = await service.createWorkspace();
  const zone = await createHostedZone(service.db, name, [`@ ${ttl} ALIAS ${target}.`], workspace.workspaceId);
  await refresh();
  return { name, workspace, zone };
}

async function stateOf(workspace: TestWorkspace, name: string) {
  const { body } = await workspace.get(`/domains/${name}/zone`);
  return body.records.find((record: { type: string }) => record.type === 'ALIAS').alias;
}

async function later(ms: number): Promise<void> {
  clock.advance(ms);
  await refresh();
}

/** The nameserver is told of changes, which takes a moment. */
async function eventuallyServes(name: string, type: string, values: readonly string[]): Promise<void> {
  const isServed = async () => ((await digShort(port, name, type)).join() === values.join() ? true : undefined);
  await eventually(isServed, `${name} ${type} is ${values.join(' ')}`);
}

test('the target’s addresses are served at the zone’s own name, with no longer a TTL than it says', {
  skip,
}, async () => {
  setTarget(
    'web.example.net',
    [
      cname('web.example.net', 'Edge.Example.Net', 120),
      a('edge.example.net', '198.41.0.4'),
      a('edge.example.net', '199.9.14.201'),
    ],
    [aaaa('web.example.net', '2001:503:ba3e::2:30')],
  );
  const { name, workspace } = await own('web.example.net');
  await eventuallyServes(name, 'A', ['198.41.0.4', '199.9.14.201']);
  await eventuallyServes(name, 'AAAA', ['2001:503:ba3e::2:30']);
  assert.match(await dig(port, [name, 'A', '+noall', '+answer']), /^\S+\s+120\s+IN\s+A\s/);
  assert.doesNotMatch(await dig(port, [name, 'ANY', '+tcp']), /ALIAS/);
  assert.deepEqual(await stateOf(workspace, name), {
    state: 'current',
    addresses: ['198.41.0.4', '199.9.14.201', '2001:503:ba3e::2:30'],
    resolved_at: clock.now().toISOString(),
    problem: null,
  });
  const { body } = await workspace.get(`/domains/${name}/zone/file`);
  assert.match(body.zone_file, /^; @\t3600\tIN\tALIAS\tweb\.example\.net\. ; /m);
  assert.match(body.zone_file, /^@\t120\tIN\tA\t198\.41\.0\.4$/m);
});

test('they are looked up again when they may be remembered no longer, and what moves is served', { skip }, async () => {
  setTarget('moves.example.net', [a('moves.example.net', '198.41.0.4', 60)]);
  const { name, workspace } = await own('moves.example.net', 600);
  await eventuallyServes(name, 'A', ['198.41.0.4']);
  const { serial } = (await workspace.get(`/domains/${name}/zone`)).body;
  setTarget('moves.example.net', [a('moves.example.net', '192.33.4.12', 60)]);
  await later(59_000);
  assert.deepEqual((await stateOf(workspace, name)).addresses, ['198.41.0.4']);
  await later(1_000);
  await eventuallyServes(name, 'A', ['192.33.4.12']);
  assert.equal((await workspace.get(`/domains/${name}/zone`)).body.serial, serial + 1);
  // A resolver that has it in its cache tells what is left of the TTL: longer ones change nothing.
  setTarget('moves.example.net', [a('moves.example.net', '192.33.4.12', 100)]);
  await later(60_000);
  assert.equal((await workspace.get(`/domains/${name}/zone`)).body.serial, serial + 1);
});

test('while the target gives no answer its last addresses are served on, for a day', { skip }, async () => {
  setTarget(
    'away.example.net',
    [a('away.example.net', '198.41.0.4')],
    [aaaa('away.example.net', '2001:503:ba3e::2:30')],
  );
  const { name, workspace } = await own('away.example.net');
  world.set('away.example.net AAAA', { rcode: 2 });
  await later(300_000);
  assert.deepEqual((await stateOf(workspace, name)).state, 'current', 'of one type alone, the other is kept');
  const resolvedAt = clock.now().toISOString();
  world.set('away.example.net A', { rcode: 2 });
  await later(300_000);
  assert.deepEqual(await stateOf(workspace, name), {
    state: 'kept',
    addresses: ['198.41.0.4', '2001:503:ba3e::2:30'],
    resolved_at: resolvedAt,
    problem: 'no_answer',
  });
  await eventuallyServes(name, 'A', ['198.41.0.4']);
  await later(24 * HOUR_MS);
  const state = await stateOf(workspace, name);
  assert.deepEqual([state.state, state.addresses, state.problem], ['failed', [], 'no_answer']);
  await eventuallyServes(name, 'A', []);
  setTarget('away.example.net', [a('away.example.net', '198.41.0.4')]);
  await later(HOUR_MS);
  await eventuallyServes(name, 'A', ['198.41.0.4']);
  assert.equal((await stateOf(workspace, name)).state, 'current');
});

test('a target that is not there, has no address or leads inside is served by none', async () => {
  const cases: [string, string][] = [
    ['nothing.example.net', 'no_such_name'],
    ['empty.example.net', 'no_addresses'],
    ['inside.example.net', 'private_addresses'],
    ['metadata.example.net', 'private_addresses'],
    ['circle.example.net', 'no_addresses'],
  ];
  world.set('empty.example.net', {});
  setTarget('inside.example.net', [a('inside.example.net', '10.0.0.1'), a('inside.example.net', '127.0.0.1')]);
  setTarget('metadata.example.net', [a('metadata.example.net', '169.254.169.254')]);
  world.set('circle.example.net', {
    answers: [cname('circle.example.net', 'round.example.net'), cname('round.example.net', 'circle.example.net')],
  });
  for (const [target, problem] of cases) {
    const { name, workspace } = await own(target);
    const { addresses, state, problem: told } = await stateOf(workspace, name);
    assert.deepEqual([state, addresses, told], ['failed', [], problem], target);
  }
  // Of several those are served that everybody reaches.
  setTarget('mixed.example.net', [a('mixed.example.net', '192.168.0.1'), a('mixed.example.net', '198.41.0.4')]);
  const mixed = await own('mixed.example.net');
  assert.deepEqual((await stateOf(mixed.workspace, mixed.name)).addresses, ['198.41.0.4']);
  const inside = createAliasTargets({ resolvers: [resolver.address], allowsPrivate: true });
  const { answers } = await inside.find('inside.example.net');
  assert.deepEqual(answers.A.kind === 'found' && answers.A.values, ['10.0.0.1', '127.0.0.1']);
  const metadata = (await inside.find('metadata.example.net')).answers.A;
  assert.deepEqual(metadata.kind === 'found' && metadata.values, []);
});

test('aliases that lead to one another serve nothing, and so does one that comes back to itself', async () => {
  const next = count + 2;
  setTarget(`alias-${next}.test`, [a(`alias-${next}.test`, '198.41.0.4')]);
  const first = await own(`alias-${next}.test`);
  assert.equal((await stateOf(first.workspace, first.name)).state, 'current');
  setTarget(first.name, [a(first.name, '198.41.0.4')]);
  const second = await own(first.name);
  assert.deepEqual(await stateOf(second.workspace, second.name), {
    ...{ state: 'failed', addresses: [], resolved_at: null, problem: 'loop' },
  });
  await later(300_000);
  const looped = await stateOf(first.workspace, first.name);
  assert.deepEqual([looped.state, looped.addresses, looped.problem], ['failed', [], 'loop']);
  const itself = `alias-${count + 1}.test`;
  setTarget('back.example.net', [cname('back.example.net', itself), a(itself, '198.41.0.4')]);
  const back = await own('back.example.net');
  assert.equal((await stateOf(back.workspace, back.name)).problem, 'loop');
});

test('a long answer is asked for by TCP, and no more than 20 addresses of it are served', async () => {
  const many = Array.from({ length: 60 }, (_, at) => a('many.example.net', `198.41.1.${at + 1}`));
  world.set('many.example.net A', { answers: many, isLong: true });
  world.set('many.example.net AAAA', {});
  const { name, workspace } = await own('many.example.net');
  assert.equal((await stateOf(workspace, name)).addresses.length, 20);
});

test('another target is looked up at once, and until then the old one’s addresses are served', async () => {
  setTarget('old.example.net', [a('old.example.net', '198.41.0.4')]);
  setTarget('new.example.net', [a('new.example.net', '192.33.4.12')]);
  const { name, workspace } = await own('old.example.net');
  const { body } = await workspace.get(`/domains/${name}/zone`);
  const { id } = body.records.find((record: { type: string }) => record.type === 'ALIAS');
  const changed = await workspace.patch(`/domains/${name}/zone/records/${id}`, { value: 'new.example.net' });
  assert.equal(changed.status, 200, changed.text);
  await refresh();
  assert.deepEqual((await stateOf(workspace, name)).addresses, ['192.33.4.12']);
  const gone = await workspace.delete(`/domains/${name}/zone?subdomain=@&type=ALIAS&value=new.example.net`);
  assert.equal(gone.status, 200, gone.text);
  await refresh();
  const { rows } = await service.db.query({
    text: 'select from domains.alias_answers where target = $1',
    values: ['new.example.net.'],
  });
  assert.equal(rows.length, 0);
});

/** A zone whose addresses an ALIAS takes the place of, in one change. */
async function replaceAddresses(target: string) {
  count += 1;
  const name = `alias-${count}.test`;
  const workspace = await service.createWorkspace();
  const records = ['@ 300 A 192.0.2.1', '@ 600 AAAA 2001:db8::1', '@ 600 MX 10 mail.example.net.'];
  await createHostedZone(service.db, name, records, workspace.workspaceId);
  await eventuallyServes(name, 'A', ['192.0.2.1']);
  const changed = await workspace.post(`/domains/${name}/zone/changes`, {
    changes: [
      { action: 'delete', subdomain: '@', type: 'A', value: '192.0.2.1' },
      { action: 'delete', subdomain: '@', type: 'AAAA', value: '2001:db8::1' },
      { action: 'create', subdomain: '@', type: 'ALIAS', value: target },
    ],
  });
  assert.equal(changed.status, 200, changed.text);
  // What a day is counted from, by the clock of this file.
  const made = `update domains.dns_records set created_at = $2 where type = 'ALIAS'
    and domain_id = (select domain_id from domains.zones where name = $1)`;
  await service.db.query({ text: made, values: [name, clock.now()] });
  return { name, workspace, serial: changed.body.serial };
}

test('an ALIAS in the place of addresses goes on with them until its target has answered', { skip }, async () => {
  world.set('slow.example.net', { rcode: 2 });
  const { name, serial, workspace } = await replaceAddresses('slow.example.net');
  const isPublished = async () =>
    (await digShort(port, name, 'SOA')).join().includes(` ${serial} `) ? true : undefined;
  await eventually(isPublished, `${name} has the serial ${serial}`);
  assert.deepEqual(await digShort(port, name, 'A'), ['192.0.2.1']);
  assert.deepEqual(await digShort(port, name, 'AAAA'), ['2001:db8::1']);
  assert.match(
    await dig(port, [name, 'AAAA', '+noall', '+answer']),
    /^\S+\s+300\s/,
    'the shortest TTL of what was there',
  );
  await refresh();
  const waiting = await stateOf(workspace, name);
  assert.deepEqual(
    [waiting.state, waiting.addresses, waiting.resolved_at, waiting.problem],
    ['kept', ['192.0.2.1', '2001:db8::1'], null, 'no_answer'],
  );
  world.delete('slow.example.net');
  setTarget('slow.example.net', [a('slow.example.net', '198.41.0.4', 60)]);
  await later(300_000);
  await eventuallyServes(name, 'A', ['198.41.0.4']);
  await eventuallyServes(name, 'AAAA', []);
  assert.equal((await stateOf(workspace, name)).state, 'current');
});

test('addresses that an ALIAS has replaced are served for a day at most, and go at once where the target has none', async () => {
  world.set('silent.example.net', { rcode: 2 });
  const silent = await replaceAddresses('silent.example.net');
  await refresh();
  assert.equal((await stateOf(silent.workspace, silent.name)).state, 'kept');
  await later(23 * HOUR_MS);
  assert.equal((await stateOf(silent.workspace, silent.name)).state, 'kept');
  await later(HOUR_MS);
  const { addresses, state } = await stateOf(silent.workspace, silent.name);
  assert.deepEqual([state, addresses], ['failed', []]);
  const gone = await replaceAddresses('nothing.example.net');
  await refresh();
  const told = await stateOf(gone.workspace, gone.name);
  assert.deepEqual([told.state, told.addresses, told.problem], ['failed', [], 'no_such_name']);
});

test('where an ALIAS may stand, and where not', async () => {
  const { name, workspace } = await own('nothing.example.net');
  const path = `/domains/${name}/zone`;
  const cases: [object, RegExp][] = [
    [{ subdomain: 'www', type: 'ALIAS', value: 'web.example.net' }, /Use CNAME/],
    [{ subdomain: '@', type: 'ALIAS', value: 'web.example.net' }, /Delete that first/],
    [{ subdomain: '@', type: 'A', value: '192.0.2.1' }, /ALIAS record/],
    [{ subdomain: '@', type: 'AAAA', value: '2001:db8::1' }, /ALIAS record/],
    [{ subdomain: '@', type: 'CNAME', value: 'web.example.net' }, /can have no CNAME/],
  ];
  for (const [record, message] of cases) {
    const { status, body } = await workspace.post(path, record);
    assert.equal(status, 400, JSON.stringify(record));
    assert.match(body.details.message, message);
  }
  assert.equal((await workspace.post(path, { subdomain: '@', type: 'MX', value: '10 mail.example.net' })).status, 201);
  const other = await service.createWorkspace();
  const addressed = await createHostedZone(service.db, 'addressed.test', ['@ 300 A 192.0.2.1'], other.workspaceId);
  await assert.rejects(addTestRecord(service.db, addressed, '@ 300 ALIAS web.example.net.'), /in whose place/);
  const bare = await createHostedZone(service.db, 'bare.test', [], other.workspaceId);
  await assert.rejects(addTestRecord(service.db, bare, '@ 300 ALIAS bare.test.'), /to itself/);
});

test('two processes that look at once look at each record once', async () => {
  setTarget('once.example.net', [a('once.example.net', '198.41.0.4')]);
  const workspace = await service.createWorkspace();
  await createHostedZone(service.db, 'once.test', ['@ 300 ALIAS once.example.net.'], workspace.workspaceId);
  const deps = { db: service.db, clock, logger: openTestLogger(), aliasTargets };
  await Promise.all([refreshAliases(deps), refreshAliases(deps), refresh()]);
  assert.deepEqual(resolver.asked.filter((asked) => asked.startsWith('once.')).sort(), [
    'once.example.net A',
    'once.example.net AAAA',
  ]);
});

test('PowerDNS is given the addresses', { skip: skip || (hasPowerDns() ? false : powerDnsMissing) }, async () => {
  setTarget('given.example.net', [a('given.example.net', '198.41.0.4', 90)]);
  const { name } = await own('given.example.net');
  const logger = openTestLogger();
  const powerDns = await startPowerDns();
  const publisher = createPowerDnsPublisher({ url: powerDns.url, apiKey: powerDns.apiKey, logger });
  const zones = createZoneReconciler({ db: service.db, publisher, nameservers: NAMESERVERS, clock, logger });
  try {
    await service.db.query({ text: 'update domains.zones set published_version = 0 where name = $1', values: [name] });
    await zones.publishNow(name);
    assert.match(await dig(powerDns.port, [name, 'A', '+noall', '+answer']), /^\S+\s+90\s+IN\s+A\s+198\.41\.0\.4$/);
  } finally {
    await publisher.stop();
    await powerDns.close();
  }
});
