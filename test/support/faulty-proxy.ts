/** A proxy on loopback that harms chosen requests before or after the server behind it has carried them out. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/**
 * `refuse`: answers with this status and text, and the server never hears of it. `cut`: the server carries it out, and the
 * connection ends without an answer. `hang`: as `cut`, but the connection stays, silent.
 */
export type ProxyFault =
  | { readonly kind: 'refuse'; readonly status: number; readonly text?: string }
  | { readonly kind: 'cut' }
  | { readonly kind: 'hang' };

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
}

export interface FaultyProxy {
  readonly url: string;
  /** Every request, in the order of arrival. */
  readonly requests: readonly ProxiedRequest[];
  /** The most requests of these methods that were under way at a time. */
  mostAtOnce(...methods: string[]): number;
  /** Resolves when a request of this method arrives. */
  waitFor(method: string): Promise<void>;
  /** Decides on each request from now on; undefined lets it pass. */
  harm(decide: (request: ProxiedRequest) => ProxyFault | undefined): void;
  close(): Promise<void>;
}

export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const requests: ProxiedRequest[] = [];
  const underWay = new Map<string, { now: number; most: number }>();
  const arrivals = new EventEmitter();
  let decide: (request: ProxiedRequest) => ProxyFault | undefined = () => undefined;

  const server = createServer(async (request, response) => {
    const { method = '', url: path = '' } = request;
    const count = underWay.get(method) ?? { now: 0, most: 0 };
    underWay.set(method, count);
    count.now += 1;
    count.most = Math.max(count.most, count.now);
    response.once('close', () => {
      count.now -= 1;
    });
    requests.push({ method, path });
    arrivals.emit(method);
    await answer(target, request, response, decide({ method, path }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');

  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    mostAtOnce: (...methods) => Math.max(0, ...methods.map((method) => underWay.get(method)?.most ?? 0)),
    async waitFor(method) {
      await once(arrivals, method);
    },
    harm(next) {
      decide = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  fault: ProxyFault | undefined,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  if (fault?.kind === 'refuse') {
    response.writeHead(fault.status).end(fault.text ?? '');
    return;
  }
  try {
    const upstream = await fetch(target + (request.url ?? ''), {
      method: request.method ?? 'GET',
      headers: { 'x-api-key': String(request.headers['x-api-key'] ?? '') },
      redirect: 'manual',
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    const body = await upstream.text();
    if (fault?.kind === 'cut') response.destroy();
    if (fault === undefined) response.writeHead(upstream.status, { 'content-type': 'application/json' }).end(body);
  } catch {
    // The server is not there: the caller sees what it would see without a proxy.
    response.destroy();
  }
}
