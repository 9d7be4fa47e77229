/** Sets of records in the format of the wire, made once as a zone is loaded. dns-packet knows the data of each type. */
import { type Answer, type CaaData, encode } from 'dns-packet';
import type { RecordSet } from '../publisher.ts';
import { isRecordType, type RecordType, recordKinds } from '../records/record-kinds.ts';
import { encodeSvcb } from '../records/svcb.ts';

export interface WireSet {
  readonly type: number;
  /** Each from its type to the end of its data: all but the owner's name. */
  readonly records: readonly Uint8Array[];
  /** Absolute names in the data, without the last dot: of nameservers, or what a CNAME stands for. */
  readonly targets: readonly string[];
  readonly size: number;
}

export const types = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  AAAA: 28,
  OPT: 41,
  DS: 43,
  SVCB: 64,
  HTTPS: 65,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

export const CLASS_IN = 1;

const HEADER_AND_ROOT = 13;

export function encodeSet({ type, ttl, values }: Omit<RecordSet, 'name'>): WireSet {
  const records = values.map((value) => encodeValue(type, ttl, value));
  const hasTargets = type === 'NS' || type === 'CNAME';
  return {
    type: records[0] === undefined ? 0 : Buffer.from(records[0]).readUInt16BE(0),
    records,
    targets: hasTargets ? values.map((value) => value.replace(/\.$/, '')) : [],
    size: records.reduce((sum, record) => sum + record.length, 0),
  };
}

/** What is answered to a query for everything (RFC 8482 4.2). */
export const minimalAny: WireSet = wireOf({ name: '.', type: 'HINFO', ttl: 3_600, data: { cpu: 'RFC8482', os: '' } });

function wireOf(answer: Answer): WireSet {
  const record = encodeRecord(answer);
  return { type: Buffer.from(record).readUInt16BE(0), records: [record], targets: [], size: record.length };
}

function encodeRecord(answer: Answer): Uint8Array {
  return encode({ type: 'response', answers: [answer] }).subarray(HEADER_AND_ROOT);
}

/** The canonical text says the same whatever the zone. */
function encodeValue(type: string, ttl: number, value: string): Uint8Array {
  if (!isServiceBinding(type)) return encodeRecord(answerOf(type, ttl, value));
  const data = encodeSvcb(recordKinds[type].read({ value }, ''));
  const head = Buffer.alloc(10);
  head.writeUInt16BE(types[type], 0);
  head.writeUInt16BE(CLASS_IN, 2);
  head.writeUInt32BE(ttl, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([head, data]);
}

/** The types that dns-packet does not know. */
function isServiceBinding(type: string): type is 'HTTPS' | 'SVCB' {
  return type === 'HTTPS' || type === 'SVCB';
}

function answerOf(type: string, ttl: number, value: string): Answer {
  if (type === 'SOA') return { name: '.', ttl, type, data: readSoa(value) };
  if (!isRecordType(type) || type === 'ALIAS' || isServiceBinding(type))
    throw new Error(`records of type ${type} cannot be served`);
  return userAnswer(type, ttl, value);
}

function userAnswer(type: Exclude<RecordType, 'ALIAS' | 'HTTPS' | 'SVCB'>, ttl: number, value: string): Answer {
  const head = { name: '.', ttl };
  const input = { value };
  switch (type) {
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return { ...head, type, data: recordKinds[type].read(input, '') };
    case 'CAA': {
      const { flags, tag, value: content } = recordKinds.CAA.read(input, '');
      // The library writes any tag; its types list three.
      return { ...head, type, data: { flags, tag: tag as CaaData['tag'], value: content } };
    }
    case 'MX':
      return { ...head, type, data: recordKinds.MX.read(input, '') };
    case 'NAPTR':
      return { ...head, type, data: recordKinds.NAPTR.read(input, '') };
    case 'SRV':
      return { ...head, type, data: recordKinds.SRV.read(input, '') };
    case 'SSHFP':
      return { ...head, type, data: recordKinds.SSHFP.read(input, '') };
    case 'TLSA':
      return { ...head, type, data: recordKinds.TLSA.read(input, '') };
    case 'TXT':
      return { ...head, type, data: recordKinds.TXT.read(input, '').map((text) => Buffer.from(text, 'latin1')) };
  }
}

function readSoa(value: string) {
  const [mname = '', rname = '', ...numbers] = value.split(' ');
  const [serial = 0, refresh = 0, retry = 0, expire = 0, minimum = 0] = numbers.map(Number);
  return { mname, rname, serial, refresh, retry, expire, minimum };
}
