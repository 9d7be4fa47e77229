/**
 * The types that users may have, each with the way from a caller's value to its data (in the shapes of dns-packet) and
 * from there to the one canonical text. ALIAS is ours: what it points to is served as A and AAAA. SOA, the NS of the zone's own name, and all of DNSSEC are the service's.
 */
import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { badRecord } from './bad-record.ts';
import { readCaa, writeCaa } from './caa.ts';
import { type HostRules, readHost } from './domain-names.ts';
import { type RecordInput, readColumns, readHex, readNumber, refuseMembers } from './record-input.ts';
import { readSvcb, writeSvcb } from './svcb.ts';
import { readTxt, writeTxt } from './txt.ts';
import { quote, type Word } from './zone-text.ts';

export interface RecordKind<Data> {
  /** Throws `bad_request` that names the member at fault. */
  read(input: RecordInput, zoneName: string): Data;
  write(data: Data): string;
  /** The text of a zone file; reading it again gives it again. */
  canonical(input: RecordInput, zoneName: string): string;
}

function kind<Data>(parts: Pick<RecordKind<Data>, 'read' | 'write'>): RecordKind<Data> {
  return { ...parts, canonical: (input, zoneName) => parts.write(parts.read(input, zoneName)) };
}

const asItIs = (data: string): string => data;

const a = kind<string>({
  read(input) {
    const [word] = readColumns(input, ['address'], '192.0.2.1');
    if (!isIPv4(word?.bytes ?? '')) throw badRecord('value', 'An A record holds an IPv4 address, such as 192.0.2.1.');
    return word?.bytes ?? '';
  },
  write: asItIs,
});

const aaaa = kind<string>({
  read(input) {
    const [word] = readColumns(input, ['address'], '2001:db8::1');
    const address = word?.bytes ?? '';
    if (!isIPv6(address) || address.includes('%')) {
      throw badRecord('value', 'An AAAA record holds an IPv6 address, such as 2001:db8::1.');
    }
    // RFC 5952, as the C library writes it.
    return new SocketAddress({ address, family: 'ipv6' }).address;
  },
  write: asItIs,
});

function pointer(rules: HostRules): RecordKind<string> {
  return kind<string>({
    read(input, zoneName) {
      const [host] = readColumns(input, ['host'], 'host.example.net.');
      return hostOf(host, zoneName, rules);
    },
    write: asItIs,
  });
}

const mx = kind<{ preference: number; exchange: string }>({
  read(input, zoneName) {
    const [priority, host] = readColumns(input, ['priority', 'host'], '10 mail.example.net.');
    const data = {
      preference: readNumber(priority, 'priority'),
      exchange: hostOf(host, zoneName, { allowsRoot: true }),
    };
    if (data.exchange === '.' && data.preference !== 0) {
      throw badRecord('priority', 'A null MX, which says that the name takes no mail, is "0 ." (RFC 7505).');
    }
    return data;
  },
  write: ({ preference, exchange }) => `${preference} ${exchange}`,
});

const srv = kind<{ priority: number; weight: number; port: number; target: string }>({
  read(input, zoneName) {
    const columns = ['priority', 'weight', 'port', 'host'];
    const [priority, weight, port, host] = readColumns(input, columns, '10 5 443 host.example.net.');
    return {
      priority: readNumber(priority, 'priority'),
      weight: readNumber(weight, 'weight'),
      port: readNumber(port, 'port'),
      target: hostOf(host, zoneName, { allowsRoot: true }),
    };
  },
  write: ({ priority, weight, port, target }) => `${priority} ${weight} ${port} ${target}`,
});

const txt = kind<string[]>({
  read(input) {
    refuseMembers(input, []);
    return readTxt(input.value);
  },
  write: writeTxt,
});

const caa = kind({ read: readCaa, write: writeCaa });

const svcb = kind({ read: readSvcb, write: writeSvcb });

/** Bytes of a digest by RFC 6698 7.4 (TLSA matching types); 0 is the whole certificate or key. */
const TLSA_DIGESTS: Readonly<Record<number, number>> = { 1: 32, 2: 64 };
const LONGEST_CERTIFICATE = 4_096;

const tlsa = kind<{ usage: number; selector: number; matchingType: number; certificate: Buffer }>({
  read(input) {
    const columns = ['usage', 'selector', 'matching type', 'hexadecimal digest'];
    const [usage, selector, matching, ...hex] = readColumns(joinFrom(input, 3), columns, '3 1 1 0D6F…');
    const certificate = Buffer.from(readHex(hex, 'digest'), 'hex');
    const matchingType = readNumber(matching, 'matching type', 2);
    requireLength(certificate, TLSA_DIGESTS[matchingType]);
    return {
      usage: readNumber(usage, 'usage', 3),
      selector: readNumber(selector, 'selector', 1),
      matchingType,
      certificate,
    };
  },
  write: ({ usage, selector, matchingType, certificate }) =>
    `${usage} ${selector} ${matchingType} ${certificate.toString('hex').toUpperCase()}`,
});

