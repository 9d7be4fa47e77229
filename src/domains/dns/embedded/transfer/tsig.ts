/** Messages signed with a shared key (RFC 8945): read and checked, signed, also several in a row. MACs are taken whole, never truncated. */
import { createHmac, type Hmac, timingSafeEqual } from 'node:crypto';

const algorithms = { 'hmac-sha256': 'sha256', 'hmac-sha512': 'sha512' } as const;
type TsigAlgorithm = keyof typeof algorithms;

export interface TsigKey {
  /** Lower case, without the last dot. */
  readonly name: string;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Uint8Array;
}

/** What is told in the record (RFC 8945 3), and in its response the code NOTAUTH. */
export const tsigErrors = { none: 0, badSignature: 16, badKey: 17, badTime: 18, badTruncation: 22 } as const;
type TsigError = (typeof tsigErrors)[keyof typeof tsigErrors];

/** A TSIG record as it came. */
interface TsigRecord {
  readonly keyName: Buffer;
  readonly algorithm: Buffer;
  /** Seconds. */
  readonly time: number;
  readonly fudge: number;
  readonly mac: Buffer;
  readonly originalId: number;
  readonly error: number;
  readonly other: Buffer;
}

/** What the answer is signed after. Without a key it tells an error and cannot be signed. */
export interface CheckedTsig {
  readonly record: TsigRecord;
  readonly key: TsigKey | undefined;
  readonly error: TsigError;
}

const TYPE = 250;
const CLASS_ANY = 255;
/** Type, class, TTL and length of the data. */
const FIXED_LENGTH = 10;
/** Seconds that clocks may differ. */
const FUDGE = 300;
const ADDITIONAL_COUNT_AT = 10;

/** Undefined: no record that can be read. `at` is where it begins: the last of the message. `requestMac`: of what an answer answers. */
export function checkTsig(
  message: Buffer,
  at: number,
  keys: readonly TsigKey[],
  nowSeconds: number,
  requestMac?: Uint8Array,
): CheckedTsig | undefined {
  const record = readRecord(message, at);
  if (record === undefined) return undefined;
  const found = keys.find(
    ({ name, algorithm }) => wireName(name).equals(record.keyName) && wireName(algorithm).equals(record.algorithm),
  );
  if (found === undefined) return { record, key: undefined, error: tsigErrors.badKey };
  const unsigned = Buffer.from(message.subarray(0, at));
  unsigned.writeUInt16BE(record.originalId, 0);
  unsigned.writeUInt16BE(unsigned.readUInt16BE(ADDITIONAL_COUNT_AT) - 1, ADDITIONAL_COUNT_AT);
  const hmac = begin(found, requestMac).update(unsigned).update(variables(record));
  const expected = hmac.digest();
  if (record.mac.length < expected.length && record.mac.length > 0) {
    return { record, key: undefined, error: tsigErrors.badTruncation };
  }
  if (record.mac.length !== expected.length || !timingSafeEqual(record.mac, expected)) {
    return { record, key: undefined, error: tsigErrors.badSignature };
  }
  const isInTime = Math.abs(nowSeconds - record.time) <= record.fudge;
  return { record, key: found, error: isInTime ? tsigErrors.none : tsigErrors.badTime };
}

/** A request, signed; and its MAC, which the answer is checked with. */
export function signRequest(message: Buffer, key: TsigKey, nowSeconds: number): { message: Buffer; mac: Buffer } {
  return append(message, key, recordOf(message, key, nowSeconds), undefined, false);
}

/** The answer to what was checked, of one message or of several (RFC 8945 5.3.1): each is signed. */
export function signAnswers(
  messages: readonly Buffer[],
  { key, record, error }: CheckedTsig,
  nowSeconds: number,
): Buffer[] {
  if (key === undefined) return messages.map((message) => appendError(message, record, error));
  let prior = record.mac;
  return messages.map((message, index) => {
    const fields = recordOf(message, key, nowSeconds);
    const told =
      error === tsigErrors.badTime ? { ...fields, time: record.time, error, other: writeTime(nowSeconds) } : fields;
    const signed = append(message, key, told, prior, index > 0);
    prior = signed.mac;
    return signed.message;
  });
}

function recordOf(message: Buffer, key: TsigKey, time: number): Omit<TsigRecord, 'mac'> {
  const names = { keyName: wireName(key.name), algorithm: wireName(key.algorithm) };
  return { ...names, time, fudge: FUDGE, originalId: message.readUInt16BE(0), error: 0, other: Buffer.alloc(0) };
}

