/** One message of an answer on Slack, sent; and what its failure means. */
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { JsonObject } from '../../tables.ts';
import { type Destination, type MessagePart, SendFailure, type SendOptions } from '../channel.ts';
import { textAt } from '../provider/read-json.ts';
import type { FindAccess } from './access.ts';
import { buttonsOf } from './buttons.ts';
import { metadataOf } from './part-key.ts';
import { readPlace } from './place.ts';
import { respondThroughUrl } from './response-url.ts';
import { failureOf } from './send-failure.ts';
import { uploadFile } from './upload.ts';
import { type SlackAccess, type SlackApi, SlackProblem } from './web-api.ts';

export interface SendDependencies {
  readonly api: SlackApi;
  readonly outbound: Pick<Outbound, 'fetch'>;
  readonly findAccess: FindAccess;
}

/** Slack looks up what an answer links to: that would tell whoever wrote the address that it was read, and what was in it. */
const NO_PREVIEWS = { unfurl_links: false, unfurl_media: false };

/** Answers the time stamp of the message, by which Slack knows it, or a file's id. Throws `SendFailure`. */
export async function sendSlack(
  deps: SendDependencies,
  to: Destination,
  part: MessagePart,
  options: SendOptions,
): Promise<string | undefined> {
  const access = await requireAccess(deps, to);
  if (part.type === 'file') return uploadFile(deps, access, to, part.file, options);
  return sendText(deps, access, to, part, options);
}

async function requireAccess({ findAccess }: SendDependencies, { account, chat }: Destination): Promise<SlackAccess> {
  const { teamId } = readPlace(chat);
  const access = await findAccess(account, teamId);
  if (access !== undefined) return access;
  throw new SendFailure('refused', `The app is not installed in the workspace ${teamId}: there is no bot token of it.`);
}

async function sendText(
  { api, outbound }: SendDependencies,
  access: SlackAccess,
  to: Destination,
  part: MessagePart & { readonly type: 'text' },
  { asPlain, signal }: SendOptions,
): Promise<string | undefined> {
  const { channelId, threadTs } = readPlace(to.chat);
  const content: JsonObject = asPlain
    ? { text: part.plain, mrkdwn: false }
    : { text: part.text, ...buttonsOf(part.replies ?? []) };
  const message = { ...content, ...NO_PREVIEWS, channel: channelId, metadata: metadataOf(to, part) };
  const thread = threadTs === undefined ? {} : { thread_ts: threadTs };
  try {
    const sent = await api.call(access, 'chat.postMessage', { ...message, ...thread }, signal);
    return textAt(sent, 'ts');
  } catch (error) {
    if (isOutside(error) && to.reply !== undefined) {
      return respondThroughUrl(outbound, access, to.reply, content, signal);
    }
    throw failureOf(error, 'chat');
  }
}

/** A command was typed where the bot is no member. */
function isOutside(error: unknown): boolean {
  return error instanceof SlackProblem && ['not_in_channel', 'channel_not_found'].includes(error.code);
}
