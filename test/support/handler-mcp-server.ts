/** A server of the protocol's revision 2026-07-28 alone, by its own `createMcpHandler`, on loopback. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import {
  acceptedContent,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

export interface HandlerServer {
  readonly url: string;
  /** What `book` has booked, each once. */
  readonly bookings: readonly string[];
  /** Requests by their JSON-RPC method. */
  readonly received: readonly string[];
  /** Tells whoever listens that there is a tool more. */
  addTool(): void;
  close(): Promise<void>;
}

const seats = z.object({ seats: z.number().int().min(1) });
const confirmation = z.object({ confirm: z.boolean().default(true) });

export async function startHandlerServer(): Promise<HandlerServer> {
  const bookings: string[] = [];
  const received: string[] = [];
  let hasMore = false;
  const state = createRequestStateCodec({ key: Buffer.alloc(32, 7) });
  const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

  function createTools(): McpServer {
    const server = new McpServer(
      { name: 'handler', version: '1' },
      { capabilities: { tools: { listChanged: true }, logging: {} }, requestState: { verify: state.verify } },
    );
    server.registerTool(
      'add',
      {
        description: 'Adds two numbers.',
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        outputSchema: z.object({ sum: z.number() }),
        annotations: { readOnlyHint: true },
      },
      async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
    );
    server.registerTool('report', { inputSchema: z.object({ steps: z.number().int() }) }, async ({ steps }, ctx) => {
      for (let step = 1; step <= steps; step += 1) await report(ctx, step, steps);
      return text(`${steps} steps`);
    });
    server.registerTool('refuse', { inputSchema: z.object({}) }, async () => ({
      ...text('There are no seats left.'),
      isError: true,
    }));
    server.registerTool('throw', { inputSchema: z.object({}) }, async () => {
      throw new Error('the database is away');
    });
    server.registerTool('book', { inputSchema: z.object({ show: z.string() }) }, async ({ show }, ctx) => {
      const kept = ctx.mcpReq.requestState<{ show: string; seats: number } | undefined>();
      const wanted = acceptedContent(ctx.mcpReq.inputResponses, 'seats', seats)?.seats ?? kept?.seats;
      if (wanted === undefined) {
        const ask = inputRequired.elicit({ message: `How many seats for ${show}?`, requestedSchema: seats });
        return inputRequired({ inputRequests: { seats: ask }, requestState: await state.mint({ show }, ctx) });
      }
      const answer = acceptedContent(ctx.mcpReq.inputResponses, 'confirm', confirmation);
      if (answer === undefined) {
        const ask = inputRequired.elicit({ message: `Book ${wanted} seats?`, requestedSchema: confirmation });
        return inputRequired({
          inputRequests: { confirm: ask },
          requestState: await state.mint({ show, seats: wanted }, ctx),
        });
      }
      if (!answer.confirm || kept?.show !== show) return text('Nothing was booked.');
      bookings.push(`${wanted} for ${show}`);
      return text(`Booked ${wanted} seats for ${show}.`);
    });
    if (hasMore) server.registerTool('more', { inputSchema: z.object({}) }, async () => text('more'));
    return server;
  }

  const handler = createMcpHandler(createTools, { legacy: 'reject' });
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const method = body.length === 0 ? undefined : (JSON.parse(String(body)) as { method?: string }).method;
    if (method !== undefined) received.push(method);
    const left = new AbortController();
    response.once('close', () => left.abort());
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method ?? 'GET',
        headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]),
        ...(body.length === 0 ? {} : { body }),
        signal: left.signal,
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else await pipeline(Readable.fromWeb(answer.body as ReadableStream), response);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    bookings,
    received,
    addTool() {
      hasMore = true;
      handler.notify.toolsChanged();
    },
    async close() {
      await handler.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** What a call tells on its way, whether or not somebody asked. */
async function report(ctx: ServerContext, step: number, steps: number): Promise<void> {
  const progressToken = ctx.mcpReq._meta?.progressToken ?? 'nobody-asked';
  await ctx.mcpReq.notify({
    method: 'notifications/progress',
    params: { progressToken, progress: step, total: steps, message: `step ${step}` },
  });
  await ctx.mcpReq.log('info', `step ${step}`);
}
