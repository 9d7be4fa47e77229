/** One message to a secondary by UDP, and its answer, both under the key that we share with it. */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { abortAfter } from '../../../../kernel/clock/timers.ts';
import { findTsig } from '../read-query.ts';
import type { SecondaryOptions } from './secondaries.ts';
import { checkTsig, signRequest, tsigErrors } from './tsig.ts';

interface Question {
  readonly opcode: number;
  /** Without the opcode. */
  readonly flags: number;
  readonly name: string;
  readonly type: number;
}

export interface AskOptions {
  readonly secondary: SecondaryOptions;
  /** What the nameserver listens on: secondaries look at where they are told from. */
  readonly host: string;
  readonly nowSeconds: number;
  readonly timeoutMs: number;
}

/** The code of the answer. Rejects where none comes in time, or one that is not signed as it has to be. */
export async function askSecondary(
  question: Question,
  { host, nowSeconds, secondary, timeoutMs }: AskOptions,
): Promise<number> {
  const { address, port, key } = secondary;
  const plain = writeQuestion(question);
  const { message, mac } = key === undefined ? { message: plain, mac: undefined } : signRequest(plain, key, nowSeconds);
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const signal = abortAfter(timeoutMs);
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
      if ((flags & 0x8000) === 0 || ((flags >> 11) & 0xf) !== question.opcode) continue;
      if (key !== undefined) {
        const at = findTsig(answer);
        const checked = at === undefined ? undefined : checkTsig(answer, at, [key], nowSeconds, mac);
        if (checked?.error !== tsigErrors.none) throw new Error(`${address} answered without a valid signature`);
      }
      return flags & 0xf;
    }
  } finally {
    socket.close();
  }
}

function writeQuestion({ flags, name, opcode, type }: Question): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(randomInt(0x10000), 0);
  header.writeUInt16BE((opcode << 11) | flags, 2);
  header.writeUInt16BE(1, 4);
  const labels = name.split('.').map((label) => String.fromCharCode(label.length) + label);
  const question = Buffer.from(`${labels.join('')}\0\0${String.fromCharCode(type)}\0\u0001`, 'latin1');
  return Buffer.concat([header, question]);
}
