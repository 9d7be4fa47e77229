/** What the fuzz tests of both services have in common: the document, an exchange over HTTP, and what a failure tells. */
import { type Agent, request as httpRequest } from 'node:http';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Schema } from './schema-values.ts';

const ANSWER_TIMEOUT_MS = 30_000;
/** A stream that is still open then is left: that it ends is another test's concern. */
const STREAM_READING_MS = 2_000;

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export interface Described {
  readonly operationId: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, { schema: Schema }>> }>
  >;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface FuzzAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into bodies of every shape.
  readonly body: any;
}

/** `origin`: of the server. */
export function exchange(origin: string, agent: Agent, fuzz: SentRequest): Promise<FuzzAnswer> {
  const { method, path, headers, body } = fuzz;
  const { hostname, port } = new URL(origin);
  const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer>();
  const sent = httpRequest({ agent, hostname, port, method, path, headers: { ...headers, ...lengthOf(method, body) } });
  sent.setTimeout(ANSWER_TIMEOUT_MS, () => sent.destroy(new Error('no answer')));
  sent.on('error', reject);
  sent.on('response', (response) => {
    const chunks: Buffer[] = [];
    const finish = () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const got = new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
      const isJson = got.get('content-type')?.includes('json') === true && text !== '';
      resolve({ status: response.statusCode ?? 0, headers: got, text, body: isJson ? JSON.parse(text) : undefined });
    };
    if (response.headers['content-type']?.startsWith('text/event-stream') === true) {
      const timer = setTimeout(() => response.destroy(), STREAM_READING_MS);
      response.once('close', () => clearTimeout(timer));
    }
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', () => undefined);
    response.once('close', finish);
  });
  sent.end(body);
  return promise;
}

function lengthOf(method: string, body: Buffer | undefined): Record<string, string> {
  if (body !== undefined) return { 'content-length': String(body.length) };
  return method === 'GET' || method === 'HEAD' ? {} : { 'content-length': '0' };
}

export function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

export function describeFailure(number: number, operationId: string, fuzz: SentRequest, error: unknown): string {
  const { method, path, headers, body } = fuzz;
  const { authorization: _secret, ...shown } = headers;
  return [
    `request ${number} (${operationId}): ${error instanceof Error ? error.message : String(error)}`,
    `  ${method} ${path.slice(0, 500)} ${JSON.stringify(shown)}`,
    `  ${body?.toString('utf8').slice(0, 1_000) ?? 'no body'}`,
  ].join('\n');
}

/** By operation and status. */
export function compileReplies({ paths, components }: OpenApiDocument): Pick<Map<string, ValidateFunction>, 'get'> {
  const replies: Record<string, object> = {};
  for (const { operationId: id, responses } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, { content }] of Object.entries(responses)) {
      const schema = content?.['application/json']?.schema;
      if (schema === undefined || !status.startsWith('2')) continue;
      replies[`${id}.${status}`] = schema;
    }
  }
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  // One schema of all, so that what replies share is compiled once.
  ajv.addSchema({ $id: 'document', replies, components });
  return { get: (reply) => ajv.getSchema(`document#/replies/${reply.replace(' ', '.')}`) };
}

export interface FuzzOptions {
  readonly requests: number;
  /** What nothing in the process has caught, once it is there. */
  readonly crashes: readonly unknown[];
  /** So many that each operation must be answered both ways, and that the longest block of the event loop is judged. */
  readonly isLong: boolean;
}

/**
 * Measures the longest time that this thread, the server's, computed without a pause. Its own processor time, so that a
 * busy machine counts for nothing.
 */
export function watchEventLoop(): { stop(): number } {
  const busyMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let longest = 0;
  let last = busyMs();
  const timer = setInterval(() => {
    const now = busyMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 10);
  return {
    stop() {
      clearInterval(timer);
      return longest;
    },
  };
}
