/** Answers as messages: names compressed (RFC 1035 4.1.4), truncated to what the client accepts. */
import type { PlacedSet, ZoneAnswer } from './answer-query.ts';
import { types } from './encode-set.ts';
import { HEADER_LENGTH, type Query, rcodes, type Unreadable } from './read-query.ts';
import { parentOf } from './zone-tree.ts';

/** Larger datagrams are broken up on the way, and lost there at times (dnsflagday.net/2020). */
const UDP_LIMIT = 1_232;
const UDP_LIMIT_WITHOUT_EDNS = 512;
const TCP_LIMIT = 65_535;
const OPT_LENGTH = 11;
const COOKIE = 10;
const OPTION_HEAD_LENGTH = 4;
/** Two bytes of a pointer hold an offset up to here. */
const POINTER_LIMIT = 0x4000;

export type Transport = 'udp' | 'tcp';

/** To a message that could not be read: header and code. */
export function writeRefusal({ id, opcode, recursionDesired, rcode }: Unreadable): Buffer {
  const message = Buffer.alloc(HEADER_LENGTH);
  message.writeUInt16BE(id, 0);
  message.writeUInt16BE(0x8000 | (opcode << 11) | (recursionDesired ? 0x0100 : 0) | rcode, 2);
  return message;
}

/** A code and nothing else. */
export function codeOnly(rcode: number): ZoneAnswer {
  return { rcode, isAuthoritative: false, answers: [], authorities: [], glue: [], rateName: '' };
}

/** What does not fit is left out and TC is set: the client then repeats the query by TCP. `cookie` is what its OPT record tells. */
export function writeResponse(query: Query, answer: ZoneAnswer, transport: Transport, cookie?: Buffer): Buffer {
  const limit = limitOf(query, transport) - optLength(query, cookie);
  const whole = new MessageWriter(query, limit);
  const sections = [answer.answers, answer.authorities, answer.glue];
  const counts = sections.map((section) => whole.writeSection(section));
  if (counts.every((count) => count !== undefined)) return finish(query, answer, whole, counts, false, cookie);
  return writeTruncated(query, answer, cookie, limit);
}

/** One answer in as many messages as it takes, each below `limit` or of a single record. */
export function writeSections(query: Query, records: readonly PlacedSet[], limit: number): Buffer[] {
  const messages: Buffer[] = [];
  const answer = { ...codeOnly(rcodes.ok), isAuthoritative: true };
  let writer = new MessageWriter(query, TCP_LIMIT);
  let count = 0;
  const end = () => messages.push(finish(query, answer, writer, [count, 0, 0], false, undefined));
  for (const record of records) {
    if (count > 0 && !writer.hasRoomFor(record, limit)) {
      end();
      writer = new MessageWriter(query, TCP_LIMIT);
      count = 0;
    }
    count += writer.writeSection([record]) ?? 0;
  }
  end();
  return messages;
}

/** The question, with TC: no larger than the query was, but for a server's cookie. */
export function writeTruncated(
  query: Query,
  answer: ZoneAnswer,
  cookie?: Buffer,
  limit = UDP_LIMIT_WITHOUT_EDNS,
): Buffer {
  return finish(query, answer, new MessageWriter(query, limit), [0, 0, 0], true, cookie);
}

function optLength({ edns }: Query, cookie: Buffer | undefined): number {
  if (edns === undefined) return 0;
  return OPT_LENGTH + (cookie === undefined ? 0 : OPTION_HEAD_LENGTH + cookie.length);
}

function limitOf({ edns }: Query, transport: Transport): number {
  if (transport === 'tcp') return TCP_LIMIT;
  if (edns === undefined) return UDP_LIMIT_WITHOUT_EDNS;
  return Math.min(Math.max(edns.udpSize, UDP_LIMIT_WITHOUT_EDNS), UDP_LIMIT);
}

