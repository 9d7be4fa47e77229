import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { encode } from 'dns-packet';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { dig, digMissing, digShort, hasDig } from '../../../../test/support/dig.ts';
import { askDns, edns, question } from '../../../../test/support/dns-questions.ts';
import { addTestRecord, createHostedZone } from '../../../../test/support/zones.ts';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { closeZone } from '../index.ts';
import { createEmbeddedPublisher, type EmbeddedPublisher } from './embedded-publisher.ts';

const NAMESERVERS = ['ns1.ironcraft.test', 'ns2.ironcraft.test'];
const HEX_32 = 'AB'.repeat(32);

const records = [
  '@ 300 A 192.0.2.1',
  '@ 300 A 192.0.2.2',
  '@ 300 AAAA 2001:db8::1',
  '@ 300 MX 10 mail.example.test.',
  '@ 300 TXT "v=spf1 -all"',
  '@ 300 CAA 0 issue "letsencrypt.org"',
  'mail 300 A 192.0.2.3',
  'www 300 CNAME example.test.',
  'out 300 CNAME elsewhere.example.net.',
  'dangling 300 CNAME nothing.example.test.',
  'loop1 300 CNAME loop2.example.test.',
  'loop2 300 CNAME loop1.example.test.',
  '_sip._tcp 300 SRV 10 5 5060 mail.example.test.',
  `_443._tcp.www2 300 TLSA 3 1 1 ${HEX_32}`,
  `host 300 SSHFP 4 2 ${HEX_32}`,
  'phone 300 NAPTR 100 10 "U" "E2U+sip" "!^.*$!sip:info@example.test!" .',
  'ptr 300 PTR host.example.test.',
  'https 300 HTTPS 1 . mandatory=alpn alpn=h2,h3 port=8443 ipv4hint=192.0.2.1 ech=AEP+DQA= ipv6hint=2001:db8::1',
  '_dns 300 SVCB 0 dns.example.net.',
  'quoted 300 TXT "say \\"hi\\" \\\\ \\195\\169"',
  `long 300 TXT ${'x'.repeat(3_000)}`,
  '*.wild 300 A 192.0.2.9',
  'a.wild 300 TXT "here"',
  'deep.ent.wild 300 TXT "deep"',
  'to-wild 300 CNAME any.wild.example.test.',
  'sub 300 NS ns1.sub.example.test.',
  'sub 300 NS ns.example.net.',
  'ns1.sub 300 A 192.0.2.53',
  'ns1.sub 300 AAAA 2001:db8::53',
  'to-sub 300 CNAME www.sub.example.test.',
];

/** Questions so far apart stay below the 200 answers a second that one asker gets. */
const UNLIMITED_MS = 25;
/** A minute. */
const MAX_TRIES = 60_000 / UNLIMITED_MS;

let database: TestDatabase;
let server: EmbeddedPublisher;
const errors: unknown[] = [];

before(async () => {
  database = await openTestDatabase();
  await createHostedZone(database.db, 'example.test', records);
  server = createEmbeddedPublisher({
    db: database.db,
    nameservers: NAMESERVERS,
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    logger: { error: (fields) => errors.push(fields) },
  });
  await server.start();
});
after(async () => {
  await server.stop();
  await database.close();
  assert.deepEqual(errors, []);
});

const ask = (message: Buffer) => askDns(server.port, message);

