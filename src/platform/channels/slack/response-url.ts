/** Where a command may be answered for half an hour, five times, whatever the bot may else do there. It is a secret. */
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { JsonObject } from '../../tables.ts';
import { SendFailure } from '../channel.ts';
import { callProvider, NoAnswer, type ProviderAnswer } from '../provider/call-provider.ts';
import { isSlackUrl } from './slack-url.ts';
import type { SlackAccess } from './web-api.ts';

/** Throws `SendFailure`. */
export async function respondThroughUrl(
  outbound: Pick<Outbound, 'fetch'>,
  { baseUrl }: SlackAccess,
  responseUrl: string,
  content: JsonObject,
  signal: AbortSignal,
): Promise<undefined> {
  if (!isSlackUrl(responseUrl, baseUrl)) throw new SendFailure('refused', 'The bot is no member of the channel.');
  const fetch = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0 });
  const body = { ...content, response_type: 'in_channel', replace_original: false };
  let answer: ProviderAnswer;
  try {
    answer = await callProvider(fetch, { url: new URL(responseUrl), method: 'POST', headers: {}, body, signal });
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const kind = error.reason === 'unreached' ? 'unavailable' : error.reason;
    throw new SendFailure(kind, `Slack: ${error.message}.`, { cause: error });
  }
  const { status, retryAfterMs } = answer;
  if (status === 429) throw new SendFailure('paused', 'Slack: too many answers to a command.', { retryAfterMs });
  if (status >= 500) throw new SendFailure('unavailable', `Slack answers with status ${status}.`);
  if (status >= 300) throw new SendFailure('refused', 'The bot is no member of the channel. Invite it there.');
}
