import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from 'dns-packet';
import fc from 'fast-check';
import { ApiError } from '../../../kernel/http/errors.ts';
import { encodeSet } from '../embedded/encode-set.ts';
import type { RecordInput } from './record-input.ts';
import { type RecordType, recordKinds } from './record-kinds.ts';

const ZONE = 'example.com';
type Case = [RecordType, string | RecordInput, string];
const inputOf = (input: string | RecordInput): RecordInput => (typeof input === 'string' ? { value: input } : input);
const canonical = (type: RecordType, input: string | RecordInput) => recordKinds[type].canonical(inputOf(input), ZONE);

const DIGEST_20 = 'ab'.repeat(20);
const DIGEST_32 = 'CD'.repeat(32);

const accepted: Case[] = [
  ['A', ' 192.0.2.1 ', '192.0.2.1'],
  ['AAAA', '2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['AAAA', '2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1'],
  ['AAAA', '::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['AAAA', '2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['CNAME', 'Example.NET', 'example.net.'],
  ['CNAME', '@', 'example.com.'],
  ['CNAME', 'sel._domainkey.mail.example.net.', 'sel._domainkey.mail.example.net.'],
  ['CNAME', 'bücher.example', 'xn--bcher-kva.example.'],
  ['NS', 'ns1.example.net', 'ns1.example.net.'],
  ['PTR', 'host.example.net.', 'host.example.net.'],
  ['MX', '10 mail.example.net', '10 mail.example.net.'],
  ['MX', { value: 'mail.example.net', priority: 10 }, '10 mail.example.net.'],
  ['MX', { value: '10 mail.example.net', priority: 10 }, '10 mail.example.net.'],
  ['MX', '0 .', '0 .'],
  ['SRV', '10 5 5060 sip.example.net', '10 5 5060 sip.example.net.'],
  ['SRV', { value: '5 5060 sip.example.net', priority: 10 }, '10 5 5060 sip.example.net.'],
  ['SRV', { value: 'sip.example.net', priority: 10, weight: 5, port: 5060 }, '10 5 5060 sip.example.net.'],
  ['SRV', '0 0 0 .', '0 0 0 .'],
  ['TXT', 'v=spf1 -all', '"v=spf1 -all"'],
  ['TXT', '"v=spf1 -all"', '"v=spf1 -all"'],
  ['TXT', '"a" "b"', '"a" "b"'],
  ['TXT', 'say "hi" \\o/', '"say \\"hi\\" \\\\o/"'],
  ['TXT', '"say \\"hi\\" \\\\o/"', '"say \\"hi\\" \\\\o/"'],
  ['TXT', 'é', '"\\195\\169"'],
  ['TXT', '"\\195\\169"', '"\\195\\169"'],
  ['TXT', '""', '""'],
  ['TXT', 'x'.repeat(300), `"${'x'.repeat(255)}" "${'x'.repeat(45)}"`],
  ['TXT', `"${'x'.repeat(300)}"`, `"${'x'.repeat(255)}" "${'x'.repeat(45)}"`],
  ['CAA', '0 issue "letsencrypt.org"', '0 issue "letsencrypt.org"'],
  ['CAA', '128 ISSUEWILD ;', '128 issuewild ";"'],
  ['CAA', { value: 'ca.example.net; policy=ev', flags: 0, tag: 'issue' }, '0 issue "ca.example.net; policy=ev"'],
  ['CAA', '0 iodef mailto:security@example.com', '0 iodef "mailto:security@example.com"'],
  ['HTTPS', '1 . ALPN="h2,h3"', '1 . alpn=h2,h3'],
  ['HTTPS', { value: '. alpn=h3', priority: 2 }, '2 . alpn=h3'],
  ['HTTPS', '0 svc.example.net', '0 svc.example.net.'],
  [
    'HTTPS',
    '1 @ ipv6hint=2001:DB8:0::1,::1 port=08443 no-default-alpn ipv4hint=192.0.2.1 alpn=h2 mandatory=port,alpn ech=AEP+DQA=',
    '1 example.com. mandatory=alpn,port alpn=h2 no-default-alpn port=8443 ipv4hint=192.0.2.1 ech="AEP+DQA=" ipv6hint=2001:db8::1,::1',
  ],
  ['SVCB', '16 _dns.example.net. port=53', '16 _dns.example.net. port=53'],
  ['TLSA', `3 1 1 ${DIGEST_32.toLowerCase()}`, `3 1 1 ${DIGEST_32}`],
  ['TLSA', `3 1 1 ${DIGEST_32.slice(0, 30)} ${DIGEST_32.slice(30)}`, `3 1 1 ${DIGEST_32}`],
  ['SSHFP', `4 2 ${DIGEST_32}`, `4 2 ${DIGEST_32}`],
  ['SSHFP', `1 1 ${DIGEST_20}`, `1 1 ${DIGEST_20.toUpperCase()}`],
  [
    'NAPTR',
    '100 10 "U" "E2U+sip" "!^.*$!sip:info@example.com!" .',
    '100 10 "U" "E2U+sip" "!^.*$!sip:info@example.com!" .',
  ],
  ['NAPTR', '100 10 S SIP+D2U "" _sip._udp.example.net', '100 10 "S" "SIP+D2U" "" _sip._udp.example.net.'],
];

for (const [type, input, expected] of accepted) {
  test(`${type} ${JSON.stringify(input).slice(0, 80)} is ${expected.slice(0, 80)}`, () => {
    assert.equal(canonical(type, input), expected);
    assert.equal(canonical(type, expected), expected, 'the canonical text reads as itself');
  });
}

const refused: [RecordType, string | RecordInput, string][] = [
  ['A', '192.0.2.256', 'value'],
  ['A', '192.0.2.01', 'value'],
  ['A', '2001:db8::1', 'value'],
  ['A', '192.0.2.1 192.0.2.2', 'value'],
  ['A', { value: '192.0.2.1', priority: 5 }, 'priority'],
  ['AAAA', '192.0.2.1', 'value'],
  ['AAAA', 'fe80::1%eth0', 'value'],
  ['CNAME', '192.0.2.1', 'value'],
  ['CNAME', 'www', 'value'],
  ['CNAME', '.', 'value'],
  ['CNAME', 'a..example.net', 'value'],
  ['CNAME', `${'a'.repeat(64)}.example.net`, 'value'],
  ['CNAME', `${`${'a'.repeat(60)}.`.repeat(5)}net`, 'value'],
  ['CNAME', 'https://example.net/', 'value'],
  ['CNAME', '"example.net"', 'value'],
  ['CNAME', 'xn--a.example', 'value'],
  ['NS', '_ns.example.net', 'value'],
  ['NS', 'ns.example.1', 'value'],
  ['MX', 'mail.example.net', 'value'],
  ['MX', '65536 mail.example.net', 'priority'],
  ['MX', '-1 mail.example.net', 'priority'],
  ['MX', '10 192.0.2.1', 'value'],
  ['MX', '10 .', 'priority'],
  ['MX', { value: '10 mail.example.net', priority: 20 }, 'priority'],
  ['MX', { value: '10 mail.example.net', port: 25 }, 'port'],
  ['SRV', '10 5 sip.example.net', 'value'],
  ['SRV', '10 5 70000 sip.example.net', 'port'],
  ['TXT', '"not closed', 'value'],
  ['TXT', '"a" b', 'value'],
  ['TXT', '"\\256"', 'value'],
  ['TXT', 'x'.repeat(4_097), 'value'],
  ['TXT', { value: 'x', weight: 1 }, 'weight'],
  ['CAA', 'letsencrypt.org', 'value'],
  ['CAA', '256 issue "ca.example.net"', 'flags'],
  ['CAA', '0 is-sue "ca.example.net"', 'tag'],
  ['CAA', '0 issue "https://ca.example.net"', 'value'],
  ['CAA', '0 iodef "security@example.com"', 'value'],
  ['HTTPS', '. alpn=h2', 'priority'],
  ['HTTPS', '1', 'value'],
  ['HTTPS', { value: '1 .', priority: 2 }, 'priority'],
  ['HTTPS', '0 svc.example.net. alpn=h2', 'value'],
  ['HTTPS', '1 . alpn=h2 alpn=h3', 'value'],
  ['HTTPS', '1 . key7=x', 'value'],
  ['HTTPS', '1 . alpn=', 'value'],
  ['HTTPS', '1 . alpn="h2', 'value'],
  ['HTTPS', '1 . no-default-alpn', 'value'],
  ['HTTPS', '1 . port=65536', 'value'],
  ['HTTPS', '1 . ipv4hint=2001:db8::1', 'value'],
  ['HTTPS', '1 . ipv6hint=192.0.2.1', 'value'],
  ['HTTPS', '1 . ech=A', 'value'],
  ['HTTPS', '1 . mandatory=port', 'value'],
  ['HTTPS', '1 . mandatory=alpn,alpn alpn=h2', 'value'],
  ['TLSA', '3 1 1 ABCD', 'value'],
  ['TLSA', `4 1 1 ${DIGEST_32}`, 'value'],
  ['TLSA', '3 1 0 XYZ', 'value'],
  ['SSHFP', `5 2 ${DIGEST_32}`, 'value'],
  ['SSHFP', `4 1 ${DIGEST_32}`, 'value'],
  ['NAPTR', '100 10 "U" "E2U+sip" "!a!b!" example.net.', 'value'],
  ['NAPTR', '100 10 "U!" "" "" .', 'value'],
];

for (const [type, input, param] of refused) {
  test(`${type} ${JSON.stringify(input).slice(0, 60)} is refused for its ${param}`, () => {
    assert.throws(
      () => canonical(type, input),
      (error) => error instanceof ApiError && error.code === 'bad_request' && error.detail.param === param,
    );
  });
}

const label = fc
  .stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,20}[a-z0-9])?$/)
  .filter((text) => !text.startsWith('xn--') && text.slice(2, 4) !== '--');