function finish(
  query: Query,
  { rcode, isAuthoritative }: ZoneAnswer,
  writer: MessageWriter,
  [answers = 0, authorities = 0, additionals = 0]: readonly number[],
  isTruncated: boolean,
  cookie: Buffer | undefined,
): Buffer {
  const { edns } = query;
  const header = Buffer.alloc(HEADER_LENGTH);
  const flags = (isAuthoritative ? 0x0400 : 0) | (isTruncated ? 0x0200 : 0) | (query.recursionDesired ? 0x0100 : 0);
  header.writeUInt16BE(query.id, 0);
  header.writeUInt16BE(0x8000 | flags | (rcode & 0xf), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers, 6);
  header.writeUInt16BE(authorities, 8);
  header.writeUInt16BE(additionals + (edns === undefined ? 0 : 1), 10);
  return Buffer.concat([
    header,
    ...writer.parts,
    ...(edns === undefined ? [] : [writeOpt(query, rcode, edns.wantsDnssec, cookie)]),
  ]);
}

/** RFC 6891 6.1.2: the size that is taken here, the upper bits of the code, version 0, and DO as it came. */
function writeOpt(query: Query, rcode: number, wantsDnssec: boolean, cookie: Buffer | undefined): Buffer {
  const opt = Buffer.alloc(optLength(query, cookie));
  opt.writeUInt16BE(types.OPT, 1);
  opt.writeUInt16BE(UDP_LIMIT, 3);
  opt.writeUInt8(rcode >> 4, 5);
  opt.writeUInt16BE(wantsDnssec ? 0x8000 : 0, 7);
  if (cookie === undefined) return opt;
  opt.writeUInt16BE(OPTION_HEAD_LENGTH + cookie.length, 9);
  opt.writeUInt16BE(COOKIE, OPT_LENGTH);
  opt.writeUInt16BE(cookie.length, OPT_LENGTH + 2);
  opt.set(cookie, OPT_LENGTH + OPTION_HEAD_LENGTH);
  return opt;
}

class MessageWriter {
  readonly parts: Uint8Array[];
  readonly #limit: number;
  readonly #offsets = new Map<string, number>();
  #length: number;

  constructor(query: Query, limit: number) {
    this.parts = [query.question];
    this.#limit = limit;
    this.#length = HEADER_LENGTH + query.question.length;
    let offset = HEADER_LENGTH;
    for (let name = query.name; name !== ''; name = parentOf(name)) {
      this.#offsets.set(name, offset);
      offset += 1 + (query.question[offset - HEADER_LENGTH] ?? 0);
    }
  }

  /** Whether it fits, whatever of its name is there already. */
  hasRoomFor({ owner, set }: PlacedSet, limit: number): boolean {
    return this.#length + owner.length + 2 + set.size <= limit;
  }

  /** The number of records; undefined when they do not all fit. */
  writeSection(sets: readonly PlacedSet[]): number | undefined {
    let count = 0;
    for (const { owner, set } of sets) {
      for (const record of set.records) {
        this.#writeName(owner);
        this.#push(record);
        if (this.#length > this.#limit) return undefined;
      }
      count += set.records.length;
    }
    return count;
  }

  #writeName(name: string): void {
    const labels: string[] = [];
    for (let rest = name; ; rest = parentOf(rest)) {
      const offset = this.#offsets.get(rest);
      if (rest === '' || offset !== undefined) {
        this.#push(
          Buffer.concat([...labels.map(writeLabel), offset === undefined ? Buffer.alloc(1) : pointTo(offset)]),
        );
        return;
      }
      const at = this.#length + labels.reduce((sum, label) => sum + 1 + label.length, 0);
      if (at < POINTER_LIMIT) this.#offsets.set(rest, at);
      labels.push(rest.slice(0, rest.length - parentOf(rest).length).replace(/\.$/, ''));
    }
  }

  #push(part: Uint8Array): void {
    this.parts.push(part);
    this.#length += part.length;
  }
}

function writeLabel(label: string): Buffer {
  return Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1');
}

function pointTo(offset: number): Buffer {
  return Buffer.from([0xc0 | (offset >> 8), offset & 0xff]);
}

export function isReadable(read: Query | Unreadable): read is Query {
  return 'question' in read;
}
