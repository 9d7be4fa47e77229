/** Whether a message of unknown outcome has arrived: in place of the deferred reply, or as one of the channel's last. */

import type { JsonObject } from '../../tables.ts';
import type { Destination, MessagePart } from '../channel.ts';
import type { ProviderAnswer } from '../provider/call-provider.ts';
import { objectAt, objectsAt, textAt } from '../provider/read-json.ts';
import { baseUrlOf, botTokenOf } from './access.ts';
import type { DiscordRequest } from './api.ts';
import { type SendDependencies, webhookPath } from './call-discord.ts';
import { readChat } from './chat.ts';
import { isLive, readReply } from './reply.ts';

const LAST = 50;
/** Their clock is not ours. */
const CLOCK_DIFFERENCE_MS = 60_000;

/** Undefined where Discord does not show it; a channel that the bot may not read shows nothing. */
export async function findSentDiscord(
  { api, now }: SendDependencies,
  to: Destination,
  part: MessagePart,
  sentAfter: Date,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ask = (request: DiscordRequest) => api.call(baseUrlOf(to.account), request, signal);
  const isIt = (message: JsonObject) =>
    holds(message, part) && timeOf(message) >= sentAfter.getTime() - CLOCK_DIFFERENCE_MS;
  const reply = readReply(to.reply);
  if (reply !== undefined && isLive(reply, now())) {
    const original = await ask({ method: 'GET', path: `${webhookPath(to, reply)}/messages/@original` });
    requireKnown(original);
    if (original.status === 200 && isIt(original.body)) return textAt(original.body, 'id');
  }
  const channel = encodeURIComponent(readChat(to.chat).channelId);
  const botToken = botTokenOf(to.account);
  const last = await ask({ method: 'GET', path: `channels/${channel}/messages?limit=${LAST}`, botToken });
  requireKnown(last);
  return textAt(
    last.items.find((message) => isOurs(message, to) && isIt(message)),
    'id',
  );
}

/** By the bot, or through an interaction's webhook. */
function isOurs(message: JsonObject, { account }: Destination): boolean {
  const authors = [textAt(objectAt(message, 'author'), 'id'), textAt(message, 'webhook_id')];
  return authors.some(
    (author) => author !== undefined && [account.accountId, account.settings.bot_id].includes(author),
  );
}

function requireKnown({ status, isJson }: ProviderAnswer): void {
  if (status === 429 || status >= 500 || !isJson)
    throw new Error(`Discord answered ${status}${isJson ? '' : ' without JSON'} when asked for a message`);
}

function holds(message: JsonObject, part: MessagePart): boolean {
  if (part.type === 'text') return textAt(message, 'content')?.trim() === part.text.trim();
  return objectsAt(message, 'attachments').some(({ filename }) => filename === part.file.filename);
}

function timeOf(message: JsonObject): number {
  return Date.parse(textAt(message, 'edited_timestamp') ?? textAt(message, 'timestamp') ?? '');
}
