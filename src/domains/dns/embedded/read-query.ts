/**
 * The part of a DNS message that a query has: header, one question, EDNS. Written by hand, as a library decodes names as
 * UTF-8 and answers of any number with names behind chains of pointers: here bytes stay bytes, and each is read once.
 */

export interface Edns {
  readonly udpSize: number;
  readonly version: number;
  readonly wantsDnssec: boolean;
  /** The data of the COOKIE option (RFC 7873 4), 8 or 16 to 40 bytes. */
  readonly cookie: Buffer | undefined;
}

export interface Query {
  readonly id: number;
  readonly recursionDesired: boolean;
  /** The question as it came, in the letter case that the client chose (it may check that). */
  readonly question: Uint8Array;
  /** Lower case, without the last dot; dots inside a label are escaped. The root is ''. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly edns: Edns | undefined;
  /** Where the TSIG record begins, which signs the message (RFC 8945). */
  readonly tsigAt: number | undefined;
}

/** A message that gets an answer, and no more than a code. */
export interface Unreadable {
  readonly id: number;
  readonly opcode: number;
  readonly recursionDesired: boolean;
  readonly rcode: number;
}

export const rcodes = {
  ok: 0,
  formatError: 1,
  serverFailure: 2,
  nameError: 3,
  notImplemented: 4,
  refused: 5,
  badVersion: 16,
  notAuthoritative: 9,
  badCookie: 23,
};

export const HEADER_LENGTH = 12;
const OPT = 41;
const TSIG = 250;
const COOKIE = 10;
/** Names on the wire (RFC 1035 2.3.4). */
const LONGEST_NAME = 255;
/** A query has none but OPT, and TSIG at times. */
const MOST_RECORDS = 4;

/** Undefined: no query at all, such as an answer, which must never be answered. */
export function readQuery(message: Buffer): Query | Unreadable | undefined {
  if (message.length < HEADER_LENGTH) return undefined;
  const flags = message.readUInt16BE(2);
  if (flags & 0x8000) return undefined;
  const opcode = (flags >> 11) & 0xf;
  const head = { id: message.readUInt16BE(0), recursionDesired: (flags & 0x0100) !== 0 };
  if (opcode !== 0) return { ...head, opcode, rcode: rcodes.notImplemented };
  return readBody(message, head) ?? { ...head, opcode, rcode: rcodes.formatError };
}

function readBody(message: Buffer, head: Pick<Query, 'id' | 'recursionDesired'>): Query | undefined {
  if (message.readUInt16BE(4) !== 1) return undefined;
  const found = readName(message);
  if (found === undefined || found.end + 4 > message.length) return undefined;
  const further = readFurther(message, found.end + 4);
  if (further === 'malformed') return undefined;
  return {
    ...head,
    question: message.subarray(HEADER_LENGTH, found.end + 4),
    name: found.name,
    type: message.readUInt16BE(found.end),
    class: message.readUInt16BE(found.end + 2),
    ...further,
  };
}

/** The name of the question. It is the first in the message, so there is nothing that it could point to. */
function readName(message: Buffer): { name: string; end: number } | undefined {
  const labels: string[] = [];
  let at = HEADER_LENGTH;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63) return undefined;
    at += 1;
    if (length === 0) break;
    if (at + length > message.length || at + length - HEADER_LENGTH >= LONGEST_NAME) return undefined;
    labels.push(labelText(message, at, length));
    at += length;
  }
  return { name: labels.join('.'), end: at };
}

/** ASCII letters fold (RFC 4343); no other byte does. */
function labelText(message: Buffer, at: number, length: number): string {
  const text = message.toString('latin1', at, at + length).replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return text.includes('.') || text.includes('\\') ? text.replace(/[.\\]/g, '\\$&') : text;
}

/** What comes behind the question. */
function readFurther(message: Buffer, from: number): Pick<Query, 'edns' | 'tsigAt'> | 'malformed' {
  const before = message.readUInt16BE(6) + message.readUInt16BE(8);
  const count = before + message.readUInt16BE(10);
  if (count > MOST_RECORDS) return 'malformed';
  let edns: Edns | undefined;
  let tsigAt: number | undefined;
  let at = from;
  for (let index = 0; index < count; index += 1) {
    const fixed = skipName(message, at);
    if (fixed === undefined || fixed + 10 > message.length) return 'malformed';
    const end = fixed + 10 + message.readUInt16BE(fixed + 8);
    if (end > message.length) return 'malformed';
    const type = message.readUInt16BE(fixed);
    if (type === TSIG) {
      // RFC 8945 5.1: the last of the message.
      if (index < before || index + 1 < count || end !== message.length) return 'malformed';
      tsigAt = at;
    }
    if (type === OPT) {
      // RFC 6891 6.1.1: one, of the root, in the additional section.
      if (edns !== undefined || fixed !== at + 1 || index < before) return 'malformed';
      const cookie = readCookie(message, fixed + 10, end);
      if (cookie === 'malformed') return 'malformed';
      edns = {
        udpSize: message.readUInt16BE(fixed + 2),
        version: message.readUInt8(fixed + 5),
        wantsDnssec: (message.readUInt16BE(fixed + 6) & 0x8000) !== 0,
        cookie,
      };
    }
    at = end;
  }
  return { edns, tsigAt };
}

/** Where the TSIG record of any message begins: the last one of it. */
export function findTsig(message: Buffer): number | undefined {
  let at: number | undefined = HEADER_LENGTH;
  for (let left = message.readUInt16BE(4); left > 0 && at !== undefined; left -= 1) {
    const end = skipName(message, at);
    at = end === undefined ? undefined : end + 4;
  }
  let last: number | undefined;
  const records = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10);
  for (let left = records; left > 0 && at !== undefined; left -= 1) {
    const fixed = skipName(message, at);
    if (fixed === undefined || fixed + 10 > message.length) return undefined;
    last = message.readUInt16BE(fixed) === TSIG ? at : undefined;
    at = fixed + 10 + message.readUInt16BE(fixed + 8);
  }
  return last;
}

/** Of several the first counts, and one of another length than is allowed is an error (RFC 7873 5.2). */
function readCookie(message: Buffer, from: number, end: number): Buffer | undefined | 'malformed' {
  for (let at = from; at < end; ) {
    if (at + 4 > end) return 'malformed';
    const length = message.readUInt16BE(at + 2);
    const next = at + 4 + length;
    if (next > end) return 'malformed';
    if (message.readUInt16BE(at) === COOKIE) {
      const isAllowed = length === 8 || (length >= 16 && length <= 40);
      return isAllowed ? message.subarray(at + 4, next) : 'malformed';
    }
    at = next;
  }
  return undefined;
}

/** The offset behind a name; a pointer ends it and is not followed. */
function skipName(message: Buffer, from: number): number | undefined {
  for (let at = from; at - from < LONGEST_NAME; ) {
    const length = message[at];
    if (length === undefined) return undefined;
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2;
    if (length > 63) return undefined;
    at += 1 + length;
  }
  return undefined;
}
