/**
 * Telegram's Bot API through grammy, each call over the outbound guard. The URLs hold the bot's token, so no error of the
 * network leaves here as it is.
 */
import type { Api } from 'grammy';
import { type Outbound, OutboundError, readCapped } from '../../../kernel/outbound/outbound.ts';
import { settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { boundWaitMs } from '../provider/bound-wait.ts';

export const TELEGRAM_URL = 'https://api.telegram.org';
/** Telegram takes 50 MB; a slow line may need minutes for it. */
const UPLOAD_SECONDS = 300;
const MAX_REPLY_BYTES = 16 * 1024 * 1024;

/** An answer that is none of the Bot API's: of a proxy, say, or cut off. */
class NoBotApiReply extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the server answers with status ${status} and nothing that Telegram would say`);
    this.name = 'NoBotApiReply';
    this.status = status;
  }
}

export interface BotApi {
  /** Calls for the bot of the account. */
  of(account: Pick<OpenAccount, 'settings' | 'secrets'>): Promise<Api>;
  /** A file of the bot's, by the path that `getFile` tells. The body is the caller's to read or cancel. */
  fetchFile(account: OpenAccount, path: string, signal: AbortSignal): Promise<Response>;
}

export function createBotApi(outbound: Outbound): BotApi {
  // Under the rules for addresses that tenants name: the account may be of a server of their own.
  const fetchReply = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0 });
  return {
    async of({ settings, secrets }) {
      // Loaded for the first call: it is sixty modules, and many servers have no bot.
      const grammy = await import('grammy');
      const root = rootOf(settings);
      return new grammy.Api(secrets.bot_token ?? '', {
        buildUrl: (_root, token, method) => `${root}/bot${token}/${method}`,
        timeoutSeconds: UPLOAD_SECONDS,
        fetch: ((url: string, init: ForeignInit) => callBotApi(fetchReply, url, init)) as never,
      });
    },
    fetchFile: (account, path, signal) =>
      fetchReply(`${rootOf(account.settings)}/file/bot${account.secrets.bot_token}/${path}`, { signal }),
  };
}

function rootOf(settings: OpenAccount['settings']): string {
  return settingOf(settings, 'api_base_url') || TELEGRAM_URL;
}

/** What grammy calls `fetch` with: node-fetch's, whose signal is of another class than the runtime's. */
interface ForeignInit {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<Uint8Array>;
  readonly signal?: Pick<AbortSignal, 'aborted' | 'addEventListener' | 'removeEventListener'>;
}

async function callBotApi(fetch: typeof globalThis.fetch, url: string, init: ForeignInit): Promise<Response> {
  const { method, body, signal } = init;
  const aborting = new AbortController();
  const abort = () => aborting.abort();
  signal?.addEventListener('abort', abort);
  if (signal?.aborted === true) abort();
  try {
    const response = await fetch(url, {
      method,
      headers: { 'content-type': init.headers['content-type'] ?? 'application/json' },
      body: body as RequestInit['body'] & object,
      signal: aborting.signal,
    });
    const bytes = await readCapped(response, MAX_REPLY_BYTES);
    if (!isBotApiReply(bytes)) throw new NoBotApiReply(response.status);
    return new Response(bytes as Uint8Array<ArrayBuffer>);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function isBotApiReply(bytes: Uint8Array): boolean {
  try {
    const reply: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (typeof reply !== 'object' || reply === null || !('ok' in reply)) return false;
    return reply.ok === true ? 'result' in reply : reply.ok === false && 'error_code' in reply;
  } catch {
    return false;
  }
}

/** For the tenant: what Telegram said, or that it said nothing. Without the URL. */
export interface ApiProblem {
  /** Of Telegram's own answer; undefined where there was none. */
  readonly code: number | undefined;
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  /** Whether the call may have been carried out all the same. */
  readonly mayHaveHappened: boolean;
}

const MAX_MESSAGE_CHARS = 300;
/** Nothing was sent to anybody. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export function readProblem(error: unknown): ApiProblem {
  const none = { code: undefined, retryAfterMs: undefined };
  if (isRefusal(error)) {
    const { error_code: code, description, parameters } = error;
    const seconds = parameters?.retry_after;
    return {
      code,
      message: `Telegram answers ${code}: ${String(description).slice(0, MAX_MESSAGE_CHARS)}`,
      retryAfterMs: typeof seconds === 'number' ? boundWaitMs(seconds) : undefined,
      mayHaveHappened: false,
    };
  }
  const cause = error instanceof Error && 'error' in error ? error.error : error;
  if (cause instanceof NoBotApiReply) {
    // What answers so did not let the call through.
    const mayHaveHappened = cause.status < 400;
    return { ...none, code: cause.status >= 400 ? cause.status : undefined, message: cause.message, mayHaveHappened };
  }
  if (cause instanceof OutboundError) {
    const mayHaveHappened = cause.reason === 'too_large' || cause.reason === 'bad_response';
    return { ...none, message: `The call is refused: ${cause.message}`, mayHaveHappened };
  }
  const code = systemCodeOf(cause);
  return {
    ...none,
    message: `Telegram could not be reached${code === undefined ? '' : ` (${code})`}`,
    mayHaveHappened: code === undefined || !NEVER_CONNECTED.has(code),
  };
}

interface Refusal {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after?: number };
}

function isRefusal(error: unknown): error is Refusal {
  return error instanceof Error && 'error_code' in error && typeof error.error_code === 'number';
}

function systemCodeOf(error: unknown): string | undefined {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}
