import { OutboundError } from './outbound-error.ts';

export interface PreparedRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | string | ReadableStream | null;
  readonly signal: AbortSignal | null;
  readonly redirect: 'follow' | 'manual' | 'error';
}

/**
 * One shape out of the many that `fetch` takes. Forms and blobs are read into memory here: the undici package does not
 * know those of the runtime, which has an undici of its own.
 */
export async function prepareRequest(
  input: string | URL | Request,
  init: RequestInit,
  checkUrl: (url: string | URL) => URL,
): Promise<PreparedRequest> {
  const given = typeof input === 'string' || input instanceof URL ? undefined : input;
  const url = checkUrl(given?.url ?? (typeof input === 'object' && 'href' in input ? input : String(input)));
  const headers = new Headers(init.headers ?? given?.headers);
  return {
    url,
    method: (init.method ?? given?.method ?? 'GET').toUpperCase(),
    headers,
    body: await readBody(init.body === undefined ? (given?.body ?? null) : init.body, headers),
    signal: init.signal ?? given?.signal ?? null,
    redirect: init.redirect ?? given?.redirect ?? 'follow',
  };
}

async function readBody(body: RequestInit['body'], headers: Headers): Promise<PreparedRequest['body']> {
  if (body === null || body === undefined) return null;
  if (typeof body === 'string') {
    if (!headers.has('content-type')) headers.set('content-type', 'text/plain;charset=UTF-8');
    return body;
  }
  if (body instanceof Uint8Array || body instanceof ReadableStream) return body;
  if (Symbol.asyncIterator in body) return ReadableStream.from(body);
  const read = new Response(body);
  const type = read.headers.get('content-type');
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
  return new Uint8Array(await read.arrayBuffer());
}

/** Names of headers that carry, or may carry, a right granted to one origin alone. */
const CREDENTIAL_HEADER = /auth|cookie|key|token|secret|credential|passw|session/;
const HARMLESS_HEADERS = new Set(['idempotency-key']);
const BODY_HEADERS = ['content-encoding', 'content-language', 'content-length', 'content-location', 'content-type'];

/**
 * The request that follows a redirect, by the rules of the Fetch standard (HTTP-redirect fetch), which here drop every
 * header that looks like a credential when the origin changes, not `Authorization` alone.
 */
export function followRedirect(request: PreparedRequest, status: number, next: URL): PreparedRequest {
  const headers = new Headers(request.headers);
  const becomesGet =
    (status === 303 && request.method !== 'GET' && request.method !== 'HEAD') ||
    ((status === 301 || status === 302) && request.method === 'POST');
  if (becomesGet) for (const name of BODY_HEADERS) headers.delete(name);
  if (next.origin !== request.url.origin) {
    for (const name of [...headers.keys()]) {
      if (name === 'host' || (CREDENTIAL_HEADER.test(name) && !HARMLESS_HEADERS.has(name))) headers.delete(name);
    }
  }
  if (!becomesGet && request.body instanceof ReadableStream) {
    throw new OutboundError(
      'redirect',
      'the server redirects a streamed body, which cannot be sent twice; use its final URL',
    );
  }
  return {
    ...request,
    url: next,
    headers,
    method: becomesGet ? 'GET' : request.method,
    body: becomesGet ? null : request.body,
  };
}
