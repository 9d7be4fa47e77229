/** SVCB and HTTPS, RFC 9460: where a service is, and what its clients may know before they connect. */
import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { encode } from 'dns-packet';
import { badRecord, shorten } from './bad-record.ts';
import { readHost } from './domain-names.ts';
import { type RecordInput, refuseMembers } from './record-input.ts';

export interface SvcParam {
  /** Its number; a record has them in this order. */
  readonly key: number;
  /** As in a zone file: `alpn=h2,h3`. */
  readonly text: string;
  readonly bytes: Uint8Array;
}

export interface Svcb {
  /** 0: the name stands for another (AliasMode), and there are no parameters. */
  readonly priority: number;
  /** `.` is the record's own name. */
  readonly target: string;
  readonly params: readonly SvcParam[];
}

const KEYS = ['mandatory', 'alpn', 'no-default-alpn', 'port', 'ipv4hint', 'ech', 'ipv6hint'] as const;
type Key = (typeof KEYS)[number];

const EXAMPLE = '1 . alpn=h2,h3 port=8443';
const PARAM = /^([a-z0-9-]+)(?:=(?:"([^"\\\s]*)"|([^"\\\s]*)))?$/i;
const LONGEST_ECH = 2_048;

export function readSvcb(input: RecordInput, zoneName: string): Svcb {
  refuseMembers(input, ['priority']);
  const words = input.value.trim().split(/\s+/);
  const isApart = input.priority !== undefined && !/^\d+$/.test(words[0] ?? '');
  const [priorityText = '', host, ...rest] = isApart ? [String(input.priority), ...words] : words;
  const priority = Number(priorityText);
  if (!/^\d{1,5}$/.test(priorityText) || priority > 65_535 || priority !== (input.priority ?? priority)) {
    throw badRecord('priority', `The priority is one whole number from 0 to 65535, such as in: ${EXAMPLE}`);
  }
  if (host === undefined) throw badRecord('value', `Send priority, host and parameters, such as: ${EXAMPLE}`);
  const target = readHost(host, zoneName, { allowsRoot: true, allowsUnderscore: true });
  const values = readValues(rest);
  if (priority === 0 && values.size > 0) {
    throw badRecord('value', 'With priority 0 the record is an alias and has no parameters.');
  }
  return { priority, target, params: KEYS.flatMap((key) => readParam(key, values)) };
}

export function writeSvcb({ priority, target, params }: Svcb): string {
  return [priority, target, ...params.map(({ text }) => text)].join(' ');
}

/** The data of the record on the wire (RFC 9460 2.2): names are not compressed. */
export function encodeSvcb({ priority, target, params }: Svcb): Uint8Array {
  const labels = target.split('.').filter((label) => label !== '');
  return Buffer.concat([
    number16(priority),
    ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]),
    Buffer.from([0]),
    ...params.flatMap(({ key, bytes }) => [number16(key), number16(bytes.length), bytes]),
  ]);
}

function readValues(words: readonly string[]): Map<Key, string> {
  const values = new Map<Key, string>();
  for (const word of words) {
    const [, name = '', quoted, plain] = PARAM.exec(word) ?? [];
    const key = KEYS.find((known) => known === name.toLowerCase());
    if (key === undefined) throw badRecord('value', `"${shorten(word)}" is none of the parameters ${KEYS.join(', ')}.`);
    if (values.has(key)) throw badRecord('value', `The parameter ${key} is there twice.`);
    values.set(key, quoted ?? plain ?? '');
  }
  return values;
}

function readParam(key: Key, values: ReadonlyMap<Key, string>): SvcParam[] {
  const value = values.get(key);
  if (value === undefined) return [];
  const { text, bytes } = readers[key](value, values);
  return [{ key: KEYS.indexOf(key), text: text === '' ? key : `${key}=${text}`, bytes: Buffer.concat(bytes) }];
}

interface ReadValue {
  readonly text: string;
  readonly bytes: readonly Uint8Array[];
}

const readers: Readonly<Record<Key, (value: string, values: ReadonlyMap<Key, string>) => ReadValue>> = {
  mandatory(value, values) {
    const keys = KEYS.filter((key) => value.toLowerCase().split(',').includes(key));
    if (
      keys.length === 0 ||
      keys.length !== value.split(',').length ||
      keys.some((key) => !mayBeMandatory(key, values))
    ) {
      throw badRecord('value', 'mandatory lists other parameters that the record has, each once: mandatory=alpn,port');
    }
    return { text: keys.join(','), bytes: keys.map((key) => number16(KEYS.indexOf(key))) };
  },
  alpn(value) {
    const ids = value.split(',');
    if (!ids.every((id) => /^[\w./-]{1,255}$/.test(id))) {
      throw badRecord('value', 'alpn lists protocols, separated by commas: alpn=h2,h3');
    }
    return { text: value, bytes: ids.flatMap((id) => [Buffer.from([id.length]), Buffer.from(id, 'latin1')]) };
  },
  'no-default-alpn'(value, values) {
    if (value !== '' || !values.has('alpn')) {
      throw badRecord('value', 'no-default-alpn has no value and stands beside alpn.');
    }
    return { text: '', bytes: [] };
  },
  port(value) {
    if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) {
      throw badRecord('value', 'The port is a whole number from 0 to 65535: port=8443');
    }
    return { text: String(Number(value)), bytes: [number16(Number(value))] };
  },
  ipv4hint(value) {
    const addresses = value.split(',');
    if (!addresses.every((address) => isIPv4(address))) {
      throw badRecord('value', 'ipv4hint lists IPv4 addresses, separated by commas: ipv4hint=192.0.2.1,192.0.2.2');
    }
    return { text: value, bytes: addresses.map((address) => Buffer.from(address.split('.').map(Number))) };
  },
  ech(value) {
    const bytes = Buffer.from(value, 'base64');
    if (bytes.length === 0 || bytes.length > LONGEST_ECH || bytes.toString('base64') !== value) {
      throw badRecord('value', `ech is a configuration in base64, of at most ${LONGEST_ECH} bytes.`);
    }
    return { text: `"${value}"`, bytes: [bytes] };
  },
  ipv6hint(value) {
    const addresses = value.split(',');
    if (!addresses.every((address) => isIPv6(address) && !address.includes('%'))) {
      throw badRecord('value', 'ipv6hint lists IPv6 addresses, separated by commas: ipv6hint=2001:db8::1');
    }
    const canonical = addresses.map((address) => new SocketAddress({ address, family: 'ipv6' }).address);
    return { text: canonical.join(','), bytes: canonical.map(ipv6Bytes) };
  },
};

function mayBeMandatory(key: Key, values: ReadonlyMap<Key, string>): boolean {
  return key !== 'mandatory' && values.has(key);
}

/** An AAAA record ends with its address. */
function ipv6Bytes(address: string): Uint8Array {
  return encode({ type: 'response', answers: [{ name: '.', type: 'AAAA', data: address }] }).subarray(-16);
}

function number16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
