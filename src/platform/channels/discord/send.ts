/**
 * One message of an answer on Discord. While the interaction's token lives it goes through the interaction's webhook: the
 * first takes the place of the deferred reply, the others follow it. Later, and where the interaction is gone, the bot writes
 * to the channel, or to the person where it may not write there.
 *
 *   token lives ──► deferred reply waits, or shows pieces? ──yes──► edit it
 *        │                  └──no──► follow-up
 *        └──no / gone ──► pieces in the channel? ──yes──► edit them
 *                             └──no──► channel ──refused──► direct message
 */
import { createHash } from 'node:crypto';
import { type Destination, type MessagePart, SendFailure, type SendOptions } from '../channel.ts';
import type { ProviderAnswer } from '../provider/call-provider.ts';
import { botTokenOf } from './access.ts';
import { type DiscordRequest, readRefusal } from './api.ts';
import {
  callDiscord,
  failureOf,
  idOf,
  isGone,
  type SendDependencies,
  UNKNOWN_MESSAGE,
  webhookPath,
} from './call-discord.ts';
import { readChat } from './chat.ts';
import { isDeferred } from './deferred-reply.ts';
import { messageBody } from './message-body.ts';
import { ageMs, type InteractionReply, isLive, readReply, SETTLING_MS } from './reply.ts';

const NONCE_CHARS = 25;

/** Answers Discord's id of the message. Throws `SendFailure`. */
export async function sendDiscord(
  { api, now }: SendDependencies,
  to: Destination,
  part: MessagePart,
  options: SendOptions,
): Promise<string | undefined> {
  const call = (request: DiscordRequest) => callDiscord(api, to, request, options.signal);
  const reply = readReply(to.reply);
  if (reply !== undefined && isLive(reply, now())) {
    const sent = await sendThroughWebhook(call, to, reply, part, options);
    if (sent !== 'gone') return sent;
    if (ageMs(reply, now()) < SETTLING_MS) {
      throw new SendFailure('unavailable', 'Discord does not know the interaction yet.');
    }
  }
  return sendAsBot(call, to, part, options);
}

type Call = (request: DiscordRequest) => Promise<ProviderAnswer>;

async function sendThroughWebhook(
  call: Call,
  to: Destination,
  reply: InteractionReply,
  part: MessagePart,
  options: SendOptions,
): Promise<string | undefined | 'gone'> {
  const webhook = webhookPath(to, reply);
  const { replaces } = options;
  if (replaces !== undefined) {
    const edited = await call({
      method: 'PATCH',
      path: `${webhook}/messages/${encodeURIComponent(replaces)}`,
      body: await messageBody(part, options),
    });
    if (isGone(edited)) return 'gone';
    if (readRefusal(edited).code !== UNKNOWN_MESSAGE) return idOf(edited);
  }
  const original = await call({ method: 'GET', path: `${webhook}/messages/@original` });
  // A deferred reply that somebody has deleted is followed all the same.
  if (original.status !== 200 && readRefusal(original).code !== UNKNOWN_MESSAGE) {
    if (isGone(original)) return 'gone';
    throw failureOf(original);
  }
  const body = await messageBody(part, options);
  const sent = await call(
    isDeferred(original)
      ? { method: 'PATCH', path: `${webhook}/messages/@original`, body }
      : { method: 'POST', path: `${webhook}?wait=true`, body },
  );
  if (isGone(sent)) return 'gone';
  return idOf(sent);
}

async function sendAsBot(call: Call, to: Destination, part: MessagePart, options: SendOptions): Promise<string> {
  const botToken = botTokenOf(to.account);
  const { channelId, userId } = readChat(to.chat);
  if (options.replaces !== undefined) {
    const edited = await call({
      method: 'PATCH',
      path: `channels/${encodeURIComponent(channelId)}/messages/${encodeURIComponent(options.replaces)}`,
      botToken,
      body: await messageBody(part, options),
    });
    if (edited.status !== 403 && edited.status !== 404) return idOf(edited);
  }
  const sendTo = async (channel: string) =>
    call({
      method: 'POST',
      path: `channels/${encodeURIComponent(channel)}/messages`,
      botToken,
      // Sent again after an outcome that nobody knows, it is answered with the message that is there.
      body: await messageBody(part, options, { nonce: nonceOf(to, part), enforce_nonce: true }),
    });
  const sent = await sendTo(channelId);
  if (sent.status !== 403 && sent.status !== 404) return idOf(sent);
  const opened = await call({
    method: 'POST',
    path: 'users/@me/channels',
    botToken,
    body: { recipient_id: userId },
  });
  return idOf(await sendTo(idOf(opened)));
}

function nonceOf(to: Destination, part: MessagePart): string {
  const named = JSON.stringify([to.chat, to.reply, part]);
  return createHash('sha256').update(named).digest('base64url').slice(0, NONCE_CHARS);
}
