/** One attempt: a POST through the outbound guard, which checks every hop and connects to no address but the one checked. */
import { abortAfter } from '../clock/timers.ts';
import { type Outbound, OutboundError, readCapped } from '../outbound/outbound.ts';

/** From the first look-up to the last byte of the answer. */
const ANSWER_DEADLINE_MS = 10_000;
const MAX_HOPS = 5;
/** Nothing of an answer is used but its status; one that is larger is no acknowledgement. */
const ANSWER_BYTES_MAX = 1_048_576;
const REDIRECTS_WITH_BODY = new Set([307, 308]);

export interface AttemptResult {
  /** Of the last hop; null where none answered. */
  readonly httpStatus: number | null;
  /** Why the attempt missed, for its owner; null when the endpoint took the event. */
  readonly error: string | null;
}

export type WebhookSender = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
) => Promise<AttemptResult>;

/** Never rejects but for the signal's reason. `deadlineMs` is for tests. */
export function createWebhookSender(outbound: Pick<Outbound, 'fetch'>, deadlineMs = ANSWER_DEADLINE_MS): WebhookSender {
  const fetch = outbound.fetch('public', { httpsOnly: true });
  return async (url, headers, body, signal) => {
    const deadline = abortAfter(deadlineMs);
    let httpStatus: number | null = null;
    try {
      let target = url;
      for (let hops = 0; ; hops += 1) {
        const response = await fetch(target, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'Ironcraft-Webhooks' },
          body,
          redirect: 'manual',
          signal: AbortSignal.any([deadline, signal]),
        });
        httpStatus = response.status;
        await readCapped(response, ANSWER_BYTES_MAX);
        if (response.ok) return { httpStatus, error: null };
        const location = response.headers.get('location');
        if (!REDIRECTS_WITH_BODY.has(httpStatus) || location === null)
          return { httpStatus, error: explain(httpStatus) };
        if (hops === MAX_HOPS) return { httpStatus, error: `more than ${MAX_HOPS} redirects` };
        if (!URL.canParse(location, target)) return { httpStatus, error: 'a redirect to something that is no URL' };
        target = new URL(location, target).href;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (deadline.aborted) return { httpStatus, error: `no whole answer within ${deadlineMs / 1_000} s` };
      return { httpStatus, error: describeFailure(error) };
    }
  };
}

function explain(status: number): string {
  const redirects = status >= 300 && status < 400;
  return redirects
    ? `status ${status}: of redirects only 307 and 308 keep the event; register the final URL`
    : `status ${status}`;
}

/** The system's own message would name addresses. */
function describeFailure(error: unknown): string {
  if (error instanceof OutboundError) return error.message;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code: unknown = Reflect.get(cause, 'code');
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code)) return `the connection failed (${code})`;
  }
  return 'the connection failed';
}
