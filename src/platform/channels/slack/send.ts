/** One message of an answer on Slack, sent; and what its failure means. */
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { JsonObject } from '../../tables.ts';
import type { Destination, MessagePart, SendOptions } from '../channel.ts';
import { textAt } from '../provider/read-json.ts';
import { buttonsOf } from './buttons.ts';
import { removeLive, replaceLive } from './live.ts';
import { metadataOf } from './part-key.ts';
import { readPlace } from './place.ts';
import { type LiveDependencies, requireAccess } from './require-access.ts';
import { respondThroughUrl } from './response-url.ts';
import { failureOf } from './send-failure.ts';
import { uploadFile } from './upload.ts';
import { type SlackAccess, SlackProblem } from './web-api.ts';

export interface SendDependencies extends LiveDependencies {
  readonly outbound: Pick<Outbound, 'fetch'>;
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
  const { replaces, signal } = options;
  if (part.type === 'text') return sendText(deps, access, to, part, options);
  if (replaces !== undefined) await removeLive(deps, to, replaces, signal);
  return uploadFile(deps, access, to, part.file, options);
}

async function sendText(
  deps: SendDependencies,
  access: SlackAccess,
  to: Destination,
  part: MessagePart & { readonly type: 'text' },
  { asPlain, replaces, signal }: SendOptions,
): Promise<string | undefined> {
  const { channelId, threadTs } = readPlace(to.chat);
  const content: JsonObject = asPlain
    ? { text: part.plain, mrkdwn: false }
    : { text: part.text, ...buttonsOf(part.replies ?? []) };
  const message = { ...content, ...NO_PREVIEWS, metadata: metadataOf(to, part) };
  if (replaces !== undefined) {
    const replaced = await replaceLive(deps, access, to, replaces, message, signal);
    if (replaced !== undefined) return replaced;
    await removeLive(deps, to, replaces, signal);
  }
  const thread = threadTs === undefined ? {} : { thread_ts: threadTs };
  try {
    const sent = await deps.api.call(access, 'chat.postMessage', { ...message, ...thread, channel: channelId }, signal);
    return textAt(sent, 'ts');
  } catch (error) {
    if (isOutside(error) && to.reply !== undefined) {
      return respondThroughUrl(deps.outbound, access, to.reply, content, signal);
    }
    throw failureOf(error, 'chat');
  }
}

/** A command was typed where the bot is no member. */
function isOutside(error: unknown): boolean {
  return error instanceof SlackProblem && ['not_in_channel', 'channel_not_found'].includes(error.code);
}
