/** Whole zones as files in the format of BIND. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { startDomains } from '../../../../test/support/domains.ts';
import { refusal } from '../../../../test/support/orders.ts';
import { hasPowerDns, powerDnsMissing, schemaFile } from '../../../../test/support/power-dns.ts';
import { createHostedZone } from '../../../../test/support/zones.ts';
import { mintId } from '../../../kernel/ids/ids.ts';

const service = await startDomains();
after(() => service.close());

/** Every type, and what is awkward to write. `ZONE` is the zone's name. */
const EVERYTHING = [
  '@ 300 A 192.0.2.1',
  '@ 300 A 192.0.2.2',
  '@ 300 MX 10 mail.ZONE.',
  '@ 600 TXT "v=spf1 -all"',
  '@ 300 CAA 0 issue "ca.example.net; policy=\\"ev\\""',
  'mail 300 AAAA 2001:db8::3',
  'www 300 CNAME ZONE.',
  'out 300 CNAME elsewhere.example.net.',
  'silent 300 MX 0 .',
  '_sip._tcp 300 SRV 10 5 5060 mail.ZONE.',
  'text 300 TXT "say \\"hi\\" \\\\ \\195\\169 ;" "" "second"',
  'phone 300 NAPTR 100 10 "U" "E2U+sip" "!^(.*)$!sip:\\\\1@example.net!" .',
  'key 300 SSHFP 4 2 CDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCD',
  '_443._tcp 300 TLSA 3 1 1 CDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCD',
  'web 300 HTTPS 1 . alpn=h2,h3',
  'svc 300 SVCB 2 mail.ZONE. port=8443',
  'back 300 PTR host.example.net.',
  '*.wild 300 A 192.0.2.9',
  'sub 300 NS ns1.sub.ZONE.',
  'ns1.sub 300 A 192.0.2.53',
];

async function openZone(records: readonly string[] = []) {
  const workspace = await service.createWorkspace();
  const name = `${mintId('zone').replace('_', '-').toLowerCase()}.example`;
  const written = records.map((record) => record.replaceAll('ZONE', name));
  await createHostedZone(service.db, name, written, workspace.workspaceId);
  const path = `/domains/${name}/zone`;
  return {
    workspace,
    name,
    async export(): Promise<{ serial: number; zone_file: string }> {
      const { status, body, text } = await workspace.get(`${path}/file`);
      assert.equal(status, 200, text);
      return body;
    },
    import: (zone_file: string, options: object = {}) => workspace.put(`${path}/file`, { zone_file, ...options }),
    /** Its records as lines, without those that the service makes. */
    async lines(): Promise<string[]> {
      const { body } = await workspace.get(path);
      return body.records
        .filter(({ managed }: { managed: boolean }) => !managed)
        .map((each: Shown) => `${each.subdomain} ${each.ttl} ${each.type} ${each.value.replaceAll(name, 'ZONE')}`)
        .sort();
    },
    async ids(): Promise<(string | null)[]> {
      const { body } = await workspace.get(path);
      return body.records.map(({ id }: { id: string | null }) => id).sort();
    },
  };
}

interface Shown {
  readonly subdomain: string;
  readonly ttl: number;
  readonly type: string;
  readonly value: string;
}

