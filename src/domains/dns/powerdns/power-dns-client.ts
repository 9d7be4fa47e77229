/**
 * PowerDNS' HTTP API (Authoritative Server 4.7 to 5.0), as far as zones need it.
 *
 * Its backends fail writes that overlap (SQLite: "database is locked"; MySQL: deadlocks), so all writes of this process
 * go through one queue, one at a time. A transient failure is retried, each time from the end of the queue, so that a failing
 * zone keeps no other waiting. Other replicas and programs write too, hence both.
 */
import pLimit from 'p-limit';
import { Agent, type Dispatcher, request } from 'undici';
import { abortAfter, sleep } from '../../../kernel/clock/timers.ts';
import { backoffMs } from '../../../kernel/retry/backoff.ts';

export interface PowerDnsLogger {
  warn(fields: object, message: string): void;
}

export interface PowerDnsClientOptions {
  /** Of the server's web interface, `/api/v1` not included: `http://127.0.0.1:8081`. The operator's own, so not guarded. */
  readonly url: string;
  readonly apiKey: string;
  /** Default `localhost`, the only one that an authoritative server has. */
  readonly serverId?: string;
  readonly logger: PowerDnsLogger;
  /** For one attempt. Default 15,000. */
  readonly timeoutMs?: number;
  /** Before the second attempt; doubled with each one after it. Default 100. */
  readonly firstRetryMs?: number;
}

export interface WriteOptions {
  /** The answer 404 is no error. */
  readonly mayBeAbsent?: boolean;
  /**
   * Asked before each attempt after the first: whether an earlier one was carried out although its answer did not say so.
   * For writes that must not be repeated; all others leave the same behind however often they run.
   */
  readonly isDone?: () => Promise<boolean>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** An answer that is no success, or none at all: then `status` is undefined and what happened is not known. */
class PowerDnsError extends Error {
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PowerDnsError';
    this.status = status;
  }

  /** Whether the same request may succeed a little later. */
  get isTransient(): boolean {
    if (this.status === undefined || this.status >= 500 || this.status === 409) return true;
    return this.status === 422 && /\block|deadlock|busy|try again|timed? ?out/i.test(this.message);
  }
}

const ATTEMPTS = 6;
const LONGEST_RETRY_MS = 10_000;
/** A zone of 50,000 records has about 10 MB of JSON. */
const ANSWER_BYTES = 64 * 1024 * 1024;
const ERROR_TEXT_LENGTH = 300;
const CONNECTIONS = 4;

export class PowerDnsClient {
  readonly #options: PowerDnsClientOptions;
  readonly #base: string;
  readonly #agent = new Agent({ connections: CONNECTIONS, pipelining: 1 });
  readonly #stopping = new AbortController();
  readonly #writes = pLimit(1);

  constructor(options: PowerDnsClientOptions) {
    this.#options = options;
    const url = options.url.replace(/\/+$/, '');
    this.#base = `${url}/api/v1/servers/${encodeURIComponent(options.serverId ?? 'localhost')}`;
  }

  /** The parsed answer; undefined when there is no such thing (404). */
  async read(path: string): Promise<unknown> {
    return this.#sendWithRetries(path, { mayBeAbsent: true }, () => this.#send('GET', path));
  }

  /** Resolves when the server has carried it out. Otherwise rejects, and then it may have been carried out or not. */
  async write(method: Exclude<Method, 'GET'>, path: string, body?: object, options: WriteOptions = {}): Promise<void> {
    await this.#sendWithRetries(path, options, () => this.#writes(() => this.#send(method, path, body)));
  }

  /** Cuts off what is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the PowerDNS publisher is stopping'));
    await this.#agent.destroy();
  }

  async #sendWithRetries(path: string, options: WriteOptions, attempt: () => Promise<unknown>): Promise<unknown> {
    const { firstRetryMs = 100, logger } = this.#options;
    for (let count = 1; ; count += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof PowerDnsError)) throw error;
        if (error.status === 404 && options.mayBeAbsent === true) return undefined;
        if (!error.isTransient || count === ATTEMPTS || this.#stopping.signal.aborted) throw error;
        logger.warn({ err: error, path, attempt: count }, 'PowerDNS failed; it is asked again');
      }
      const delayMs = backoffMs(count, { firstMs: firstRetryMs, longestMs: LONGEST_RETRY_MS });
      await sleep(delayMs, this.#stopping.signal);
      if (await options.isDone?.()) return undefined;
    }
  }

  async #send(method: Method, path: string, body?: object): Promise<unknown> {
    const { status, text } = await this.#exchange(method, path, body);
    if (status >= 200 && status < 300) return text === '' ? undefined : parseAnswer(text, status);
    throw new PowerDnsError(describeRefusal(status, text), status);
  }

  async #exchange(method: Method, path: string, body?: object): Promise<{ status: number; text: string }> {
    const { apiKey, timeoutMs = 15_000 } = this.#options;
    const signal = AbortSignal.any([this.#stopping.signal, abortAfter(timeoutMs)]);
    try {
      // Redirects are not followed: the key is for this server alone.
      const answer = await request(this.#base + path, {
        method,
        headers: { 'x-api-key': apiKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        dispatcher: this.#agent,
        signal,
      });
      return { status: answer.statusCode, text: await readText(answer.body) };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new PowerDnsError(`no answer from PowerDNS: ${reason}`, undefined, error);
    }
  }
}

async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES) throw new Error(`an answer of more than ${ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes).toString('utf8');
}

function parseAnswer(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not the text itself: the answer to a new key has the key's private part.
    throw new PowerDnsError('PowerDNS answered with something that is no JSON: check its address', status);
  }
}

/** `{"error": "…"}` as a rule; plain text for what its web server refuses by itself. */
function describeRefusal(status: number, text: string): string {
  if (status === 401 || status === 403) {
    return `PowerDNS refuses the API key or this address (${status}): check its api-key and webserver-allow-from`;
  }
  return `PowerDNS answered ${status}: ${errorText(text).slice(0, ERROR_TEXT_LENGTH)}`;
}

function errorText(text: string): string {
  try {
    const answer: unknown = JSON.parse(text);
    const error = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'error') : undefined;
    return typeof error === 'string' ? error : 'no reason given';
  } catch {
    return text;
  }
}