/** RFC 4255 3.1 and RFC 6594 4: SHA-1 and SHA-256. */
const SSHFP_DIGESTS: Readonly<Record<number, number>> = { 1: 20, 2: 32 };
/** RSA, DSA, ECDSA, Ed25519, Ed448. */
const SSHFP_ALGORITHMS: readonly number[] = [1, 2, 3, 4, 6];

const sshfp = kind<{ algorithm: number; hash: number; fingerprint: string }>({
  read(input) {
    const columns = ['algorithm', 'fingerprint type', 'hexadecimal fingerprint'];
    const [algorithmWord, hashWord, ...hex] = readColumns(joinFrom(input, 2), columns, '4 2 A87F…');
    const algorithm = readNumber(algorithmWord, 'algorithm', 255);
    const hash = readNumber(hashWord, 'fingerprint type', 255);
    if (!SSHFP_ALGORITHMS.includes(algorithm) || SSHFP_DIGESTS[hash] === undefined) {
      throw badRecord('value', 'The algorithm is 1, 2, 3, 4 or 6, and the fingerprint type 1 (SHA-1) or 2 (SHA-256).');
    }
    const fingerprint = readHex(hex, 'fingerprint');
    requireLength(Buffer.from(fingerprint, 'hex'), SSHFP_DIGESTS[hash]);
    return { algorithm, hash, fingerprint };
  },
  write: ({ algorithm, hash, fingerprint }) => `${algorithm} ${hash} ${fingerprint}`,
});

const naptr = kind<{
  order: number;
  preference: number;
  flags: string;
  services: string;
  regexp: string;
  replacement: string;
}>({
  read(input, zoneName) {
    // Its flags are no flags of CAA: they are always in the value.
    const columns = ['order', 'preference', '"flags"', '"services"', '"regexp"', 'replacement'];
    const [order, preference, flags, services, regexp, host] = readColumns(
      input,
      columns,
      '100 10 "S" "SIP+D2U" "" _sip._udp.example.net.',
    );
    const data = {
      order: readNumber(order, 'order'),
      preference: readNumber(preference, 'preference'),
      flags: shortText(flags, /^[a-z0-9]*$/i),
      services: shortText(services, /^[ -~]*$/),
      regexp: shortText(regexp, /^[ -~]*$/),
      replacement: hostOf(host, zoneName, { allowsRoot: true, allowsUnderscore: true }),
    };
    if (data.regexp !== '' && data.replacement !== '.') {
      throw badRecord('value', 'Of the expression and the replacement one is empty: "" or "." (RFC 3403 4.1).');
    }
    return data;
  },
  write: ({ order, preference, flags, services, regexp, replacement }) =>
    `${order} ${preference} ${quote(flags)} ${quote(services)} ${quote(regexp)} ${replacement}`,
});

export const recordKinds = {
  A: a,
  AAAA: aaaa,
  ALIAS: pointer({}),
  CAA: caa,
  CNAME: pointer({ allowsUnderscore: true }),
  HTTPS: svcb,
  MX: mx,
  NAPTR: naptr,
  NS: pointer({}),
  PTR: pointer({ allowsUnderscore: true }),
  SRV: srv,
  SSHFP: sshfp,
  SVCB: svcb,
  TLSA: tlsa,
  TXT: txt,
} as const;

export type RecordType = keyof typeof recordKinds;

export const recordTypes = Object.keys(recordKinds) as readonly RecordType[];

export function isRecordType(type: string): type is RecordType {
  return Object.hasOwn(recordKinds, type);
}

function hostOf(word: Word | undefined, zoneName: string, rules: HostRules): string {
  if (word === undefined || word.isQuoted) throw badRecord('value', 'Send the name of the host without quotes.');
  // Words are bytes; names may be of any script.
  return readHost(Buffer.from(word.bytes, 'latin1').toString('utf8'), zoneName, rules);
}

/** Hexadecimal text may be written in groups: what follows the first columns is put together. */
function joinFrom(input: RecordInput, columns: number): RecordInput {
  const words = input.value.trim().split(/\s+/);
  return { ...input, value: [...words.slice(0, columns), words.slice(columns).join('')].join(' ') };
}

function requireLength(bytes: Buffer, exact: number | undefined): void {
  if (exact === undefined ? bytes.length > LONGEST_CERTIFICATE : bytes.length !== exact) {
    throw badRecord(
      'value',
      `The hexadecimal part has ${bytes.length} bytes and must have ${exact ?? `at most ${LONGEST_CERTIFICATE}`}.`,
    );
  }
}

/** A character-string (RFC 1035 3.3). */
function shortText(word: Word | undefined, pattern: RegExp): string {
  const text = word?.bytes ?? '';
  if (text.length > 255 || !pattern.test(text)) {
    throw badRecord('value', 'Flags are letters and digits; the texts are printable ASCII of up to 255 characters.');
  }
  return text;
}
