import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../../../kernel/clock/clock.ts';
import { ClientAddress, readNetwork } from './client-address.ts';
import { derivedSecrets, givenSecrets } from './cookie-secrets.ts';
import { Cookies } from './cookies.ts';
import { sipHash, sipKey } from './sip-hash.ts';

const hex = (text: string) => Buffer.from(text, 'hex');

test('SipHash-2-4 gives the values of its authors', () => {
  const key = sipKey(Uint8Array.from({ length: 16 }, (_, at) => at));
  const message = Uint8Array.from({ length: 64 }, (_, at) => at);
  const expected: [number, string][] = [
    [0, '310e0edd47db6f72'],
    [1, 'fd67dc93c539f874'],
    [7, '37d1018bf50002ab'],
    [8, '6224939a79f5f593'],
    [15, 'e545be4961ca29a1'],
    [63, '724506eb4c328a95'],
  ];
  for (const [length, hash] of expected) {
    const out = Buffer.alloc(8);
    sipHash(key, message, length, out, 0);
    assert.equal(out.toString('hex'), hash, `of ${length} bytes`);
  }
});

/** RFC 9018, appendix A. */
const SECRET = hex('e5e973e5a6b2a43f48e7dc849e37bfcf');
const OLD_SECRET = hex('dd3bdf9344b678b185a6f5cb60fca715');
const NEW_SECRET = hex('445536bcd2513298075a5d379663c962');
const examples = [
  {
    name: 'a new one',
    at: 1_559_731_985,
    address: '198.51.100.100',
    secrets: [SECRET],
    given: '2464c4abcf10c957',
    verdict: 'new',
    made: '2464c4abcf10c957010000005cf79f111f8130c3eee29480',
  },
  {
    name: 'one that is young',
    at: 1_559_732_885,
    address: '198.51.100.100',
    secrets: [SECRET],
    given: '2464c4abcf10c957010000005cf79f111f8130c3eee29480',
    verdict: 'valid',
    made: '2464c4abcf10c957010000005cf79f111f8130c3eee29480',
  },
  {
    name: 'one with reserved bits, half an hour old',
    at: 1_559_729_785,
    address: '203.0.113.203',
    secrets: [SECRET],
    given: 'fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5',
    verdict: 'valid',
    made: 'fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5',
  },
  {
    name: 'one under the secret before, by IPv6',
    at: 1_559_741_961,
    address: '2001:db8:220:1:59de:d0f4:8769:82b8',
    secrets: [NEW_SECRET, OLD_SECRET],
    given: '22681ab97d52c298010000005cf7c57926556bd0934c72f8',
    verdict: 'valid',
    made: '22681ab97d52c298010000005cf7c57926556bd0934c72f8',
  },
] as const;

for (const { name, at, address, secrets, given, verdict, made } of examples) {
  test(`cookies are those of RFC 9018, appendix A: ${name}`, () => {
    const clock = createManualClock(new Date(at * 1_000));
    const cookies = new Cookies({ clock, secrets: givenSecrets([...secrets]) });
    const judged = cookies.judge(hex(given), address);
    assert.equal(judged, verdict);
    assert.equal(cookies.make(hex(given), judged, address)?.toString('hex'), made);
  });
}

test('a cookie is renewed after half an hour and lasts for one, at its address and for its client alone', () => {
  const clock = createManualClock(new Date('2026-01-01T23:30:00Z'));
  const cookies = new Cookies({
    clock,
    secrets: derivedSecrets((context) => hex(context.padStart(64, '0').slice(-32).replace(/\D/g, 'a'))),
  });
  const client = hex('0102030405060708');
  const made = cookies.make(client, 'new', '192.0.2.1') ?? Buffer.alloc(0);
  assert.equal(cookies.judge(made, '192.0.2.1'), 'valid');
  assert.equal(cookies.judge(made, '192.0.2.2'), 'new');
  assert.equal(cookies.judge(made, '::ffff:192.0.2.1'), 'valid');
  const other = Buffer.from(made);
  other[0] = 9;
  assert.equal(cookies.judge(other, '192.0.2.1'), 'new');
  assert.equal(cookies.judge(client, '192.0.2.1'), 'new');
  // Into the next day, which has another secret.
  clock.advance(3_600_000);
  assert.equal(cookies.judge(made, '192.0.2.1'), 'valid');
  const renewed = cookies.make(made, 'valid', '192.0.2.1') ?? Buffer.alloc(0);
  assert.notDeepEqual(renewed, made);
  assert.equal(cookies.judge(renewed, '192.0.2.1'), 'valid');
  clock.advance(1_000);
  assert.equal(cookies.judge(made, '192.0.2.1'), 'new');
  clock.advance(-302_000);
  assert.equal(cookies.judge(renewed, '192.0.2.1'), 'new', 'made too far in the future');
});

test('addresses are read in every form, and lie in networks bit by bit', () => {
  const client = new ClientAddress();
  const read = (text: string) =>
    client.read(text) ? Buffer.from(client.bytes.subarray(0, client.length)).toString('hex') : undefined;
  const cases: [string, string | undefined][] = [
    ['192.0.2.1', 'c0000201'],
    ['::ffff:192.0.2.1', 'c0000201'],
    ['2001:db8::1', '20010db8000000000000000000000001'],
    ['2001:db8:1:2:3:4:5:6', '20010db8000100020003000400050006'],
    ['fe80::1%eth0', 'fe800000000000000000000000000001'],
    ['::', '00000000000000000000000000000000'],
    ['1::', '00010000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['1.2.3', undefined],
    ['1.2.3.256', undefined],
    ['1:2', undefined],
    ['1::2::3', undefined],
    ['1:2:3:4:5:6:7:8:9', undefined],
    ['1:', undefined],
    ['g::1', undefined],
  ];
  for (const [text, bytes] of cases) assert.equal(read(text), bytes, text);
  const isIn = (text: string, within: string) => {
    const network = readNetwork(within);
    return network !== undefined && client.read(text) && client.isIn(network.bytes, network.length, network.bits);
  };
  assert.ok(isIn('192.0.2.200', '192.0.2.192/26') && !isIn('192.0.2.100', '192.0.2.192/26'));
  assert.ok(isIn('192.0.2.1', '192.0.2.1') && !isIn('192.0.2.2', '192.0.2.1'));
  assert.ok(isIn('2001:db8:0:1200::1', '2001:db8::/32') && !isIn('192.0.2.1', '::/0'));
  assert.ok(isIn('10.1.2.3', '0.0.0.0/0'));
  for (const text of ['192.0.2.0/33', '::/129', 'host', '192.0.2.0/', ''])
    assert.equal(readNetwork(text), undefined, text);
});
