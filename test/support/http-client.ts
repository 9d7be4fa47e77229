/** A client of a server of either service, with one token: answers as tests look into them. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, request } from 'undici';

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  readonly body: any;
  readonly headers: Headers;
  readonly text: string;
}

export type Headers_ = Record<string, string>;

export interface Client {
  readonly token: string;
  get(path: string, headers?: Headers_): Promise<Answer>;
  delete(path: string, headers?: Headers_): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Headers_): Promise<Answer>;
  put(path: string, body?: unknown, headers?: Headers_): Promise<Answer>;
  patch(path: string, body?: unknown, headers?: Headers_): Promise<Answer>;
  /** The raw response, for streams. */
  open(method: string, path: string, body?: unknown, headers?: Headers_, signal?: AbortSignal): Promise<Response>;
  /** The same client with another token; an empty one sends no Authorization. */
  as(token: string): Client;
}

/** Of the system and of undici: the server is not there, or goes away before it has answered. */
const LOST_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Whether the connection was lost: what was asked for may have been done or not. For what a client throws, and `fetch`. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof TypeError) return error.message === 'fetch failed' || error.message === 'terminated';
  return error instanceof Error && 'code' in error && LOST_CODES.has(String(error.code));
}

function bodyText(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

export function createClient(url: string, token: string): Client {
  const headersOf = (body: unknown, headers: Headers_): Headers_ => ({
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    ...headers,
  });
  const open: Client['open'] = (method, path, body, headers = {}, signal) =>
    fetch(url + path, {
      method,
      headers: headersOf(body, headers),
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : bodyText(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  const call = async (method: string, path: string, body?: unknown, headers: Headers_ = {}): Promise<Answer> => {
    // Of all that `fetch` brings an answer that is read whole needs nothing, and it computes three times as long.
    const form = body instanceof FormData ? new Response(body) : undefined;
    const response = await request(url + path, {
      method: method as Dispatcher.HttpMethod,
      headers: { ...headersOf(body, headers), ...(form && { 'content-type': form.headers.get('content-type') ?? '' }) },
      ...(body === undefined ? {} : { body: form ? new Uint8Array(await form.arrayBuffer()) : bodyText(body) }),
    });
    const text = await response.body.text();
    const answered = readHeaders(response.headers);
    const isJson = answered.get('content-type')?.includes('json') === true;
    return {
      status: response.statusCode,
      headers: answered,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
  };
  return {
    token,
    open,
    get: (path, headers) => call('GET', path, undefined, headers),
    delete: (path, headers) => call('DELETE', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    put: (path, body, headers) => call('PUT', path, body, headers),
    patch: (path, body, headers) => call('PATCH', path, body, headers),
    as: (other) => createClient(url, other),
  };
}

function readHeaders(headers: IncomingHttpHeaders): Headers {
  const read = new Headers();
  for (const [name, values] of Object.entries(headers)) {
    for (const value of [values ?? []].flat()) read.append(name, value);
  }
  return read;
}
