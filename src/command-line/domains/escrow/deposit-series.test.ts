/** Deposits that follow each other: what an agent has after reading them is what there is. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Command } from 'commander';
import type { TestWorkspace } from '../../../../test/support/domains.ts';
import { depositProblems } from '../../../../test/support/escrow-schemas.ts';
import { startOrders } from '../../../../test/support/orders.ts';
import { createOperator } from '../../../domains/operator/index.ts';
import { addEscrow } from '../escrow.ts';
import type { DepositType } from './deposit-index.ts';
import type { EscrowVerbs } from './read-pages.ts';
import { writeXmlDeposit } from './xml-deposit.ts';

const ONE = ['198.41.0.4', '2001:503:ba3e::2:30'];
const service = await startOrders();
const operator = createOperator({ db: service.db, clock: service.clock });
const folders: string[] = [];
after(async () => {
  await service.close();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'series-'));
  folders.push(folder);
  return folder;
}

interface Asked {
  readonly folder: string;
  readonly day: number;
  readonly type?: DepositType;
  readonly resend?: number;
  readonly previous?: string;
  readonly verbs?: EscrowVerbs;
  readonly ianaId?: string;
}

/** Writes it, and checks it by the schemas. */
async function deposit({ day, folder, ianaId = '9999', resend = 0, verbs = operator, ...asked }: Asked) {
  const registrar = { name: 'Example Registrar Ltd', abuse_email: 'abuse@registrar.example' };
  const watermark = new Date(Date.UTC(2031, 0, day, 4, resend));
  const written = await writeXmlDeposit({ folder, ianaId, watermark, registrar, resend, verbs, ...asked });
  const xml = await readFile(written.files[0]?.file ?? '', 'utf8');
  assert.deepEqual(await depositProblems(xml), []);
  return { ...written, xml };
}

const KINDS = ['domain', 'host', 'contact'] as const;

