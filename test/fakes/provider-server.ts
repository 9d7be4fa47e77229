/** A provider's API on loopback, as far as its fakes have it in common: bodies of JSON and of forms, faults, what was called. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerFault, createFaults, type ProviderFaults } from './provider-faults.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

export interface ProviderCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  /** Of JSON, or a form's fields; undefined for none. */
  readonly body: Json;
  readonly file: { readonly filename: string; readonly mediaType: string; readonly text: string } | undefined;
}

export interface ProviderReply {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ProviderServer extends Pick<ProviderFaults, 'failNext' | 'misbehave'> {
  readonly url: string;
  readonly calls: readonly ProviderCall[];
  close(): Promise<void>;
}

/** Under the name of examples, which platforms of tests look up as this machine. */
export async function startProvider(answer: (call: ProviderCall) => Promise<ProviderReply>): Promise<ProviderServer> {
  const faults = createFaults();
  const calls: ProviderCall[] = [];
  const server = createServer(async (request, response) => {
    const call = await readCall(request);
    calls.push(call);
    const fault = faults.take(request);
    if (answerFault(fault, response)) return;
    const { status, body, text = JSON.stringify(body), headers } = await answer(call);
    if (fault === 'cut after') return void response.destroy();
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://example.com:${(server.address() as AddressInfo).port}`,
    calls,
    failNext: faults.failNext,
    misbehave: faults.misbehave,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readCall(request: IncomingMessage): Promise<ProviderCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const { method = '', headers } = request;
  const url = new URL(request.url ?? '', 'http://provider');
  const type = headers['content-type'] ?? '';
  if (type.startsWith('application/x-www-form-urlencoded')) {
    return {
      method,
      url,
      headers,
      body: Object.fromEntries(new URLSearchParams(bytes.toString('utf8'))),
      file: undefined,
    };
  }
  if (!type.startsWith('multipart/')) return { method, url, headers, body: parse(bytes), file: undefined };
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const fields: Record<string, string> = {};
  let file: ProviderCall['file'];
  for (const [name, value] of form) {
    if (typeof value === 'string') fields[name] = value;
    else file = { filename: value.name, mediaType: value.type, text: await value.text() };
  }
  return { method, url, headers, body: fields, file };
}

function parse(bytes: Buffer): Json {
  return bytes.length === 0 ? undefined : JSON.parse(bytes.toString('utf8'));
}
