/**
 * Slack's Web API through its own client, which neither repeats nor waits by itself: parts are sent again by whoever keeps
 * them. Each call goes over the outbound guard, and what comes back is bounded before it is parsed.
 */
import type { WebClientOptions } from '@slack/web-api';
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { type Outbound, readCapped } from '../../../kernel/outbound/outbound.ts';
import type { JsonObject } from '../../tables.ts';
import { boundWaitMs } from '../provider/bound-wait.ts';
import { describeFailure, NoAnswer } from '../provider/call-provider.ts';
import { asObject, objectsAt, textAt } from '../provider/read-json.ts';

export const SLACK_URL = 'https://slack.com';

const MAX_ANSWER_BYTES = 1024 * 1024;
const DEADLINE_MS = 30_000;
/** Where Slack asks for patience and does not say how long. */
const DEFAULT_WAIT_MS = 5_000;
const MAX_CODE_CHARS = 100;

export interface SlackAccess {
  readonly baseUrl: string;
  /** Absent: what the arguments hold is enough. */
  readonly token?: string | undefined;
}

export interface SlackApi {
  /** What Slack answers. Throws `SlackProblem`, and the signal's reason. */
  call(access: SlackAccess, method: string, args: JsonObject, signal: AbortSignal): Promise<JsonObject>;
}

/**
 * `refused`: Slack says no, and `code` why. `busy`: after `retryAfterMs`. `unreached`: nothing was sent. `blocked`: the guard
 * lets nobody call there. `failed`: an error of the server's, and nothing was done. `unknown`: it may have been done.
 */
export type SlackProblemKind = 'refused' | 'busy' | 'unreached' | 'blocked' | 'failed' | 'unknown';

/** Its message may be shown to the tenant. */
export class SlackProblem extends Error {
  readonly kind: SlackProblemKind;
  readonly code: string;
  readonly retryAfterMs: number;

  constructor(
    kind: SlackProblemKind,
    message: string,
    {
      code = '',
      retryAfterMs = DEFAULT_WAIT_MS,
      cause,
    }: { code?: string; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = 'SlackProblem';
    this.kind = kind;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

const SILENT: NonNullable<WebClientOptions['logger']> = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  setLevel: () => undefined,
  getLevel: () => 'error' as never,
  setName: () => undefined,
};

export function createSlackApi(outbound: Pick<Outbound, 'fetch'>): SlackApi {
  // Under the rules for addresses that tenants name: the account may be of a server of their own.
  const fetch = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0 });
  return {
    async call({ baseUrl, token }, method, args, signal) {
      // Loaded for the first call: many servers have no app.
      const { WebClient } = await import('@slack/web-api');
      const ending = AbortSignal.any([signal, abortAfter(DEADLINE_MS)]);
      const client = new WebClient(token, {
        slackApiUrl: `${baseUrl}/api/`,
        fetch: ((url: string, init: RequestInit) => callSlack(fetch, url, { ...init, signal: ending })) as never,
        retryConfig: { retries: 0 },
        rejectRateLimitedCalls: true,
        logger: SILENT,
      });
      try {
        return asObject(await client.apiCall(method, args));
      } catch (error) {
        signal.throwIfAborted();
        throw problemOf(error);
      }
    },
  };
}

/** The answer in memory, where it is one of Slack's. */
async function callSlack(fetch: typeof globalThis.fetch, url: string, init: RequestInit): Promise<Response> {
  const { redirect: _ours, ...rest } = init;
  const response = await fetch(url, rest);
  const { status, headers } = response;
  const bytes = await readCapped(response, MAX_ANSWER_BYTES);
  if (status === 429) throw new SlackProblem('busy', 'Slack: too many calls.', { retryAfterMs: readWaitMs(headers) });
  if (status >= 500) throw new SlackProblem('failed', `Slack answers with status ${status}.`);
  if (!isSlackAnswer(bytes)) {
    const kind = status >= 400 ? 'failed' : 'unknown';
    throw new SlackProblem(kind, `Slack answers with status ${status} and nothing that it would say.`);
  }
  return new Response(bytes as Uint8Array<ArrayBuffer>, { status: 200 });
}

function isSlackAnswer(bytes: Uint8Array): boolean {
  try {
    return typeof asObject(JSON.parse(Buffer.from(bytes).toString('utf8'))).ok === 'boolean';
  } catch {
    return false;
  }
}

function readWaitMs(headers: Headers): number {
  const told = headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(told) ? boundWaitMs(Math.max(1, Number(told))) : DEFAULT_WAIT_MS;
}

function problemOf(error: unknown): SlackProblem {
  const data = error instanceof Error && 'data' in error ? asObject(error.data) : undefined;
  if (data !== undefined) return refusalOf(data, error);
  const cause = error instanceof Error && 'original' in error ? error.original : error;
  if (cause instanceof SlackProblem) return cause;
  const answer = cause instanceof NoAnswer ? cause : describeFailure(cause);
  const kind = answer.reason === 'refused' ? 'blocked' : answer.reason;
  return new SlackProblem(kind, `Slack: ${answer.message}.`, { cause: error });
}

/** Codes of a server that could not do it now. */
const FAILED = new Set(['service_unavailable', 'request_timeout', 'team_added_to_org', 'accesslimited']);
/** Some of it may have been done. */
const UNKNOWN = new Set(['fatal_error', 'internal_error']);
const BUSY = new Set(['ratelimited', 'rate_limited', 'message_limit_exceeded']);

function refusalOf(data: JsonObject, cause: unknown): SlackProblem {
  const code = (textAt(data, 'error') ?? 'unknown_error').slice(0, MAX_CODE_CHARS);
  const kind = BUSY.has(code) ? 'busy' : FAILED.has(code) ? 'failed' : UNKNOWN.has(code) ? 'unknown' : 'refused';
  const needed = textAt(data, 'needed');
  const faults = needed === undefined ? describeFaults(data) : `it needs ${needed}`;
  return new SlackProblem(kind, `Slack answers ${code}${faults === '' ? '' : ` (${faults})`}.`, { code, cause });
}

const MAX_FAULTS = 3;
const MAX_FAULT_CHARS = 200;

/** Of a manifest: what is wrong, and where. */
function describeFaults(data: JsonObject): string {
  return objectsAt(data, 'errors')
    .slice(0, MAX_FAULTS)
    .map((fault) =>
      `${textAt(fault, 'pointer') ?? ''} ${textAt(fault, 'message') ?? ''}`.trim().slice(0, MAX_FAULT_CHARS),
    )
    .filter((fault) => fault !== '')
    .join('; ');
}