/** What an agent has of each kind of object after this deposit, by name or id. */
function readInto(held: Map<string, string>, xml: string): Map<string, string> {
  const after = new Map(held);
  for (const kind of KINDS) {
    const prefix = `rde${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
    for (const [, ids = ''] of xml.matchAll(new RegExp(`<${prefix}:delete>(.*?)</${prefix}:delete>`, 'gs'))) {
      for (const [, id = ''] of ids.matchAll(/>([^<]+)</g)) assert.ok(after.delete(`${kind} ${id}`), `${kind} ${id}`);
    }
    for (const [object] of xml.matchAll(new RegExp(`<${prefix}:${kind}>.*?</${prefix}:${kind}>`, 'gs'))) {
      const [, id = ''] = /:(?:name|id)>([^<]+)</.exec(object) ?? [];
      after.set(`${kind} ${id}`, object);
    }
  }
  return after;
}

const attributesOf = (xml: string) => /<rde:deposit ([^>]*?) xmlns/.exec(xml)?.[1];
const countsOf = (xml: string) =>
  [...xml.matchAll(/:rde(\w+)-1\.0">(\d+)<\/rdeHeader:count>/g)].map(([, a, b]) => [a, b]);

async function register(workspace: TestWorkspace, ...names: readonly string[]): Promise<void> {
  for (const domain of names) {
    const bought = await workspace.post('/domains', { domain, confirm_price: 11.9 });
    assert.equal(bought.status, 201, bought.text);
    await workspace.get(`/domains/${domain}`);
  }
}

async function leave(name: string): Promise<void> {
  const text = `update domains.domains set state = 'gone', gone_at = $2 where name = $1`;
  await service.db.query({ text, values: [name, service.clock.now()] });
}

test('a full deposit and those that follow it make up the next full one, day by day or since the last full one', async () => {
  const folder = await newFolder();
  const [one, other] = [await service.fundedWorkspace(), await service.fundedWorkspace()];
  await one.patch('/registrant', { name: 'Kim', contact: { city: 'London', country: 'GB' } });
  await register(one, 'stays.com', 'stays-too.com', 'leaves.com', 'own-hosts.com');
  await register(other, 'only-name.com');
  const hosts = ['ns1.own-hosts.com', 'ns2.own-hosts.com'];
  const setHosts = async (names: readonly string[]) => {
    const glue = names.map((host) => ({ host, addresses: ONE }));
    const set = await one.patch('/domains/own-hosts.com/settings', { nameservers: [...names, 'ns.example.net'], glue });
    assert.equal(set.status, 200, set.text);
  };
  await setHosts(hosts);
  const full = await deposit({ folder, day: 1 });
  assert.equal(attributesOf(full.xml), 'type="FULL" id="20310101000" resend="0"');

  await register(one, 'comes.com');
  await leave('leaves.com');
  await leave('only-name.com');
  await setHosts(hosts.slice(0, 1));
  const second = await deposit({ folder, day: 2, type: 'diff' });
  assert.equal(attributesOf(second.xml), 'type="DIFF" id="20310102000D" prevId="20310101000" resend="0"');
  assert.deepEqual([second.previous_id, second.deleted], ['20310101000', 4]);
  const changed = [...readInto(new Map(), second.xml.replace(/<rde:deletes>.*<\/rde:deletes>/s, '')).keys()];
  assert.deepEqual(changed.sort(), ['domain comes.com', 'domain own-hosts.com']);
  assert.match(second.xml, /<rdeHost:delete><rdeHost:name>ns2\.own-hosts\.com</);
  assert.match(second.xml, /<rdeDomain:delete><rdeDomain:name>leaves\.com<.*?<rdeDomain:name>only-name\.com</);

  await one.patch('/registrant', { contact: { city: 'Leeds', country: 'GB' } });
  await register(other, 'only-name-again.com');
  const third = await deposit({ folder, day: 3, type: 'diff' });
  assert.equal(attributesOf(third.xml), 'type="DIFF" id="20310103000D" prevId="20310102000D" resend="0"');
  const since = await deposit({ folder, day: 3, type: 'incr' });
  assert.equal(attributesOf(since.xml), 'type="INCR" id="20310103000I" prevId="20310101000" resend="0"');

  const last = await deposit({ folder, day: 4 });
  const whole = readInto(new Map(), last.xml);
  const first = readInto(new Map(), full.xml);
  assert.deepEqual(readInto(readInto(first, second.xml), third.xml), whole);
  assert.deepEqual(readInto(first, since.xml), whole);
  assert.deepEqual(countsOf(third.xml), countsOf(last.xml), 'the header counts what there is, and not what is written');
});

test('a deposit of a day on which nothing has changed has nothing but who deposits', async () => {
  const folder = await newFolder();
  await deposit({ folder, day: 1 });
  const { deleted, files, xml } = await deposit({ folder, day: 2, type: 'diff' });
  assert.deepEqual([files[0]?.rows, deleted, readInto(new Map(), xml).size], [0, 0, 0]);
  assert.ok(!xml.includes('<rde:deletes'));
  assert.match(xml, /<rdeRegistrar:registrar>/);
});

test('one that the agent has refused is made anew since the same one, and followed by the next', async () => {
  const folder = await newFolder();
  await deposit({ folder, day: 1 });
  await deposit({ folder, day: 2, type: 'diff' });
  const again = await deposit({ folder, day: 2, type: 'diff', resend: 1 });
  assert.equal(attributesOf(again.xml), 'type="DIFF" id="20310102001D" prevId="20310101000" resend="1"');
  const next = await deposit({ folder, day: 3, type: 'diff' });
  assert.equal(next.previous_id, '20310102001D');
});

test('hosts below a name are deposited with their addresses, as the registry told them in the night', async () => {
  const folder = await newFolder();
  const workspace = await service.fundedWorkspace();
  await register(workspace, 'night.com');
  const host = { name: 'ns9.night.com', addresses: ONE };
  const update = { name: 'night.com', transactionId: 'behind-our-back', hosts: [host] };
  assert.equal(
    (await service.registry.update({ ...update, nameservers: [host.name, 'ns.example.net'] })).kind,
    'completed',
  );
  await service.later(25 * 3_600_000);
  await workspace.get('/domains/night.com');
  const { hosts, xml } = await deposit({ folder, day: 1 });
  assert.ok(hosts >= 1);
  assert.match(
    xml,
    /<rdeHost:name>ns9\.night\.com<.*<rdeHost:addr ip="v4">198\.41\.0\.4<.*<rdeHost:addr ip="v6">2001:503:ba3e::2:30</,
  );
  const [domain = ''] = /<rdeDomain:name>night\.com<.*/.exec(xml) ?? [];
  assert.match(domain, /<domain:hostName>ns9\.night\.com<\/domain:hostName><domain:hostAddr ip="v4">198\.41\.0\.4</);
  assert.match(domain, /<domain:hostAttr><domain:hostName>ns\.example\.net<\/domain:hostName><\/domain:hostAttr>/);
});

test('a name that is sorted otherwise by a language than by its bytes keeps its place', async () => {
  const folder = await newFolder();
  const workspace = await service.fundedWorkspace();
  await register(workspace, 'a-b.com', 'aa.com', 'a1.com', 'ab-c.com');
  const { domains } = await operator.escrow_domains({ limit: 500 });
  const names = domains.map(({ name }) => name);
  assert.deepEqual(names, names.toSorted());
  await deposit({ folder, day: 1 });
  assert.equal((await deposit({ folder, day: 2, type: 'diff' })).files[0]?.rows, 0);
});

test('a deposit follows no other registrar’s, none of later, none that is missing, and nothing that is no index', async () => {
  const folder = await newFolder();
  const wrong = (asked: Omit<Asked, 'folder'>, why: RegExp) => assert.rejects(deposit({ folder, ...asked }), why);
  await wrong(
    { day: 2, type: 'diff' },
    /no index .* of an earlier deposit\. Write a full one first, or name .* --previous/,
  );
  const full = await deposit({ folder, day: 5 });
  await wrong({ day: 4, type: 'diff' }, /no index/);
  await wrong({ day: 4, type: 'diff', previous: full.index_file }, /not before this one\. Name another index/);
  await wrong({ day: 6, type: 'diff', ianaId: '8888', previous: full.index_file }, /of the registrar 9999/);
  const diff = await deposit({ folder, day: 6, type: 'diff' });
  await wrong({ day: 7, type: 'incr', previous: diff.index_file }, /follows a full one/);
  await wrong({ day: 6, type: 'diff', previous: diff.index_file }, /that this one replaces/);
  await wrong({ day: 7, type: 'diff', previous: join(folder, 'none.index') }, /none\.index cannot be read: ENOENT/);
  const broken = join(folder, 'broken.index');
  for (const text of ['', 'no header\n', '{"id":"1"}\n']) {
    await writeFile(broken, text);
    await wrong({ day: 7, type: 'diff', previous: broken }, /broken\.index is no index of a deposit/);
  }
  const [header = ''] = (await readFile(full.index_file, 'utf8')).split('\n');
  await writeFile(broken, `${header}\nnames only\n`);
  await wrong({ day: 7, type: 'diff', previous: broken }, /is no index of a deposit/);
});

test('what fails half-way leaves neither a deposit nor an index that one could follow', async () => {
  const folder = await newFolder();
  await deposit({ folder, day: 1 });
  const verbs: EscrowVerbs = { ...operator, escrow_contacts: () => Promise.reject(new Error('the store is away')) };
  await assert.rejects(deposit({ folder, day: 2, type: 'diff', verbs }), /the store is away/);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.includes('2031-01-02')),
    [],
  );
  assert.equal((await deposit({ folder, day: 2, type: 'diff' })).previous_id, '20310101000');
});

test('the command says what is wrong, and what to do', async () => {
  const folder = await newFolder();
  const run = (...args: readonly string[]) => {
    const domains = new Command();
    addEscrow(domains);
    return domains.parseAsync(['node', 'domains', 'escrow', '--iana-id', '9999', ...args]);
  };
  const missing = join(folder, 'missing');
  await assert.rejects(
    run('--out', missing),
    /There is no folder .*missing\. Make it, .*mkdir -m 700 .*, and repeat the command/,
  );
  await writeFile(missing, '');
  await assert.rejects(run('--out', missing), /missing is no folder\. Name one with --out/);
  await assert.rejects(run('--out', folder, '--type', 'diff'), /CSV has full deposits alone/);
  const xml = ['--out', folder, '--format', 'xml'];
  await assert.rejects(run(...xml, '--type', 'daily'), /--type is full, diff or incr/);
  await assert.rejects(run(...xml, '--previous', 'some.index'), /follows no other/);
  await assert.rejects(run(...xml, '--type', 'diff'), /set `registrar` in the configuration file/);
});