describe('an exported file', () => {
  test('has every record, and imported again it changes nothing', async () => {
    const zone = await openZone(EVERYTHING);
    const [ids, { serial, zone_file: file }] = [await zone.ids(), await zone.export()];
    assert.match(file, /^\$ORIGIN .*\n@\t\d+\tIN\tSOA\t/);
    assert.deepEqual(await zone.lines(), EVERYTHING.toSorted());
    const { status, body, text } = await zone.import(file);
    assert.equal(status, 200, text);
    const skipped = [
      { type: 'SOA', count: 1 },
      { type: 'NS', count: 2 },
    ];
    assert.deepEqual(body, {
      domain: zone.name,
      added: 0,
      changed: 0,
      deleted: 0,
      unchanged: EVERYTHING.length,
      skipped,
    });
    assert.deepEqual([await zone.ids(), (await zone.export()).serial], [ids, serial]);
  });

  test('brings back a zone that was emptied', async () => {
    const zone = await openZone(EVERYTHING);
    const { zone_file: file } = await zone.export();
    const emptied = await zone.import('; nothing\n');
    assert.deepEqual([emptied.body.deleted, await zone.lines()], [EVERYTHING.length, []], emptied.text);
    assert.equal((await zone.import(file)).body.added, EVERYTHING.length);
    assert.deepEqual(await zone.lines(), EVERYTHING.toSorted());
  });

  test('is read by PowerDNS, whose own export of it changes nothing here', {
    skip: hasPowerDns() ? false : powerDnsMissing,
  }, async (t) => {
    const zone = await openZone(EVERYTHING);
    const folder = mkdtempSync(join(tmpdir(), 'ironcraft-zone-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const databaseFile = join(folder, 'zones.sqlite');
    const database = new DatabaseSync(databaseFile);
    database.exec(readFileSync(schemaFile, 'utf8'));
    database.close();
    writeFileSync(join(folder, 'pdns.conf'), `launch=gsqlite3\ngsqlite3-database=${databaseFile}\n`);
    const zoneFile = join(folder, 'zone');
    writeFileSync(zoneFile, (await zone.export()).zone_file);
    const pdnsutil = (...args: string[]) =>
      execFileSync('pdnsutil', [`--config-dir=${folder}`, ...args], { encoding: 'utf8', stdio: 'pipe' });
    pdnsutil('load-zone', zone.name, zoneFile);
    assert.match(pdnsutil('check-zone', zone.name), /, 0 errors/);
    const { body, text } = await zone.import(pdnsutil('list-zone', zone.name));
    assert.deepEqual([body.added, body.changed, body.deleted, body.unchanged], [0, 0, 0, EVERYTHING.length], text);
  });
});

describe('an import', () => {
  test('reads what zone files have: origins, times, comments, several lines, names that are left out', async () => {
    const zone = await openZone(['old 300 A 192.0.2.99']);
    const file = `; a zone of another provider
$TTL 1h30m
@            IN SOA ns.example.net. root.example.net. (
                 2026010101 ; serial
                 7200 3600 1209600 300 )
             IN NS  ns.example.net.
             IN MX  10 mail
             300 IN MX 20 backup.example.net.
mail         A 192.0.2.1
             AAAA 2001:DB8:0::1 ; in capitals
www 1d IN    CNAME @
$ORIGIN deep.${zone.name}.
a            IN 2h TXT first "and second" ; three
$ORIGIN ${zone.name}.
b.deep       TXT ( "one"
                   "two" )
_dmarc       TXT "v=DMARC1\\; p=none; x"
short        5 A 192.0.2.2
long         9999999 A 192.0.2.3
`;
    const { status, body, text } = await zone.import(file);
    assert.equal(status, 200, text);
    assert.deepEqual([body.added, body.deleted], [10, 1]);
    assert.deepEqual(
      await zone.lines(),
      [
        '@ 300 MX 10 mail.ZONE.',
        '@ 300 MX 20 backup.example.net.',
        'mail 5400 A 192.0.2.1',
        'mail 5400 AAAA 2001:db8::1',
        'www 86400 CNAME ZONE.',
        'a.deep 7200 TXT "first" "and second"',
        'b.deep 5400 TXT "one" "two"',
        '_dmarc 5400 TXT "v=DMARC1; p=none; x"',
        'short 60 A 192.0.2.2',
        'long 604800 A 192.0.2.3',
      ].sort(),
    );
  });

  test('keeps what the file does not have, where it is asked to', async () => {
    const zone = await openZone(['old 300 A 192.0.2.1', 'same 300 A 192.0.2.2']);
    const { body } = await zone.import('same 600 A 192.0.2.2\nnew A 192.0.2.3\n', { keep_others: true });
    assert.deepEqual([body.added, body.changed, body.deleted, body.unchanged], [1, 1, 0, 1]);
    assert.deepEqual(await zone.lines(), ['new 600 A 192.0.2.3', 'old 300 A 192.0.2.1', 'same 600 A 192.0.2.2']);
  });

  for (const [what, file, line, message] of [
    ['a value that is none', 'www A 192.0.2.1\nmail A 192.0.2.256\n', 2, /IPv4 address/],
    ['a type that is not kept here', 'www A 192.0.2.1\n\nwww HINFO "a" "b"\n', 3, /HINFO are not kept here/],
    ['another class', 'www CH A 192.0.2.1\n', 1, /class IN/],
    ['a name outside of the zone', 'www.example.org. A 192.0.2.1\n', 1, /example\.org/],
    ['a record beside a CNAME', 'www CNAME @\nwww A 192.0.2.1\n', 2, /is a CNAME/],
    ['a quote that is not closed', 'a A 192.0.2.1\nb TXT "open\n', 2, /quote is not closed/],
    ['a parenthesis that is not closed', 'a A 192.0.2.1\nb TXT ( "x"\nc A 192.0.2.2\n', 2, /parenthesis is not closed/],
    ['a parenthesis that was not opened', 'a A 192.0.2.1 )\n', 1, /was not opened/],
    ['a record without an end', `a A 192.0.2.1\nb TXT ${'"" '.repeat(10_000)}\n`, 2, /at most 20000 characters/],
    ['another file', '$INCLUDE /etc/passwd\n', 1, /\$ORIGIN/],
    ['many records at once', '$GENERATE 1-100000 host$ A 192.0.2.1\n', 1, /\$ORIGIN/],
    ['no name', '  A 192.0.2.1\n', 1, /begins with its name/],
    ['no value', 'www\n', 1, /a name, a type and a value/],
  ] as const) {
    test(`bad_request: ${what}, with its line, and nothing changes`, async () => {
      const zone = await openZone(['old 300 A 192.0.2.1']);
      const refused = await zone.import(file);
      assert.deepEqual([...refusal(refused), refused.body.details.line], [400, 'bad_request', line], refused.text);
      assert.match(refused.body.details.message, new RegExp(`^Line ${line}: `));
      assert.match(refused.body.details.message, message);
      assert.deepEqual(await zone.lines(), ['old 300 A 192.0.2.1']);
    });
  }

  test('has limits: a thousand records, 256 KiB', async () => {
    const zone = await openZone();
    const records = (count: number) => Array.from({ length: count }, (_, at) => `h${at} A 192.0.2.1\n`).join('');
    assert.equal((await zone.import(records(1_000))).body.added, 1_000);
    const many = await zone.import(records(1_001));
    assert.deepEqual([...refusal(many), many.body.details.line], [400, 'bad_request', 1_001]);
    const large = await zone.import(';'.repeat(262_145));
    assert.deepEqual([...refusal(large), large.body.details.param], [400, 'bad_request', 'zone_file']);
  });
});

test('not_found, no_hosted_zone: of another workspace, or kept elsewhere', async () => {
  const zone = await openZone(['www 300 A 192.0.2.1']);
  const stranger = await service.createWorkspace();
  const path = `/domains/${zone.name}/zone/file`;
  assert.deepEqual(refusal(await stranger.get(path)), [404, 'not_found']);
  assert.deepEqual(refusal(await stranger.put(path, { zone_file: '; none\n' })), [404, 'not_found']);
  assert.deepEqual(await zone.lines(), ['www 300 A 192.0.2.1']);
});
