import { type Dispatcher, type Response as UndiciResponse, fetch as undiciFetch } from 'undici';
import type { AddressGuard, UrlRules } from './address-guard.ts';
import { refuseRedirect } from './guarded-post.ts';
import { OutboundError } from './outbound-error.ts';
import { followRedirect, type PreparedRequest, prepareRequest } from './prepare-request.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Statuses whose reply has no body (Fetch standard, 2.2.3). */
const NULL_BODY = new Set([204, 205, 304]);

/**
 * `fetch` over a guarded dispatcher. Redirects are followed here rather than by undici, so that each hop passes the
 * rules for URLs, and not only the connector's for addresses.
 */
export function createGuardedFetch(
  guard: AddressGuard,
  dispatcher: Dispatcher,
  rules: UrlRules,
  maxRedirects: number,
): typeof globalThis.fetch {
  const checkShape = (url: string | URL) => guard.checkShape(url, rules);
  return async (input, init = {}) => {
    let request = await prepareRequest(input, init, checkShape);
    for (let hops = 0; ; hops++) {
      const response = await send(request, dispatcher);
      if (maxRedirects === 0 && response.status >= 300 && response.status < 400) {
        await response.body?.cancel();
        throw refuseRedirect(response.status);
      }
      const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
      if (location === null || request.redirect === 'manual') return toGlobalResponse(response, request.url, hops > 0);
      await response.body?.cancel();
      if (request.redirect === 'error') throw new OutboundError('redirect', 'the server redirects; use its final URL');
      if (hops === maxRedirects) {
        throw new OutboundError('redirect', `the server redirects more than ${maxRedirects} times; use its final URL`);
      }
      request = followRedirect(request, response.status, checkShape(resolveLocation(location, request.url)));
    }
  };
}

async function send(request: PreparedRequest, dispatcher: Dispatcher): Promise<UndiciResponse> {
  try {
    return await undiciFetch(request.url, {
      method: request.method,
      headers: [...request.headers],
      body: request.body,
      signal: request.signal,
      redirect: 'manual',
      duplex: 'half',
      dispatcher,
    });
  } catch (error) {
    // undici wraps what the connector threw as the cause of its "fetch failed".
    if (error instanceof TypeError && error.cause instanceof OutboundError) throw error.cause;
    throw error;
  }
}

function resolveLocation(location: string, base: URL): URL {
  if (!URL.canParse(location, base.href))
    throw new OutboundError('redirect', 'the server redirects to something that is no URL');
  return new URL(location, base);
}

/** undici cancels an unread body when its Response is collected: it must live as long as the one handed out. */
const originals = new WeakMap<Response, UndiciResponse>();

/** A Response of the runtime's own class, for callers that test with `instanceof`. The body is passed on, not copied. */
function toGlobalResponse(from: UndiciResponse, url: URL, redirected: boolean): Response {
  let response: Response;
  try {
    response = new Response(NULL_BODY.has(from.status) ? null : from.body, {
      status: from.status,
      statusText: from.statusText,
      headers: [...from.headers],
    });
  } catch (cause) {
    throw new OutboundError('bad_response', `the server answered with an unusable status ${from.status}`, { cause });
  }
  Object.defineProperties(response, { url: { value: url.href }, redirected: { value: redirected } });
  originals.set(response, from);
  return response;
}
