/** Calls of Discord's API for an answer, and what their failures mean for it. */
import { type Destination, SendFailure } from '../channel.ts';
import { boundWaitMs } from '../provider/bound-wait.ts';
import { NoAnswer, type ProviderAnswer } from '../provider/call-provider.ts';
import { textAt } from '../provider/read-json.ts';
import { baseUrlOf } from './access.ts';
import { type DiscordApi, type DiscordRequest, readRefusal } from './api.ts';
import type { InteractionReply } from './reply.ts';

const TOO_MANY_MS = 5_000;
const NO_CONTENT = 204;

export interface SendDependencies {
  readonly api: DiscordApi;
  readonly now: () => Date;
}

export function webhookPath({ account }: Destination, { token }: InteractionReply): string {
  return `webhooks/${encodeURIComponent(account.accountId)}/${encodeURIComponent(token)}`;
}

/** Throws `SendFailure` where there is no answer, or one that says nothing of the message. */
export async function callDiscord(
  api: DiscordApi,
  to: Destination,
  request: DiscordRequest,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  let answer: ProviderAnswer;
  try {
    answer = await api.call(baseUrlOf(to.account), request, signal);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    // What only reads is read again.
    const isHarmless = error.reason === 'unreached' || (error.reason === 'unknown' && request.method === 'GET');
    const kind = isHarmless ? 'unavailable' : error.reason === 'refused' ? 'refused' : 'unknown';
    throw new SendFailure(kind, `Discord: ${error.message}.`, { cause: error });
  }
  if (answer.status === 429) {
    const bucket = answer.body.global === true || !answer.isJson ? 'account' : 'chat';
    const told = Number(answer.body.retry_after);
    const retryAfterMs = told > 0 ? boundWaitMs(told) : (answer.retryAfterMs ?? TOO_MANY_MS);
    throw new SendFailure('paused', 'Discord: too many messages.', { bucket, retryAfterMs });
  }
  if (answer.status >= 500) throw failureOf(answer);
  if (answer.status < 300 && answer.status !== NO_CONTENT && !answer.isJson) {
    const kind = request.method === 'GET' ? 'unavailable' : 'unknown';
    throw new SendFailure(kind, 'Discord answered with something that is no JSON.');
  }
  return answer;
}

export const UNKNOWN_MESSAGE = 10008;
const GONE_CODES = new Set([10015, 10062, 50027]);

/** The interaction is not there, or no longer. */
export function isGone(answer: ProviderAnswer): boolean {
  return GONE_CODES.has(readRefusal(answer).code ?? 0) || answer.status === 401;
}

/** Throws `SendFailure` for what is no message. */
export function idOf(answer: ProviderAnswer): string {
  if (answer.status < 200 || answer.status >= 300) throw failureOf(answer);
  const id = textAt(answer.body, 'id');
  if (id === undefined) throw new SendFailure('unknown', 'Discord acknowledged the message without an id.');
  return id;
}

export function failureOf(answer: ProviderAnswer): SendFailure {
  const message = `Discord: ${readRefusal(answer).message}`;
  return new SendFailure(answer.status >= 500 ? 'unavailable' : 'refused', message);
}