const host = fc.tuple(label, label, fc.constantFrom('net', 'org', 'de')).map((labels) => `${labels.join('.')}.`);
const number16 = fc.integer({ min: 0, max: 65_535 });
const ascii = (maxLength: number) => fc.string({ unit: 'grapheme-ascii', maxLength });
/** Of characters U+0000 to U+00FF, which make one byte or two. */
const anyText = (maxLength: number) => fc.uint8Array({ maxLength }).map((data) => Buffer.from(data).toString('latin1'));
const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((data) => Buffer.from(data));

/** What dns-packet calls types that it does not know. */
const unknownTypes: Readonly<Record<string, string>> = { SVCB: 'UNKNOWN_64', HTTPS: 'UNKNOWN_65' };

/** What a resolver that knows the format takes out of the message again. */
function overTheWire(type: string, value: string) {
  const [record] = encodeSet({ type, ttl: 60, values: [value] }).records;
  const header = Buffer.from([0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
  const [answer] = decode(Buffer.concat([header, record ?? Buffer.alloc(0)])).answers ?? [];
  assert.ok(answer !== undefined && 'data' in answer);
  assert.equal(answer.type, unknownTypes[type] ?? type);
  return answer.data;
}

test('any text comes out of a TXT record as it went in', () => {
  fc.assert(
    fc.property(
      anyText(700).filter((text) => !text.trimStart().startsWith('"')),
      (text) => {
        const value = canonical('TXT', text);
        const sent = Buffer.from(text, 'utf8');
        assert.equal(canonical('TXT', value), value);
        const strings = overTheWire('TXT', value) as Buffer[];
        assert.deepEqual(Buffer.concat(strings), sent);
        assert.ok(strings.every((string) => string.length <= 255));
      },
    ),
  );
});

test('any address has one canonical text, of the same bytes', () => {
  const groups = fc.array(fc.oneof(fc.constant(0), number16), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(groups, (parts) => {
      const value = canonical('AAAA', parts.map((part) => part.toString(16).padStart(4, '0')).join(':'));
      assert.equal(value, canonical('AAAA', parts.map((part) => part.toString(16).toUpperCase()).join(':')));
      const back = canonical('AAAA', String(overTheWire('AAAA', value)));
      assert.equal(back, value);
    }),
  );
  fc.assert(fc.property(fc.ipV4(), (address) => assert.equal(overTheWire('A', canonical('A', address)), address)));
});

test('numbers and hosts come through canonical text and the wire', () => {
  fc.assert(
    fc.property(number16, number16, number16, host, (priority, weight, port, target) => {
      const name = target.slice(0, -1);
      const srv = canonical('SRV', { value: name, priority, weight, port });
      assert.equal(canonical('SRV', srv), srv);
      assert.deepEqual(overTheWire('SRV', srv), { priority, weight, port, target: name });
      const mx = canonical('MX', `${priority} ${target}`);
      assert.deepEqual(overTheWire('MX', mx), { preference: priority, exchange: name });
      assert.equal(overTheWire('CNAME', canonical('CNAME', target)), name);
    }),
  );
});

test('certificates, fingerprints and authorities come through canonical text and the wire', () => {
  fc.assert(
    fc.property(bytes(32), bytes(64), ascii(60), (sha256, sha512, text) => {
      const tlsa = canonical('TLSA', `3 1 2 ${sha512.toString('hex')}`);
      assert.deepEqual((overTheWire('TLSA', tlsa) as { certificate: Buffer }).certificate, sha512);
      const sshfp = canonical('SSHFP', `4 2 ${sha256.toString('hex')}`);
      const hex = sha256.toString('hex').toUpperCase();
      assert.deepEqual(overTheWire('SSHFP', sshfp), { algorithm: 4, hash: 2, fingerprint: hex });
      const caa = canonical('CAA', { value: `"${text.replace(/["\\]/g, '\\$&')}"`, flags: 0, tag: 'contactemail' });
      assert.equal(canonical('CAA', caa), caa);
      assert.equal((overTheWire('CAA', caa) as { value: string }).value, text);
    }),
  );
});

test('no value whatever makes anything but a record or a refusal', () => {
  const types = fc.constantFrom(...(Object.keys(recordKinds) as RecordType[]));
  const word = fc.oneof(host, fc.nat().map(String), anyText(12), fc.constantFrom('"', '\\', '.', '@', ';'));
  fc.assert(
    fc.property(types, fc.array(word, { maxLength: 6 }), (type, words) => {
      let value: string;
      try {
        value = canonical(type, words.join(' '));
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 'bad_request', String(error));
        return;
      }
      assert.equal(canonical(type, value), value);
      // What is served of it are addresses.
      if (type !== 'ALIAS') overTheWire(type, value);
    }),
    { numRuns: 500 },
  );
});
