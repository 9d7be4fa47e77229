import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';

/** A request that a fake upstream received, as it was sent. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; undefined for a body that is none. */
  readonly body: unknown;
  /** Resolves once the connection of this request is gone: `client` when the caller closed it before the answer ended. */
  readonly closed: Promise<'client' | 'server'>;
}

/** What every fake upstream offers to a test. */
export interface Upstream<Behaviour> {
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** Sets how requests are answered from now on: one for all, or one each in turn, the last then repeating. */
  respondWith(behaviour: Behaviour | readonly Behaviour[]): void;
  openConnections(): number;
  /** Resolves when the given number of requests has arrived. */
  waitForRequests(count: number): Promise<void>;
  close(): Promise<void>;
}

/** One exchange, as a fake's dialect sees it. */
export interface Exchange {
  readonly body: unknown;
  readonly response: ServerResponse;
  /** Waits, but no longer than the caller stays connected. False: the caller has gone. */
  pause(ms: number): Promise<boolean>;
  /** Holds the connection open, silent, until the caller goes. */
  hang(): Promise<void>;
  /** Cuts the connection without ending the answer. */
  destroy(): void;
}

/** A server on loopback whose answers a test scripts. `answer` speaks the dialect; it is called once a request. */
export async function startUpstream<Behaviour>(
  path: string,
  fallback: Behaviour,
  answer: (behaviour: Behaviour, exchange: Exchange) => Promise<void>,
): Promise<Upstream<Behaviour>> {
  let script: readonly Behaviour[] = [fallback];
  const requests: RecordedRequest[] = [];
  const sockets = new Set<Socket>();
  const waiting = new Set<{ count: number; resolve: () => void }>();

  const server = createServer(async (request, response) => {
    const [behaviour = fallback, ...rest] = script;
    if (rest.length > 0) script = rest;
    const exchange = openExchange(response);
    const body = await readBody(request);
    requests.push({
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
      closed: exchange.closed,
    });
    for (const each of waiting) if (requests.length >= each.count) each.resolve();
    await answer(behaviour, { ...exchange, body });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await listen(server);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The fake upstream has no port.');

  return {
    url: `http://127.0.0.1:${address.port}${path}`,
    requests,
    respondWith(behaviour) {
      script = isScript(behaviour) ? behaviour : [behaviour];
    },
    openConnections: () => sockets.size,
    async waitForRequests(count) {
      if (requests.length >= count) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add({ count, resolve });
      await promise;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function isScript<Behaviour>(value: Behaviour | readonly Behaviour[]): value is readonly Behaviour[] {
  return Array.isArray(value);
}

function openExchange(response: ServerResponse) {
  const gone = new AbortController();
  const { promise: closed, resolve } = Promise.withResolvers<'client' | 'server'>();
  let destroyedHere = false;
  response.once('close', () => {
    resolve(response.writableFinished || destroyedHere ? 'server' : 'client');
    gone.abort();
  });
  const pause = async (ms: number): Promise<boolean> => {
    if (gone.signal.aborted) return false;
    if (ms <= 0) return true;
    return new Promise((done) => {
      const timer = setTimeout(() => finish(true), ms);
      const onGone = () => finish(false);
      const finish = (present: boolean) => {
        clearTimeout(timer);
        gone.signal.removeEventListener('abort', onGone);
        done(present);
      };
      gone.signal.addEventListener('abort', onGone, { once: true });
    });
  };
  return {
    response,
    closed,
    pause,
    async hang() {
      await closed;
    },
    destroy() {
      destroyedHere = true;
      response.destroy();
    },
  };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}

/** The behaviours that do not depend on the dialect: errors, silence and broken connections. */
export type FaultBehaviour =
  | {
      readonly type: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Sent as it is; an error object of the dialect when absent. */
      readonly body?: unknown;
    }
  | { readonly type: 'hang_before_headers' }
  /** An answer of this media type and text with status 200. */
  | { readonly type: 'garbage'; readonly contentType?: string; readonly text?: string };

/** Answers a dialect-free behaviour. */
export async function answerFault(behaviour: FaultBehaviour, exchange: Exchange, errorBody: unknown): Promise<void> {
  const { response } = exchange;
  switch (behaviour.type) {
    case 'status': {
      const headers = { 'content-type': 'application/json', ...behaviour.headers };
      response.writeHead(behaviour.status, headers).end(JSON.stringify(behaviour.body ?? errorBody));
      return;
    }
    case 'hang_before_headers':
      return exchange.hang();
    case 'garbage': {
      const headers = { 'content-type': behaviour.contentType ?? 'text/event-stream' };
      response.writeHead(200, headers).end(behaviour.text ?? 'data: {this is no JSON\n\n');
      return;
    }
  }
}

export function openEventStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
}