function append(
  message: Buffer,
  key: TsigKey,
  fields: Omit<TsigRecord, 'mac'>,
  prior: Uint8Array | undefined,
  isLater: boolean,
): { message: Buffer; mac: Buffer } {
  const hmac = begin(key, prior).update(message);
  const mac = hmac.update(isLater ? timers(fields) : variables(fields)).digest();
  return { message: withRecord(message, { ...fields, mac }), mac };
}

function appendError(message: Buffer, { keyName, algorithm, time }: TsigRecord, error: number): Buffer {
  const empty = Buffer.alloc(0);
  const originalId = message.readUInt16BE(0);
  return withRecord(message, { keyName, algorithm, time, fudge: FUDGE, mac: empty, originalId, error, other: empty });
}

function begin({ algorithm, secret }: TsigKey, prior: Uint8Array | undefined): Hmac {
  const hmac = createHmac(algorithms[algorithm], secret);
  return prior === undefined ? hmac : hmac.update(number16(prior.length)).update(prior);
}

/** RFC 8945 4.3.3. */
function variables(record: Omit<TsigRecord, 'mac'>): Buffer {
  const { keyName, algorithm, error, other } = record;
  const classAndTtl = Buffer.concat([number16(CLASS_ANY), Buffer.alloc(4)]);
  return Buffer.concat([
    keyName,
    classAndTtl,
    algorithm,
    timers(record),
    number16(error),
    number16(other.length),
    other,
  ]);
}

function timers({ time, fudge }: Pick<TsigRecord, 'time' | 'fudge'>): Buffer {
  return Buffer.concat([writeTime(time), number16(fudge)]);
}

function withRecord(message: Buffer, record: TsigRecord): Buffer {
  const { keyName, algorithm, mac, originalId, error, other } = record;
  const counted = [number16(mac.length), mac, number16(originalId), number16(error), number16(other.length), other];
  const data = Buffer.concat([algorithm, timers(record), ...counted]);
  const head = Buffer.concat([keyName, number16(TYPE), number16(CLASS_ANY), Buffer.alloc(4), number16(data.length)]);
  const signed = Buffer.concat([message, head, data]);
  signed.writeUInt16BE(message.readUInt16BE(ADDITIONAL_COUNT_AT) + 1, ADDITIONAL_COUNT_AT);
  return signed;
}

function readRecord(message: Buffer, at: number): TsigRecord | undefined {
  const keyName = readName(message, at);
  if (keyName === undefined) return undefined;
  const dataAt = at + keyName.length + FIXED_LENGTH;
  const algorithm = readName(message, dataAt);
  const timeAt = dataAt + (algorithm?.length ?? 0);
  if (algorithm === undefined || timeAt + 10 > message.length) return undefined;
  const macEnd = timeAt + 10 + message.readUInt16BE(timeAt + 8);
  if (macEnd + 6 > message.length) return undefined;
  if (macEnd + 6 + message.readUInt16BE(macEnd + 4) !== message.length) return undefined;
  return {
    keyName,
    algorithm,
    time: message.readUIntBE(timeAt, 6),
    fudge: message.readUInt16BE(timeAt + 6),
    mac: message.subarray(timeAt + 10, macEnd),
    originalId: message.readUInt16BE(macEnd),
    error: message.readUInt16BE(macEnd + 2),
    other: message.subarray(macEnd + 6),
  };
}

/** As it is on the wire, lower case. Nobody compresses these two. */
function readName(message: Buffer, from: number): Buffer | undefined {
  for (let at = from; at - from < 255; ) {
    const length = message[at];
    if (length === undefined || length > 63) return undefined;
    at += 1 + length;
    if (length === 0) return lowerCase(message.subarray(from, at));
  }
  return undefined;
}

/** Lengths of labels are below the letters. */
function lowerCase(name: Buffer): Buffer {
  return Buffer.from(name.map((byte) => (byte >= 65 && byte <= 90 ? byte | 0x20 : byte)));
}

function wireName(name: string): Buffer {
  const labels = name.split('.').map((label) => String.fromCharCode(label.length) + label);
  return Buffer.from(`${labels.join('')}\0`, 'latin1');
}

function number16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function writeTime(seconds: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(seconds, 0, 6);
  return bytes;
}
