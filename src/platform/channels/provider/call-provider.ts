/** One call to a provider's API, through the outbound guard: JSON comes back, or the reason why none did. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { OutboundError, readCapped } from '../../../kernel/outbound/outbound.ts';
import type { JsonObject } from '../../tables.ts';
import { boundWaitMs } from './bound-wait.ts';
import { asObject, objectsAt } from './read-json.ts';

/** From the look-up to the last byte of the answer. Files take longer to send. */
const DEADLINE_MS = 30_000;
const FILE_DEADLINE_MS = 300_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Codes of connections that were never made: nothing has been sent. */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export interface ProviderRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, a form, or a form with a file. */
  readonly body?: JsonObject | URLSearchParams | MultipartBody;
  readonly signal: AbortSignal;
}

export interface MultipartBody {
  readonly contentType: string;
  readonly stream: ReadableStream<Uint8Array>;
  /** Lets go of the file, however far it was read. */
  close(): void;
}

export interface ProviderAnswer {
  readonly status: number;
  /** How long to wait, where the provider says so. */
  readonly retryAfterMs: number | undefined;
  /** Empty where the provider sent no JSON object; `isJson` tells. */
  readonly body: JsonObject;
  /** The objects of a list. */
  readonly items: readonly JsonObject[];
  readonly isJson: boolean;
}

/** No whole answer. Its message may be shown to the tenant. */
export class NoAnswer extends Error {
  /** `unreached`: nothing was sent. `refused`: the guard lets nobody call there. `unknown`: it may have arrived. */
  readonly reason: 'unreached' | 'refused' | 'unknown';

  constructor(reason: NoAnswer['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NoAnswer';
    this.reason = reason;
  }
}

/** Throws `NoAnswer`, and the signal's reason. */
export async function callProvider(fetch: typeof globalThis.fetch, request: ProviderRequest): Promise<ProviderAnswer> {
  const { url, method, headers, body, signal } = request;
  const deadline = abortAfter(isForm(body) ? FILE_DEADLINE_MS : DEADLINE_MS);
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, accept: 'application/json', ...contentTypeOf(body) },
      body: writeBody(body),
      signal: AbortSignal.any([signal, deadline]),
    });
    const read = parseJson(await readCapped(response, MAX_ANSWER_BYTES));
    const answer = { body: asObject(read), items: objectsAt({ read }, 'read'), isJson: read !== undefined };
    const retryAfterMs = readRetryAfterMs(response.headers.get('retry-after'));
    return { status: response.status, retryAfterMs, ...answer };
  } catch (error) {
    signal.throwIfAborted();
    throw describeFailure(error);
  } finally {
    if (isForm(body)) body.close();
  }
}

function writeBody(body: ProviderRequest['body']): string | ReadableStream<Uint8Array> | null {
  if (body === undefined) return null;
  if (isForm(body)) return body.stream;
  return body instanceof URLSearchParams ? body.toString() : JSON.stringify(body);
}

function contentTypeOf(body: ProviderRequest['body']): Readonly<Record<string, string>> {
  if (body === undefined) return {};
  if (isForm(body)) return { 'content-type': body.contentType };
  return { 'content-type': body instanceof URLSearchParams ? 'application/x-www-form-urlencoded' : 'application/json' };
}

function isForm(body: ProviderRequest['body']): body is MultipartBody {
  return body !== undefined && 'stream' in body && body.stream instanceof ReadableStream;
}

/** Undefined for what is none. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Of `Retry-After` in seconds, with or without a fraction. */
function readRetryAfterMs(value: string | null): number | undefined {
  return value !== null && /^\d{1,9}(\.\d+)?$/.test(value.trim()) ? boundWaitMs(Number(value)) : undefined;
}

/** What a `fetch` threw. The system's own messages would name addresses. */
export function describeFailure(error: unknown): NoAnswer {
  if (error instanceof OutboundError) {
    const isSent = error.reason === 'too_large' || error.reason === 'bad_response' || error.reason === 'redirect';
    const reason = isSent ? 'unknown' : error.reason === 'unresolvable' ? 'unreached' : 'refused';
    return new NoAnswer(reason, error.message, { cause: error });
  }
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code: unknown = Reflect.get(cause, 'code');
    if (typeof code !== 'string' || !/^[A-Z][A-Z0-9_]+$/.test(code)) continue;
    const reason = NOT_CONNECTED.has(code) ? 'unreached' : 'unknown';
    return new NoAnswer(reason, `the connection failed (${code})`, { cause: error });
  }
  return new NoAnswer('unknown', 'no whole answer came', { cause: error });
}
