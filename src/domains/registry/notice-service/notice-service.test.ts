/** Notices from their service: what is read of them, and what of a hostile or absent service is refused. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  connectNoticeService,
  NOTICE_PASSWORD,
  noticeDocument,
  startNoticeService,
  type TestNoticeService,
} from '../../../../test/support/notice-service.ts';
import { isNoticeOf, NoticeUnavailable, noticeIdOf } from '../claims-notices.ts';
import { MAX_ELEMENTS } from '../epp/xml/parse-xml.ts';

const KEY = '2026030100/2/6/9/rJ1NrDO92vDsAzf7EQzgjX4R0000000001';
const parts = { label: 'gold', from: new Date('2026-03-01T10:00:00Z'), until: new Date('2026-03-03T10:00:00Z') };

let server: TestNoticeService;
const clients: { close(): Promise<void> }[] = [];
before(async () => {
  server = await startNoticeService();
});
after(async () => {
  for (const client of clients) await client.close();
  await server.close();
});

function connect(options?: Parameters<typeof connectNoticeService>[1], url = server.url) {
  const client = connectNoticeService(url, options);
  clients.push(client);
  return client;
}

async function reasonOf(fetching: Promise<unknown>): Promise<string> {
  const error = await fetching.then(
    () => assert.fail('there was a notice'),
    (error: unknown) => error,
  );
  assert.ok(error instanceof NoticeUnavailable, String(error));
  assert.ok(!error.message.includes(NOTICE_PASSWORD));
  return error.message;
}

test('a notice is fetched by its key, with name and password, and all that it says is read', async () => {
  server.answer(KEY, () => noticeDocument(parts));
  const notice = await connect().fetchNotice(KEY);
  assert.equal(server.paths.at(-1), `/cnis/${KEY}.xml`);
  assert.deepEqual([notice.label, notice.notBefore, notice.notAfter], [parts.label, parts.from, parts.until]);
  assert.ok(isNoticeOf('gold', notice));
  assert.deepEqual(notice.claims, [
    {
      mark_name: 'Gold & Sons',
      jurisdiction: { code: 'AU', name: 'Australia' },
      holders: [
        {
          role: 'owner',
          organization: 'Gold and Sons Ltd',
          street: ['1 Mint Row', 'Floor 2'],
          city: 'Perth',
          region: 'WA',
          postal_code: '6000',
          country: 'AU',
        },
      ],
      contacts: [
        {
          role: 'agent',
          name: 'A. Gent',
          organization: 'Agents LLP',
          street: ['2 Bar Street'],
          city: 'Leeds',
          country: 'GB',
          phone: '+44.1130000000',
          fax: '+44.1130000001',
          email: 'agents@example.org',
        },
      ],
      classes: [{ number: '14', description: 'Precious metals' }],
      goods_and_services: 'Rings, and coins of gold.',
      decisions: [
        { kind: 'court', number: 'C-1', decided_by: 'High Court', country: 'AU' },
        { kind: 'udrp', number: 'D2020-1', decided_by: 'WIPO' },
      ],
    },
  ]);
});

test('an id is of one label and one end alone', () => {
  // As RFC 9361 has it in its example.
  const notAfter = new Date('2010-08-16T09:00:00Z');
  const id = '370d0b7c9223372036854775807';
  assert.equal(noticeIdOf('example-one', notAfter, '9223372036854775807'), id);
  assert.ok(isNoticeOf('example-one', { id, notAfter }));
  assert.ok(!isNoticeOf('example-two', { id, notAfter }));
  assert.ok(!isNoticeOf('example-one', { id, notAfter: new Date('2010-08-17T09:00:00Z') }));
  assert.ok(!isNoticeOf('example-one', { id: '370d0b7c', notAfter }));
});

test('a document that is hostile, broken or no notice is none', async () => {
  const whole = noticeDocument(parts);
  const documents: Record<string, string> = {
    'entity bomb': `<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>${whole.replace(/^<\?xml.*?\?>/, '')}`,
    'external entity': '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    'another document': '<html/>',
    'too many elements': noticeDocument({ ...parts, claims: '<tmNotice:claim/>'.repeat(MAX_ELEMENTS) }),
    'larger than a megabyte': noticeDocument({ ...parts, claims: `<!--${'x'.repeat(1_100_000)}-->` }),
    'no claim': noticeDocument({ ...parts, claims: '' }),
    'a claim without a mark': noticeDocument({ ...parts, claims: '<tmNotice:claim/>' }),
    'no end': whole.replace(/<tmNotice:notAfter>.*<\/tmNotice:notAfter>/, ''),
    'an end that is no time': whole.replace(/(<tmNotice:notAfter>)[^<]*/, '$1tomorrow'),
    'cut off': whole.slice(0, -40),
    nothing: '',
  };
  for (const [what, document] of Object.entries(documents)) {
    server.answer(KEY, () => document);
    assert.match(await reasonOf(connect().fetchNotice(KEY)), /no notice|more than/, what);
  }
});

test('a service that refuses, redirects, stalls or is away says so to the operator', async () => {
  server.answer(KEY, () => noticeDocument(parts));
  assert.match(await reasonOf(connect({ password: 'wrong' }).fetchNotice(KEY)), /401/);
  assert.match(await reasonOf(connect().fetchNotice('2026030100/0/0/0/none')), /404/);
  server.answer(KEY, () => undefined);
  assert.match(await reasonOf(connect({ deadlineMs: 100 }).fetchNotice(KEY)), /within 0\.1 s/);
  const away = await startNoticeService();
  await away.close();
  assert.match(await reasonOf(connect({}, away.url).fetchNotice(KEY)), /cannot be reached/);
  assert.match(
    await reasonOf(connect({}, 'http://192.0.2.1:9').fetchNotice(KEY)),
    /http/i,
    'the password goes over TLS alone',
  );
});

test('a lookup key that leads elsewhere is not asked for', async () => {
  const asked = server.paths.length;
  for (const key of ['../admin', 'a/../b', '/etc', 'a?b', 'a#b', 'a b', '', 'x'.repeat(100), '%2e%2e/a']) {
    assert.match(await reasonOf(connect().fetchNotice(key)), /lookup key/, key);
  }
  assert.equal(server.paths.length, asked);
});
