/**
 * An MCP server on loopback, of the revision 2025-11-25 over streamable HTTP, written from the specification: tests say what
 * it lists, what its tools answer and how it misbehaves.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Record<string, unknown>;

export interface FakeTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Json;
  readonly annotations?: Json;
  readonly execution?: Json;
  readonly _meta?: Json;
}

/** A request as the server got it. */
export interface ReceivedCall {
  readonly method: string;
  readonly params: Json;
  readonly headers: IncomingMessage['headers'];
}

export interface FakeMcpServer {
  readonly url: string;
  /** `127.0.0.1:port`: what an allow list names. */
  readonly host: string;
  tools: FakeTool[];
  /** What `tools/call` answers: a result. */
  onCall: (params: Json, signal: AbortSignal) => Promise<Json> | Json;
  /** Takes an HTTP request in place of the protocol; true: it has. */
  intercept:
    | ((request: IncomingMessage, response: ServerResponse, message: Json) => boolean | Promise<boolean>)
    | undefined;
  /** Requests of the protocol, in order. */
  readonly received: ReceivedCall[];
  /** The calls of tools among them. */
  calls(): ReceivedCall[];
  /** Sessions that were begun are unknown from now on. */
  forgetSessions(): void;
  close(): Promise<void>;
}

export async function startMcpServer(tools: FakeTool[] = []): Promise<FakeMcpServer> {
  const received: ReceivedCall[] = [];
  const closing = new AbortController();
  let sessions = new Set<string>();
  let lastSession = 0;
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const message = (text === '' ? {} : JSON.parse(text)) as { id?: unknown; method?: string; params?: Json };
    if (message.method !== undefined) {
      received.push({ method: message.method, params: message.params ?? {}, headers: request.headers });
    }
    if ((await fake.intercept?.(request, response, message as Json)) === true) return;
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const session = request.headers['mcp-session-id'];
    if (message.method !== 'initialize' && typeof session === 'string' && !sessions.has(session)) {
      return void response.writeHead(404).end();
    }
    if (message.id === undefined) return void response.writeHead(202).end();
    const answer = await answerTo(message.method ?? '', message.params ?? {});
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (message.method === 'initialize') {
      lastSession += 1;
      headers['mcp-session-id'] = `session-${lastSession}`;
      sessions.add(`session-${lastSession}`);
    }
    response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }));
  }

  async function answerTo(method: string, params: Json): Promise<Json> {
    switch (method) {
      case 'initialize':
        return {
          result: {
            protocolVersion: '2025-11-25',
            capabilities: { tools: { listChanged: true } },
            serverInfo: { name: 'fake', version: '1' },
          },
        };
      case 'tools/list':
        return { result: { tools: fake.tools.map((tool) => ({ inputSchema: { type: 'object' }, ...tool })) } };
      case 'tools/call':
        return { result: await fake.onCall(params, closing.signal) };
      default:
        return { error: { code: -32_601, message: `no method ${method}` } };
    }
  }

  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const fake: FakeMcpServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    host: `127.0.0.1:${port}`,
    tools,
    onCall: ({ arguments: given }) => ({ content: [{ type: 'text', text: JSON.stringify(given ?? {}) }] }),
    intercept: undefined,
    received,
    calls: () => received.filter(({ method }) => method === 'tools/call'),
    forgetSessions: () => {
      sessions = new Set();
    },
    close: () =>
      new Promise((resolve) => {
        closing.abort();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}
