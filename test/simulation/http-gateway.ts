/** Stands between one replica and an HTTP server that a package calls with sockets of its own: each request is an effect. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Effects } from './effects.ts';

export interface HttpGateway {
  readonly url: string;
  close(): Promise<void>;
}

/** `describe`: the label of a request, without what a run makes anew. */
export async function openHttpGateway(
  targetUrl: string,
  effects: Effects,
  describe: (method: string, path: string) => string,
): Promise<HttpGateway> {
  const server = createServer((asked, answer) => {
    passOn(asked, answer).catch(() => asked.socket.destroy());
  });
  const passOn = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const body = await readAll(asked);
    effects.leaveTransit();
    try {
      const method = asked.method ?? 'GET';
      const label = describe(method, asked.url ?? '/');
      const isChange = method !== 'GET';
      const reply = await effects.perform({ label, isChange }, () => send(targetUrl, asked, body));
      answer.writeHead(reply.status, reply.headers);
      answer.end(reply.body);
    } finally {
      effects.enterTransit();
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  effects.onCrash(() => server.closeAllConnections());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

function send(targetUrl: string, asked: IncomingMessage, body: Buffer): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const { headers, method, url = '/' } = asked;
  const sent = request(new URL(url, targetUrl), { method, headers, agent: false }, (response) => {
    readAll(response).then(
      (read) => resolve({ status: response.statusCode ?? 502, headers: response.headers, body: read }),
      reject,
    );
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}
