import { abortAfter } from '../../../kernel/clock/timers.ts';
import { type Outbound, readCapped } from '../../../kernel/outbound/outbound.ts';

const ANSWER_BYTES = 262_144;
const ANSWER_MS = 10_000;
/** Of documents. What is posted holds secrets and goes where it was meant to, or nowhere. */
const DOCUMENT_REDIRECTS = 3;

/** For metadata and requests to token endpoints: the guarded way out, answers read whole, within 10 s and 256 KB. */
export function boundedFetch(outbound: Pick<Outbound, 'fetch'>, signal?: AbortSignal): typeof globalThis.fetch {
  const get = outbound.fetch('public', { httpsOnly: true, maxRedirects: DOCUMENT_REDIRECTS });
  const post = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0 });
  return async (input, init = {}) => {
    const signals = [init.signal, signal, abortAfter(ANSWER_MS)];
    const method = (init.method ?? 'GET').toUpperCase();
    const response = await (method === 'GET' ? get : post)(input, {
      ...init,
      signal: AbortSignal.any(signals.filter((each) => each != null)),
    });
    const { status, statusText, headers, url } = response;
    const body = await readCapped(response, ANSWER_BYTES);
    const read = new Response(body.byteLength === 0 ? null : new Uint8Array(body), { status, statusText, headers });
    return Object.defineProperties(read, { url: { value: url } });
  };
}
