/** UDP and TCP on one port: messages in, messages out. TCP as RFC 7766: several queries on a connection, answered as they are ready. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, isIPv6, type Server, type Socket } from 'node:net';
import { setTimer } from '../../../kernel/clock/timers.ts';
import type { ConnectionTable, Place } from './guard/connection-table.ts';

export interface Listeners {
  readonly port: number;
  close(): Promise<void>;
}

/** Undefined: no answer. Several messages: one, as that of a transfer of a zone, and only by TCP. */
type Reply = Buffer | readonly Buffer[] | undefined;
export type AnswerMessage = (message: Buffer, address: string) => Reply | Promise<Reply>;

export interface ListenOptions {
  readonly host: string;
  /** 0: any that is free for both. */
  readonly port: number;
  readonly answerUdp: AnswerMessage;
  readonly answerTcp: AnswerMessage;
  readonly onError: (error: unknown) => void;
  /** A connection that sends no whole query for so long is closed. Default 5,000. */
  readonly idleTimeoutMs?: number;
  readonly connectionTable: ConnectionTable;
}

/** Queries are far smaller. */
const LONGEST_QUERY = 4_096;
/** Bytes of answers that wait for a client that does not read. */
const LONGEST_BACKLOG = 256 * 1024;
/** Queries of a connection that are being answered at a time. */
const PIPELINE_LIMIT = 32;
const PORT_TRIES = 10;

/** Rejects when the port is taken. */
export async function listen(options: ListenOptions): Promise<Listeners> {
  for (let attempt = 1; ; attempt += 1) {
    const tcp = await listenTcp(options);
    const { port } = tcp.server.address() as AddressInfo;
    try {
      const udp = await listenUdp(options, port);
      return {
        port,
        async close() {
          await Promise.all([new Promise<void>((resolve) => udp.close(resolve)), tcp.close()]);
        },
      };
    } catch (error) {
      await tcp.close();
      // Any port that was free for TCP may be taken for UDP: then another is.
      if (options.port !== 0 || attempt >= PORT_TRIES) throw error;
    }
  }
}

async function listenUdp({ host, answerUdp, onError }: ListenOptions, port: number): Promise<UdpSocket> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.bind(port, host);
  await once(socket, 'listening');
  socket.on('error', onError);
  socket.on('message', async (message, from) => {
    try {
      const answer = answerUdp(message, from.address);
      const ready = answer instanceof Promise ? await answer : answer;
      // A sender's port can be any number in a forged packet, also 0.
      if (!Buffer.isBuffer(ready) || from.port === 0) return;
      // A send that fails is not reported: UDP gives no guarantee.
      socket.send(ready, from.port, from.address, () => undefined);
    } catch (error) {
      // Closed meanwhile.
      if (!isNotRunning(error)) onError(error);
    }
  });
  return socket;
}

function isNotRunning(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SOCKET_DGRAM_NOT_RUNNING';
}

async function listenTcp(options: ListenOptions): Promise<{ server: Server; close(): Promise<void> }> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    const place = options.connectionTable.enter(socket.remoteAddress ?? '', () => socket.destroy());
    if (place === undefined) {
      socket.destroy();
      return;
    }
    connections.add(socket);
    socket.on('close', () => {
      connections.delete(socket);
      place.leave();
    });
    serveConnection(socket, place, options);
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  server.on('error', options.onError);
  return {
    server,
    async close() {
      for (const socket of connections) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Each message is preceded by its length in two bytes (RFC 1035 4.2.2). */
function serveConnection(
  socket: Socket,
  place: Place,
  { answerTcp, onError, idleTimeoutMs = 5_000 }: ListenOptions,
): void {
  // From query to query: a client that sends a byte now and then is disconnected too.
  const idle = setTimer(() => socket.destroy(), idleTimeoutMs);
  const address = socket.remoteAddress ?? '';
  let unread: Buffer = Buffer.alloc(0);
  let answering = 0;
  /** Those whose answers are being written are among them. */
  let unanswered = 0;
  socket.on('error', () => socket.destroy());
  socket.on('close', () => idle.cancel());
  socket.setNoDelay(true);
  const readNext = (): void => {
    while (answering < PIPELINE_LIMIT && unread.length >= 2 && !socket.destroyed) {
      const length = unread.readUInt16BE(0);
      if (length > LONGEST_QUERY || length === 0) {
        socket.destroy();
        return;
      }
      if (unread.length < 2 + length) break;
      const message = unread.subarray(2, 2 + length);
      unread = unread.subarray(2 + length);
      idle.restart();
      answering += 1;
      unanswered += 1;
      place.setBusy();
      answerOne(message)
        .catch((error: unknown) => {
          onError(error);
          socket.destroy();
        })
        .finally(() => {
          unanswered -= 1;
          if (unanswered === 0) place.setIdle();
        });
    }
    if (answering >= PIPELINE_LIMIT) socket.pause();
    else socket.resume();
  };
  const answerOne = async (message: Buffer): Promise<void> => {
    const answer = await answerTcp(message, address);
    answering -= 1;
    // What is no query is no reason to keep the connection.
    if (answer === undefined || socket.writableLength > LONGEST_BACKLOG) socket.destroy();
    if (answer === undefined || socket.destroyed) return;
    for (const part of Buffer.isBuffer(answer) ? [answer] : answer) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(part.length);
      const isTaken = socket.write(Buffer.concat([length, part]));
      if (!isTaken && !Buffer.isBuffer(answer)) await drained(socket);
      if (socket.destroyed) return;
      if (!Buffer.isBuffer(answer)) idle.restart();
    }
    readNext();
  };
  socket.on('data', (bytes: Buffer) => {
    unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes]);
    readNext();
  });
}

/** Resolves too when the connection has ended. */
async function drained(socket: Socket): Promise<void> {
  await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
}
