/** No way of writing a private address, of naming it or of being led to it gets a webhook's POST there. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { after, test } from 'node:test';
import { createOutbound, type Lookup, OutboundError } from '../outbound/outbound.ts';
import { createWebhookSender } from './send-delivery.ts';

/** What a server of a company must not be made to call. */
const TARGETS = [
  [127, 0, 0, 1],
  [127, 8, 9, 10],
  [10, 0, 0, 1],
  [172, 16, 5, 4],
  [192, 168, 1, 1],
  [169, 254, 169, 254],
  [100, 64, 0, 1],
  [0, 0, 0, 0],
] as const;

type Octets = (typeof TARGETS)[number];

const hex = (value: number, digits = 1) => value.toString(16).padStart(digits, '0');
const numberOf = ([a, b, c, d]: Octets) => a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
const pairsOf = ([a, b, c, d]: Octets) => `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
const FULL_WIDTH_ZERO = '０'.codePointAt(0) ?? 0;

/** Every way to write an address as the host of a URL that some parser has been fooled by. */
const SPELLINGS: Readonly<Record<string, (octets: Octets) => string>> = {
  dotted: (octets) => octets.join('.'),
  'dotted with a final dot': (octets) => `${octets.join('.')}.`,
  'one decimal number': (octets) => String(numberOf(octets)),
  'one hexadecimal number': (octets) => `0x${hex(numberOf(octets))}`,
  'one octal number': (octets) => `0${numberOf(octets).toString(8)}`,
  'hexadecimal octets': (octets) => octets.map((octet) => `0x${hex(octet)}`).join('.'),
  'upper-case hexadecimal octets': (octets) => octets.map((octet) => `0X${hex(octet, 2).toUpperCase()}`).join('.'),
  'octal octets': (octets) => octets.map((octet) => `0${octet.toString(8)}`).join('.'),
  'long octal octets': (octets) => octets.map((octet) => octet.toString(8).padStart(6, '0')).join('.'),
  'mixed octets': ([a, b, c, d]) => `0x${hex(a)}.0${b.toString(8)}.${c}.0x${hex(d)}`,
  'two parts': ([a, b, c, d]) => `${a}.${b * 2 ** 16 + c * 2 ** 8 + d}`,
  'three parts': ([a, b, c, d]) => `${a}.${b}.${c * 2 ** 8 + d}`,
  'full-width digits': (octets) =>
    octets.join('.').replaceAll(/\d/g, (digit) => String.fromCodePoint(FULL_WIDTH_ZERO + Number(digit))),
  'ideographic full stops': (octets) => octets.join('。'),
  'percent-encoded': (octets) => octets.join('.').replaceAll(/\d/g, (digit) => `%3${digit}`),
  'mapped into IPv6': (octets) => `[::ffff:${octets.join('.')}]`,
  'mapped into IPv6, hexadecimal': (octets) => `[::FFFF:${pairsOf(octets)}]`,
  'mapped into IPv6, in full': (octets) => `[0:0:0:0:0:ffff:${pairsOf(octets)}]`,
  'compatible IPv6': (octets) => `[::${pairsOf(octets)}]`,
  'translated IPv6': (octets) => `[::ffff:0:${pairsOf(octets)}]`,
  NAT64: (octets) => `[64:ff9b::${pairsOf(octets)}]`,
  'local NAT64': (octets) => `[64:ff9b:1::${pairsOf(octets)}]`,
  '6to4': (octets) => `[2002:${pairsOf(octets)}::1]`,
  ISATAP: (octets) => `[fe80::5efe:${pairsOf(octets)}]`,
};

/** Hosts that stand for themselves. */
const HOSTS = [
  '[::1]',
  '[::]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fc00::1]',
  '[ff02::1]',
  'localhost',
  'LOCALHOST.',
  'private.example',
  'mixed.example',
  'mapped.example',
  'metadata.google.internal',
  '224.0.0.1',
  '255.255.255.255',
  '198.18.0.1',
];

const NAMES: Readonly<Record<string, readonly string[]>> = {
  localhost: ['127.0.0.1', '::1'],
  'private.example': ['10.0.0.1'],
  'mixed.example': ['93.184.216.34', '127.0.0.1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'metadata.google.internal': ['169.254.169.254'],
};

/** A public address when it is asked for the first time, and loopback ever after. */
const REBINDING = 'rebinding.example';
const asked = new Set<string>();

const lookup: Lookup = async (hostname) => {
  const name = hostname.replace(/\.$/, '').toLowerCase();
  const addresses = name === REBINDING ? [asked.has(name) ? '127.0.0.1' : '93.184.216.34'] : NAMES[name];
  asked.add(name);
  if (addresses === undefined) throw new Error('ENOTFOUND');
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};

/** Takes every connection to this machine, by whatever address of it. */
let connections = 0;
const recorder = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
recorder.listen(0, '::');
await once(recorder, 'listening');
const { port } = recorder.address() as AddressInfo;

/** The only address that the operator has opened: it leads wherever the path says. */
const redirecting = createHttpServer((request, response) => {
  request.resume();
  const location = decodeURIComponent(request.url?.slice(1) ?? '');
  // A header has no characters beyond these: the bytes of the others, as servers send them.
  response.writeHead(307, { location: Buffer.from(location, 'utf8').toString('latin1') }).end();
});
redirecting.listen(0, '127.0.0.1');
await once(redirecting, 'listening');
const opened = `127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
const outbound = createOutbound({ allow: [opened], lookup });
const send = createWebhookSender(outbound);
after(async () => {
  await outbound.close();
  redirecting.closeAllConnections();
  redirecting.close();
  recorder.close();
});

const URLS = [...TARGETS.flatMap((octets) => Object.values(SPELLINGS).map((spell) => spell(octets))), ...HOSTS].flatMap(
  (host) => [`https://${host}:${port}/`, `http://${host}:${port}/`],
);

const never = new AbortController().signal;

test('the recorder hears of connections by IPv4 and by IPv6', async () => {
  for (const host of ['127.0.0.1', '[::1]', '127.8.9.10']) {
    await assert.rejects(fetch(`http://${host}:${port}/`));
  }
  assert.equal(connections, 3);
  connections = 0;
});

test('none is registered, called, or reached by a redirect', async () => {
  assert.ok(new Set(URLS).size >= 400);
  for (const url of URLS) {
    await assert.rejects(outbound.checkUrl(url, { policy: 'public', httpsOnly: true }), OutboundError, url);
    const called = await send(url, {}, '{}', never);
    assert.equal(called.httpStatus, null, url);
    assert.doesNotMatch(called.error ?? '', /connection failed|no whole answer/, url);
    const led = await send(`http://${opened}/${encodeURIComponent(url)}`, {}, '{}', never);
    assert.equal(led.httpStatus, 307, url);
    assert.notEqual(led.error, null, url);
    assert.doesNotMatch(led.error ?? '', /connection failed|no whole answer/, url);
  }
  assert.equal(connections, 0);
});

test('a name that was public when it was registered is not called once it is private', async () => {
  await outbound.checkUrl(`https://${REBINDING}:${port}/`, { policy: 'public', httpsOnly: true });
  const { httpStatus, error } = await send(`https://${REBINDING}:${port}/`, {}, '{}', never);
  assert.deepEqual([httpStatus, connections], [null, 0]);
  assert.match(error ?? '', /address/);
});
