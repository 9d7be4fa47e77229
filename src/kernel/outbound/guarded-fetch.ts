import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { AddressGuard, UrlRules } from './address-guard.ts';
import { decodeBody, discard } from './decode-body.ts';
import { type PostTimeouts, refuseRedirect } from './guarded-post.ts';
import { OutboundError } from './outbound-error.ts';
import { followRedirect, type PreparedRequest, prepareRequest } from './prepare-request.ts';

export interface FetchLimits extends PostTimeouts {
  readonly maxRedirects: number;
  /** Of an answer. */
  readonly maxBytes: number;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Statuses whose reply has no body (Fetch standard, 2.2.3). */
const NULL_BODY = new Set([204, 205, 304]);
/** A reply that says to be no longer is read before it is given: a web stream costs more than such a body. */
const WHOLE_BYTES = 65_536;

type Reply = Dispatcher.ResponseData;

/**
 * `fetch` over a guarded dispatcher, by undici's `request`: its `fetch` takes several times the work. Redirects are followed
 * here, so that each hop passes the rules for URLs, and not only the connector's for addresses.
 */
export function createGuardedFetch(
  guard: AddressGuard,
  dispatcher: Dispatcher,
  rules: UrlRules,
  { maxRedirects, maxBytes, ...timeouts }: FetchLimits,
): typeof globalThis.fetch {
  const checkShape = (url: string | URL) => guard.checkShape(url, rules);
  return async (input, init = {}) => {
    let request = await prepareRequest(input, init, checkShape);
    for (let hops = 0; ; hops++) {
      const reply = await send(request, dispatcher, timeouts);
      const { statusCode: status } = reply;
      if (maxRedirects === 0 && status >= 300 && status < 400) {
        discard(reply.body);
        throw refuseRedirect(status);
      }
      const location = REDIRECTS.has(status) ? headersOf(reply).get('location') : null;
      if (location === null || request.redirect === 'manual')
        return toResponse(reply, request, { redirected: hops > 0, maxBytes });
      discard(reply.body);
      if (request.redirect === 'error') throw new OutboundError('redirect', 'the server redirects; use its final URL');
      if (hops === maxRedirects) {
        throw new OutboundError('redirect', `the server redirects more than ${maxRedirects} times; use its final URL`);
      }
      request = followRedirect(request, status, checkShape(resolveLocation(location, request.url)));
    }
  };
}

const DEFAULT_HEADERS = { accept: '*/*', 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'Ironcraft' };

async function send(request: PreparedRequest, dispatcher: Dispatcher, timeouts: PostTimeouts): Promise<Reply> {
  const { url, method, headers, body, signal } = request;
  signal?.throwIfAborted();
  try {
    return await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: method as Dispatcher.HttpMethod,
      headers: { ...DEFAULT_HEADERS, ...Object.fromEntries(headers) },
      body: body instanceof ReadableStream ? Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]) : body,
      signal,
      headersTimeout: timeouts.headersTimeoutMs,
      bodyTimeout: timeouts.bodyTimeoutMs,
    });
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof OutboundError) throw cause;
    throw new TypeError('fetch failed', { cause });
  }
}

function resolveLocation(location: string, base: URL): URL {
  if (!URL.canParse(location, base.href))
    throw new OutboundError('redirect', 'the server redirects to something that is no URL');
  return new URL(location, base);
}

async function toResponse(
  reply: Reply,
  { url, signal }: PreparedRequest,
  { redirected, maxBytes }: { readonly redirected: boolean; readonly maxBytes: number },
): Promise<Response> {
  const { statusCode: status, statusText } = reply;
  const headers = headersOf(reply);
  let response: Response;
  try {
    response = new Response(await bodyOf(reply, signal, maxBytes), { status, statusText, headers });
  } catch (cause) {
    discard(reply.body);
    if (cause instanceof OutboundError) throw cause;
    throw new OutboundError('bad_response', `the server answered with an unusable status ${status}`, { cause });
  }
  return Object.defineProperties(response, { url: { value: url.href }, redirected: { value: redirected } });
}

function headersOf({ headers: from }: Reply): Headers {
  const headers = new Headers();
  for (const [name, value = []] of Object.entries(from)) {
    if (typeof value === 'string') headers.set(name, value);
    else for (const each of value) headers.append(name, each);
  }
  return headers;
}

async function bodyOf(
  reply: Reply,
  signal: AbortSignal | null,
  maxBytes: number,
): Promise<ReadableStream<Uint8Array> | Uint8Array | null> {
  const { statusCode, headers, body } = reply;
  if (NULL_BODY.has(statusCode)) {
    body.on('error', () => {}).resume();
    return null;
  }
  const coding = headers['content-encoding'];
  if (coding !== undefined || !(Number(headers['content-length']) <= Math.min(WHOLE_BYTES, maxBytes))) {
    return toWebStream(decodeBody(body, coding), signal, maxBytes);
  }
  try {
    return await body.bytes();
  } catch (error) {
    // Whoever reads it is told, as of one that breaks later.
    return new ReadableStream({ start: (controller) => controller.error(asBroken(error, signal)) });
  }
}

/** Closes the connections of replies that nobody has read to their end. */
const forgotten = new FinalizationRegistry<Readable>(discard);

function toWebStream(body: Readable, signal: AbortSignal | null, maxBytes: number): ReadableStream<Uint8Array> {
  const pieces: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
  let bytes = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done = false, value } = await pieces.next();
          bytes += done ? 0 : value.byteLength;
          if (bytes > maxBytes) {
            discard(body);
            controller.error(new OutboundError('too_large', `the server answers with more than ${maxBytes} bytes`));
          } else if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          controller.error(asBroken(error, signal));
        }
      },
      cancel: () => discard(body),
    },
    { highWaterMark: 0 },
  );
  forgotten.register(stream, body);
  return stream;
}

function asBroken(cause: unknown, signal: AbortSignal | null): unknown {
  return signal?.aborted === true ? signal.reason : new TypeError('terminated', { cause });
}
