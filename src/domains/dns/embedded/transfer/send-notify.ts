/** Tells a secondary that a zone has changed (NOTIFY, RFC 1996), and waits for its acknowledgement. */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { findTsig } from '../read-query.ts';
import type { SecondaryOptions } from './secondaries.ts';
import { checkTsig, signRequest, tsigErrors } from './tsig.ts';

export interface NotifyOptions {
  readonly zoneName: string;
  readonly secondary: SecondaryOptions;
  /** What the nameserver listens on: secondaries look at where they are told from. */
  readonly host: string;
  readonly nowSeconds: number;
  readonly timeoutMs: number;
}

const OPCODE_NOTIFY = 4;
const AUTHORITATIVE = 0x0400;
const SOA = 6;

/** Rejects where none comes in time, or one that refuses. */
export async function sendNotify({ zoneName, secondary, host, nowSeconds, timeoutMs }: NotifyOptions): Promise<void> {
  const { address, port, key } = secondary;
  const plain = writeNotify(zoneName);
  const { message, mac } = key === undefined ? { message: plain, mac: undefined } : signRequest(plain, key, nowSeconds);
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    if (isIPv6(address) === isIPv6(host) && host !== '0.0.0.0' && host !== '::') {
      socket.bind(0, host);
      await once(socket, 'listening', { signal });
    }
    socket.connect(port, address);
    await once(socket, 'connect', { signal });
    socket.send(message);
    for (;;) {
      const [answer] = (await once(socket, 'message', { signal })) as [Buffer];
      if (answer.length < 12 || answer.readUInt16BE(0) !== message.readUInt16BE(0)) continue;
      const flags = answer.readUInt16BE(2);
      if ((flags & 0x8000) === 0 || ((flags >> 11) & 0xf) !== OPCODE_NOTIFY) continue;
      if (key !== undefined) {
        const at = findTsig(answer);
        const checked = at === undefined ? undefined : checkTsig(answer, at, [key], nowSeconds, mac);
        if (checked?.error !== tsigErrors.none) throw new Error(`${address} answered without a valid signature`);
      }
      if ((flags & 0xf) !== 0) throw new Error(`${address} answered with the code ${flags & 0xf}`);
      return;
    }
  } finally {
    socket.close();
  }
}

function writeNotify(zoneName: string): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(randomInt(0x10000), 0);
  header.writeUInt16BE((OPCODE_NOTIFY << 11) | AUTHORITATIVE, 2);
  header.writeUInt16BE(1, 4);
  const labels = zoneName.split('.').map((label) => String.fromCharCode(label.length) + label);
  const question = Buffer.from(`${labels.join('')}\0\0${String.fromCharCode(SOA)}\0\u0001`, 'latin1');
  return Buffer.concat([header, question]);
}
