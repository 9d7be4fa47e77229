/** A resolver on loopback, by UDP and TCP, that answers as a test says. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { type Answer, decode, encode } from 'dns-packet';

export interface ScriptedAnswer {
  readonly answers?: readonly Answer[];
  /** 2 is SERVFAIL, 3 is NXDOMAIN. Default 0. */
  readonly rcode?: number;
  /** By UDP there is only the sign to come by TCP. */
  readonly isLong?: boolean;
}

export interface ScriptedResolver {
  /** With its port, as a resolver is configured. */
  readonly address: string;
  /** `name type` of what was asked, by UDP. */
  readonly asked: string[];
  close(): Promise<void>;
}

export async function openScriptedResolver(
  script: (name: string, type: string) => ScriptedAnswer,
): Promise<ScriptedResolver> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const answer = (bytes: Buffer, isTcp: boolean): Buffer => {
    const { id = 0, questions = [] } = decode(bytes);
    const [question] = questions;
    const name = question?.name.toLowerCase() ?? '';
    if (!isTcp) asked.push(`${name} ${question?.type}`);
    const { answers = [], isLong = false, rcode = 0 } = script(name, question?.type ?? '');
    const isCut = isLong && !isTcp;
    // QR, RD and RA; TC where it is cut.
    const flags = 0x8180 | (isCut ? 0x0200 : 0) | rcode;
    const reply = encode({ type: 'response', id, questions, answers: isCut ? [] : [...answers] });
    reply.writeUInt16BE(flags, 2);
    return reply;
  };
  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.once('data', (bytes: Buffer) => {
      const reply = answer(bytes.subarray(2), true);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      socket.write(Buffer.concat([length, reply]));
    });
  });
  const udp = await listenOnBoth(tcp);
  udp.on('message', (bytes, { address, port }) => udp.send(answer(bytes, false), port, address));
  const { port } = udp.address();
  return {
    address: `127.0.0.1:${port}`,
    asked,
    async close() {
      udp.close();
      for (const socket of sockets) socket.destroy();
      tcp.close();
      await once(tcp, 'close');
    },
  };
}

/** On one port, which is free for UDP and taken for TCP now and then. */
async function listenOnBoth(tcp: Server): Promise<UdpSocket> {
  for (;;) {
    const udp = createSocket('udp4');
    udp.bind(0, '127.0.0.1');
    await once(udp, 'listening');
    tcp.listen(udp.address().port, '127.0.0.1');
    try {
      await once(tcp, 'listening');
      return udp;
    } catch (error) {
      udp.close();
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
