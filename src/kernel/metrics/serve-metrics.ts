/** Metrics on an address of their own, away from the one that clients reach: a page for each service of the process. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { nodeHttp } from '../http/node-http.ts';
import type { Metrics } from './metrics.ts';
import { holdsMetricsToken } from './metrics-token.ts';

export interface MetricsServerOptions {
  readonly host: string;
  readonly port: number;
  /** Without it, whoever asks gets metrics. */
  readonly token: string | undefined;
  /** By the name of the service: `/metrics/<name>`. */
  readonly pages: Readonly<Record<string, Pick<Metrics, 'render' | 'contentType'>>>;
}

export interface MetricsServer {
  /** The one that the system picked where 0 was asked for. */
  readonly port: number;
  close(): Promise<void>;
}

/** A scraper sends a line or two and reads at once: whoever does not is none. */
const REQUEST_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 90_000;
const MAX_CONNECTIONS = 100;

/** Rejects, as `listen` does, when the address cannot be listened on. */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const server = nodeHttp.createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: IDLE_TIMEOUT_MS },
    (request, response) => {
      answer(request, response, options).catch(() => response.destroy());
    },
  );
  server.setTimeout(IDLE_TIMEOUT_MS);
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host: options.host, port: options.port });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the port of metrics has no number');
  return { port: address.port, close: () => close(server) };
}

async function answer(
  { method, url = '/', headers }: IncomingMessage,
  response: ServerResponse,
  { token, pages }: MetricsServerOptions,
): Promise<void> {
  const send = (status: number, text: string, further: Record<string, string> = {}) => {
    const type = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...further };
    response.writeHead(status, type).end(text);
  };
  if (method !== 'GET' && method !== 'HEAD') return send(405, 'Use GET.\n', { allow: 'GET, HEAD' });
  if (token !== undefined && !holdsMetricsToken(headers.authorization, token)) {
    return send(401, 'Send Authorization: Bearer <IRONCRAFT_METRICS_TOKEN>.\n', { 'www-authenticate': 'Bearer' });
  }
  const [path] = url.split('?', 1);
  const found = Object.entries(pages).find(([name]) => path === `/metrics/${name}`);
  if (found === undefined) {
    return send(
      404,
      `${Object.keys(pages)
        .map((name) => `/metrics/${name}`)
        .join('\n')}\n`,
    );
  }
  const [, metrics] = found;
  send(200, await metrics.render(), { 'content-type': metrics.contentType });
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
