/**
 * WebSockets on the server's port. An upgrade goes through routing, checks and handler as any request does, and whatever
 * refuses it answers over HTTP; the connection is upgraded once the handler has returned its session.
 *
 *   upgrade ─▶ checks ─▶ handler ─▶ 101 ─▶ session ─▶ closed
 *                └─────────┴──▶ HTTP refusal
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { setTimer } from '../clock/timers.ts';
import { ApiError } from './errors.ts';
import { nodeHttp } from './node-http.ts';
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  GOING_AWAY,
  INTERNAL_ERROR,
  SocketConnection,
  type SocketRules,
  type SocketSession,
} from './socket.ts';

/** How long sessions may take to end when the server closes. */
const CLOSING_GRACE_MS = 1_000;

/** A connection that asks to be upgraded. */
interface Upgrade {
  readonly socket: Socket;
  /** What came behind the request already. */
  readonly head: Buffer;
  readonly response: ServerResponse;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Whether a request is one for a WebSocket. Any other upgrade is ignored, as HTTP allows: `curl --http2` asks for `h2c` with
 * ordinary requests. Node before 24.9 does not ask, and hands over every upgrade.
 */
export function isSocketUpgrade({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

/** Opens the connections of one operation. */
export type SocketOpener = (request: FastifyRequest, reply: FastifyReply, session: SocketSession) => Promise<void>;

export interface Sockets {
  /** Prepares for connections under these rules. */
  opener(rules: SocketRules): SocketOpener;
}

/** Routes upgrades as requests, and closes what is open when the server closes. */
export function serveSockets(app: FastifyInstance): Sockets {
  const running = new Map<SocketConnection, Promise<void>>();
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const response = new nodeHttp.ServerResponse(request);
    response.shouldKeepAlive = false;
    socket.on('error', () => socket.destroy());
    try {
      response.assignSocket(socket);
    } catch {
      // An earlier request of the connection is not answered yet, and nothing more can be read behind it.
      socket.destroy();
      return;
    }
    response.once('finish', () => socket.end());
    upgrades.set(request, { socket, head, response });
    app.routing(request, response);
  });
  app.addHook('preClose', async () => {
    const grace = Promise.withResolvers<void>();
    const timer = setTimer(grace.resolve, CLOSING_GRACE_MS, { keepsProcess: true });
    for (const connection of running.keys()) connection.close(GOING_AWAY, 'the server closes');
    await Promise.race([Promise.all(running.values()), grace.promise]);
    timer.cancel();
  });

  async function run(request: FastifyRequest, connection: SocketConnection, session: SocketSession): Promise<void> {
    const startedMs = performance.now();
    try {
      await session(connection);
      connection.close();
    } catch (error) {
      request.log.error({ err: error }, 'socket session failed');
      connection.close(INTERNAL_ERROR);
    }
    await connection.ended();
    const ms = Math.round(performance.now() - startedMs);
    request.log.info({ operation: request.state.operation?.id, ms }, 'socket closed');
  }

  return {
    opener(rules) {
      const server = new WebSocketServer({
        noServer: true,
        clientTracking: false,
        // A context of its own for each connection costs far more memory than small messages are worth.
        perMessageDeflate: false,
        maxPayload: rules.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
        handleProtocols: (offered) => rules.protocols?.find((one) => offered.has(one)) ?? false,
      });
      server.on('wsClientError', (_error, socket) => socket.destroy());
      const headersOf = new WeakMap<IncomingMessage, Readonly<Record<string, string>>>();
      server.on('headers', (lines, request) => {
        for (const [name, value] of Object.entries(headersOf.get(request) ?? {})) lines.push(`${name}: ${value}`);
      });
      return async (request, reply, session) => {
        const upgrade = upgrades.get(request.raw);
        // It left while the handler ran.
        if (upgrade === undefined || upgrade.socket.destroyed) return;
        reply.hijack();
        upgrades.delete(request.raw);
        upgrade.response.detachSocket(upgrade.socket);
        headersOf.set(request.raw, request.state.headers);
        const connection = await new Promise<SocketConnection | undefined>((resolve) => {
          upgrade.socket.once('close', () => resolve(undefined));
          // At once: messages may lie behind the request already.
          const connect = (socket: WebSocket) => resolve(new SocketConnection(socket, rules));
          server.handleUpgrade(request.raw, upgrade.socket, upgrade.head, connect);
        });
        if (connection === undefined) return;
        const ended = run(request, connection, session);
        running.set(connection, ended);
        ended.finally(() => running.delete(connection));
      };
    },
  };
}

/** Throws the refusal of a request that cannot become a WebSocket of this operation. */
export function checkUpgrade({ raw, headers }: FastifyRequest, { origins }: SocketRules): void {
  if (!upgrades.has(raw)) {
    throw new ApiError('invalid_request', {
      status: 426,
      param: 'Upgrade',
      message: 'This is a WebSocket. Connect to it with a WebSocket client.',
      headers: { upgrade: 'websocket' },
    });
  }
  if (headers['sec-websocket-version'] !== '13') {
    throw new ApiError('invalid_request', {
      status: 426,
      param: 'Sec-WebSocket-Version',
      message: 'Version 13 of the WebSocket protocol is served, and no other.',
      headers: { 'sec-websocket-version': '13' },
    });
  }
  if (!/^[+/0-9A-Za-z]{22}==$/.test(String(headers['sec-websocket-key'] ?? ''))) {
    throw new ApiError('invalid_request', {
      status: 400,
      param: 'Sec-WebSocket-Key',
      message: 'Sec-WebSocket-Key must be 16 random bytes in base64.',
    });
  }
  const { origin } = headers;
  if (origins !== undefined && origin !== undefined && !origins.includes(origin)) {
    throw new ApiError('invalid_request', {
      status: 403,
      param: 'Origin',
      message: 'Pages of this origin may not connect here.',
    });
  }
}
