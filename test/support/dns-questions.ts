/** Questions to a nameserver on loopback, as messages: for what `dig` does not send or does not show. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type DecodedPacket, decode, encode, type Packet, type RecordType } from 'dns-packet';

/** What lets a question through is an answer; on loopback it comes at once. */
const TIMEOUT_MS = 5_000;
export const QUESTION_ID = 7;

export interface DnsReply extends DecodedPacket {
  readonly bytes: Buffer;
  /** The lower four bits: EDNS has the others. */
  readonly rcode: number;
  readonly isAuthoritative: boolean;
  readonly isTruncated: boolean;
}

export function question(name: string, type: RecordType | 'ANY', extra: Packet = {}): Buffer {
  // The library writes ANY; its types do not list it.
  return encode({ type: 'query', id: QUESTION_ID, questions: [{ name, type: type as RecordType }], ...extra });
}

/** For `extra` of a question. */
export function edns(udpPayloadSize: number, ednsVersion = 0): Packet {
  const fixed = { extendedRcode: 0, flags: 0, flag_do: false, options: [] };
  return { additionals: [{ type: 'OPT', name: '.', udpPayloadSize, ednsVersion, ...fixed }] };
}

/** Sends a message by UDP; the answer. Rejects where none comes. */
export async function askDns(port: number, message: Buffer): Promise<DnsReply> {
  const socket = createSocket('udp4');
  try {
    socket.send(message, port, '127.0.0.1');
    const [bytes] = (await once(socket, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) })) as [Buffer];
    return readReply(bytes);
  } finally {
    socket.close();
  }
}

export function readReply(bytes: Buffer): DnsReply {
  const flags = bytes.readUInt16BE(2);
  const read = { rcode: flags & 0xf, isAuthoritative: (flags & 0x0400) !== 0, isTruncated: (flags & 0x0200) !== 0 };
  return { ...decode(bytes), ...read, bytes };
}
