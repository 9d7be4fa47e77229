/** A receiver of webhooks on loopback that keeps what it was sent. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  /** As it came. */
  readonly body: string;
}

export interface Endpoint {
  readonly url: string;
  readonly received: readonly Received[];
  /** From now on. Default: 200. */
  answerWith(status: number, headers?: Record<string, string>): void;
  /** The next that was not asked for before; waits for it. */
  next(): Promise<Received>;
  close(): Promise<void>;
}

const PATIENCE_MS = 120_000;

export async function openEndpoint(): Promise<Endpoint> {
  const received: Received[] = [];
  const waiting: ((one: Received) => void)[] = [];
  let shown = 0;
  let answer: { status: number; headers: Record<string, string> } = { status: 200, headers: {} };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const one = { headers: request.headers, body: Buffer.concat(chunks).toString('utf8') };
    received.push(one);
    const waiter = waiting.shift();
    if (waiter !== undefined) {
      shown += 1;
      waiter(one);
    }
    response.writeHead(answer.status, answer.headers).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answerWith(status, headers = {}) {
      answer = { status, headers };
    },
    next() {
      const one = received[shown];
      if (one !== undefined) {
        shown += 1;
        return Promise.resolve(one);
      }
      const { promise, resolve, reject } = Promise.withResolvers<Received>();
      const late = setTimeout(() => reject(new Error('nothing was delivered')), PATIENCE_MS);
      waiting.push((next) => {
        clearTimeout(late);
        resolve(next);
      });
      return promise;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