describe('dig, by UDP and by TCP', { skip: hasDig() ? false : digMissing }, () => {
  const expected: [string, string, string[]][] = [
    ['example.test', 'A', ['192.0.2.1', '192.0.2.2']],
    ['EXAMPLE.test', 'AAAA', ['2001:db8::1']],
    ['example.test', 'MX', ['10 mail.example.test.']],
    ['example.test', 'TXT', ['"v=spf1 -all"']],
    ['example.test', 'CAA', ['0 issue "letsencrypt.org"']],
    ['example.test', 'NS', ['ns1.ironcraft.test.', 'ns2.ironcraft.test.']],
    ['www.example.test', 'A', ['192.0.2.1', '192.0.2.2', 'example.test.']],
    ['www.example.test', 'CNAME', ['example.test.']],
    ['out.example.test', 'A', ['elsewhere.example.net.']],
    ['loop1.example.test', 'A', ['loop1.example.test.', 'loop2.example.test.']],
    ['_sip._tcp.example.test', 'SRV', ['10 5 5060 mail.example.test.']],
    ['_443._tcp.www2.example.test', 'TLSA', [`3 1 1 ${HEX_32.slice(0, 56)} ${HEX_32.slice(56)}`]],
    ['host.example.test', 'SSHFP', [`4 2 ${HEX_32.slice(0, 56)} ${HEX_32.slice(56)}`]],
    ['phone.example.test', 'NAPTR', ['100 10 "U" "E2U+sip" "!^.*$!sip:info@example.test!" .']],
    [
      'https.example.test',
      'HTTPS',
      ['1 . mandatory=alpn alpn="h2,h3" port=8443 ipv4hint=192.0.2.1 ech=AEP+DQA= ipv6hint=2001:db8::1'],
    ],
    ['_dns.example.test', 'SVCB', ['0 dns.example.net.']],
    ['ptr.example.test', 'PTR', ['host.example.test.']],
    ['quoted.example.test', 'TXT', ['"say \\"hi\\" \\\\ \\195\\169"']],
    ['any.wild.example.test', 'A', ['192.0.2.9']],
    ['several.labels.wild.example.test', 'A', ['192.0.2.9']],
    ['to-wild.example.test', 'A', ['192.0.2.9', 'any.wild.example.test.']],
    ['example.test', 'ANY', ['"RFC8482" ""']],
  ];
  /** One process asks everything: what it prints begins anew with each question, which has a semicolon before it. */
  const answersBy = async (transport: string): Promise<string[][]> => {
    const questions = expected.flatMap(([name, type]) => [name, type, transport]);
    const output = await dig(server.port, ['+noall', '+question', '+answer', '+noclass', '+nottlid', ...questions]);
    return output
      .split(/^;.*$/m)
      .slice(1)
      .map((answer) => answer.trim().split('\n').map(valueOfLine).sort());
  };
  const valueOfLine = (line: string) => line.replace(/^\S+\s+\S+\s+/, '');

  for (const transport of ['+notcp', '+tcp']) {
    test(`each type of record (${transport})`, async () => {
      assert.deepEqual(
        await answersBy(transport),
        expected.map(([, , values]) => values),
      );
    });
  }

  test('an answer that is too long for UDP is asked for again by TCP', async () => {
    const text = await dig(server.port, ['long.example.test', 'TXT', '+short']);
    assert.equal(text.replace(/[" ]/g, ''), 'x'.repeat(3_000));
    assert.match(await dig(server.port, ['long.example.test', 'TXT', '+ignore']), /flags:[^;]* tc/);
  });

  test('the SOA record tells who keeps the zone', async () => {
    const [soa = ''] = await digShort(server.port, 'example.test', 'SOA');
    assert.match(soa, /^ns1\.ironcraft\.test\. hostmaster\.ironcraft\.test\. \d+ 10800 3600 604800 300$/);
  });

  test('a transfer of the zone is refused', async () => {
    assert.match(await dig(server.port, ['example.test', 'AXFR']), /Transfer failed/);
  });
});

test('a name that does not exist has another answer than a name without such records, both with the SOA', async () => {
  for (const [name, type, rcode] of [
    ['nothing.example.test', 'A', 3],
    ['mail.example.test', 'TXT', 0],
    ['ent.wild.example.test', 'A', 0],
    ['wild.example.test', 'A', 0],
    ['_tcp.example.test', 'A', 0],
    ['any.wild.example.test', 'TXT', 0],
    ['dangling.example.test', 'A', 3],
    ['a.mail.example.test', 'A', 3],
  ] as const) {
    const answer = await ask(question(name, type));
    assert.equal(answer.rcode, rcode, name);
    assert.ok(answer.isAuthoritative, name);
    assert.deepEqual(
      answer.authorities?.map(({ type }) => type),
      ['SOA'],
      name,
    );
    const [soa] = answer.authorities ?? [];
    assert.ok(soa !== undefined && 'ttl' in soa && soa.ttl === 300, name);
  }
});

test('a wildcard answers for no name that is there, and none below one', async () => {
  for (const name of ['a.wild.example.test', 'ent.wild.example.test']) {
    assert.equal((await ask(question(name, 'A'))).answers?.length, 0, name);
  }
  const below = await ask(question('x.a.wild.example.test', 'A'));
  assert.deepEqual([below.rcode, below.answers?.length], [3, 0]);
  await createHostedZone(database.db, 'star.test', ['* 300 A 192.0.2.1', 'host 300 TXT "here"']);
  const beside = await ask(question('other.star.test', 'A'));
  const belowHost = await ask(question('other.host.star.test', 'A'));
  assert.deepEqual([beside.answers?.length, belowHost.rcode, belowHost.answers?.length], [1, 3, 0]);
  const synthesized = await ask(question('b.wild.example.test', 'A'));
  assert.equal(synthesized.answers?.[0]?.name, 'b.wild.example.test');
});

test('a delegation is answered with its nameservers and their addresses, without authority', async () => {
  for (const name of ['sub.example.test', 'a.b.sub.example.test', 'ns1.sub.example.test']) {
    const answer = await ask(question(name, 'A'));
    assert.deepEqual([answer.rcode, answer.isAuthoritative, answer.answers?.length], [0, false, 0], name);
    assert.deepEqual(
      answer.authorities?.map((authority) => 'data' in authority && authority.data),
      ['ns.example.net', 'ns1.sub.example.test'],
    );
    assert.deepEqual(
      answer.additionals?.map((glue) => [glue.name, 'data' in glue && glue.data]),
      [
        ['ns1.sub.example.test', '192.0.2.53'],
        ['ns1.sub.example.test', '2001:db8::53'],
      ],
    );
  }
  const through = await ask(question('to-sub.example.test', 'A'));
  assert.deepEqual([through.answers?.length, through.authorities?.length, through.isAuthoritative], [1, 2, true]);
  const keys = await ask(question('sub.example.test', 'DS'));
  assert.deepEqual([keys.rcode, keys.isAuthoritative, keys.authorities?.[0]?.type], [0, true, 'SOA']);
});

test('what is not ours is refused, and what is no question of ours is named as such', async () => {
  assert.equal((await ask(question('example.org', 'A'))).rcode, 5);
  assert.equal((await ask(question('test', 'A'))).rcode, 5);
  assert.equal((await ask(question('.', 'NS'))).rcode, 5);
  assert.equal((await ask(question('example.test', 'AXFR'))).rcode, 5);
  const chaos = encode({ type: 'query', id: 7, questions: [{ name: 'version.bind', type: 'TXT', class: 'CH' }] });
  assert.equal((await ask(chaos)).rcode, 5);
  const notify = question('example.test', 'SOA', { flags: 4 << 11 });
  assert.equal((await ask(notify)).rcode, 4);
  const two = encode({
    type: 'query',
    questions: [
      { name: 'example.test', type: 'A' },
      { name: 'example.test', type: 'AAAA' },
    ],
  });
  assert.equal((await ask(two)).rcode, 1);
  assert.equal((await ask(question('example.test', 'A').subarray(0, 20))).rcode, 1);
});

test('the question comes back in the letter case that it was asked in', async () => {
  const answer = await ask(question('eXaMpLe.TeSt', 'A'));
  assert.equal(answer.questions?.[0]?.name, 'eXaMpLe.TeSt');
  assert.equal(answer.answers?.length, 2);
});

test('answers keep to the size that the client accepts, and to 1,232 bytes', async () => {
  await createHostedZone(
    database.db,
    'large.test',
    Array.from({ length: 60 }, (_, at) => `@ 300 A 192.0.2.${at + 1}`).concat(
      Array.from({ length: 100 }, (_, at) => `six 300 AAAA 2001:db8::${at + 1}`),
    ),
  );
  const plain = await ask(question('large.test', 'A'));
  assert.deepEqual([plain.isTruncated, plain.bytes.length <= 512, plain.answers?.length], [true, true, 0]);
  const wide = await ask(question('large.test', 'A', edns(4_096)));
  assert.deepEqual([wide.isTruncated, wide.answers?.length], [false, 60]);
  assert.ok(wide.bytes.length <= 1_232);
  assert.deepEqual(
    wide.additionals?.map(({ type }) => type),
    ['OPT'],
  );
  const tooWide = await ask(question('six.large.test', 'AAAA', edns(4_096)));
  assert.ok(tooWide.isTruncated && tooWide.bytes.length < 100);
  assert.ok((await ask(question('large.test', 'A', edns(100)))).isTruncated, 'sizes below 512 are taken for 512');
});

test('another version of EDNS is answered with BADVERS', async () => {
  const answer = await ask(question('example.test', 'A', edns(1_232, 1)));
  const [opt] = answer.additionals ?? [];
  assert.ok(opt?.type === 'OPT');
  assert.deepEqual([answer.rcode, opt.extendedRcode, opt.ednsVersion, answer.answers?.length], [0, 1, 0, 0]);
});

test('a change is answered once it has committed, and a name that was asked for before can be opened', async () => {
  assert.equal((await ask(question('later.test', 'A'))).rcode, 5);
  const zone = await createHostedZone(database.db, 'later.test', ['@ 300 A 192.0.2.1']);
  await server.publish({ name: zone.name, serial: 1, recordSets: [] });
  assert.equal((await ask(question('later.test', 'A'))).answers?.length, 1);
  await addTestRecord(database.db, zone, '@ 300 A 192.0.2.2');
  // The wake-up of the commit, and nothing else, tells the server.
  for (let tries = 0; (await ask(question('later.test', 'A'))).answers?.length !== 2; tries += 1) {
    assert.ok(tries < MAX_TRIES, 'the change is never answered');
    await wait(UNLIMITED_MS);
  }
  await database.db.transaction(async (tx) => {
    await tx.query({ text: `update domains.domains set state = 'gone' where id = $1`, values: [zone.domainId] });
    await closeZone(tx, zone);
  });
  for (let tries = 0; (await ask(question('later.test', 'A'))).rcode !== 5; tries += 1) {
    assert.ok(tries < MAX_TRIES, 'the zone is never taken away');
    await wait(UNLIMITED_MS);
  }
});
