/** Answers as messages: names compressed (RFC 1035 4.1.4), truncated to what the client accepts. */
import type { PlacedSet, ZoneAnswer } from './answer-query.ts';
import { types } from './encode-set.ts';
import { HEADER_LENGTH, type Query, type Unreadable } from './read-query.ts';
import { parentOf } from './zone-tree.ts';

/** Larger datagrams are broken up on the way, and lost there at times (dnsflagday.net/2020). */
const UDP_LIMIT = 1_232;
const UDP_LIMIT_WITHOUT_EDNS = 512;
const TCP_LIMIT = 65_535;
const OPT_LENGTH = 11;
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
  return { rcode, isAuthoritative: false, answers: [], authorities: [], glue: [] };
}

/** What does not fit is left out and TC is set: the client then repeats the query by TCP. */
export function writeResponse(query: Query, answer: ZoneAnswer, transport: Transport): Buffer {
  const limit = limitOf(query, transport) - (query.edns === undefined ? 0 : OPT_LENGTH);
  const whole = new MessageWriter(query, limit);
  const sections = [answer.answers, answer.authorities, answer.glue];
  const counts = sections.map((section) => whole.writeSection(section));
  if (counts.every((count) => count !== undefined)) return finish(query, answer, whole, counts, false);
  return writeTruncated(query, answer, limit);
}

/** The question, with TC: no larger than the query was. */
export function writeTruncated(query: Query, answer: ZoneAnswer, limit = UDP_LIMIT_WITHOUT_EDNS): Buffer {
  return finish(query, answer, new MessageWriter(query, limit), [0, 0, 0], true);
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
  return Buffer.concat([header, ...writer.parts, ...(edns === undefined ? [] : [writeOpt(rcode, edns.wantsDnssec)])]);
}

/** RFC 6891 6.1.2: the size that is taken here, the upper bits of the code, version 0, and DO as it came. */
function writeOpt(rcode: number, wantsDnssec: boolean): Buffer {
  const opt = Buffer.alloc(OPT_LENGTH);
  opt.writeUInt16BE(types.OPT, 1);
  opt.writeUInt16BE(UDP_LIMIT, 3);
  opt.writeUInt8(rcode >> 4, 5);
  opt.writeUInt16BE(wantsDnssec ? 0x8000 : 0, 7);
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
