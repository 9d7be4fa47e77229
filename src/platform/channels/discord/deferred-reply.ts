/** The reply that an interaction was promised: it stands in the channel before the answer does, and shows pieces of it. */
import { type Destination, SendFailure } from '../channel.ts';
import type { ProviderAnswer } from '../provider/call-provider.ts';
import { textAt } from '../provider/read-json.ts';
import { botTokenOf } from './access.ts';
import { callDiscord, idOf, isGone, type SendDependencies, webhookPath } from './call-discord.ts';
import { readChat } from './chat.ts';
import { NOBODY } from './message-body.ts';
import { ageMs, isLive, readReply, SETTLING_MS } from './reply.ts';

/** Of a message: Discord shows that the answer is being written. */
const LOADING = 1 << 7;

/** The id of a deferred reply that still waits; undefined where there is none. Throws `SendFailure`. */
export async function findDeferred(
  { api, now }: SendDependencies,
  to: Destination,
  signal: AbortSignal,
): Promise<string | undefined> {
  const reply = readReply(to.reply);
  if (reply === undefined || !isLive(reply, now())) return undefined;
  const path = `${webhookPath(to, reply)}/messages/@original`;
  const original = await callDiscord(api, to, { method: 'GET', path }, signal);
  if (original.status === 404 && ageMs(reply, now()) < SETTLING_MS) {
    throw new SendFailure('unavailable', 'Discord does not know the interaction yet.');
  }
  return isDeferred(original) ? textAt(original.body, 'id') : undefined;
}

/** In the deferred reply, as long as its token lives. Throws `SendFailure`. */
export async function showText(
  { api }: SendDependencies,
  to: Destination,
  message: string,
  content: string,
  signal: AbortSignal,
): Promise<void> {
  const reply = readReply(to.reply);
  if (reply === undefined) return;
  const path = `${webhookPath(to, reply)}/messages/${encodeURIComponent(message)}`;
  idOf(await callDiscord(api, to, { method: 'PATCH', path, body: { ...NOBODY, content } }, signal));
}

/** Wherever it stands. Throws `SendFailure`. */
export async function removeMessage(
  { api, now }: SendDependencies,
  to: Destination,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  const reply = readReply(to.reply);
  const id = encodeURIComponent(message);
  if (reply !== undefined && isLive(reply, now())) {
    const path = `${webhookPath(to, reply)}/messages/${id}`;
    if (!isGone(await callDiscord(api, to, { method: 'DELETE', path }, signal))) return;
  }
  const path = `channels/${encodeURIComponent(readChat(to.chat).channelId)}/messages/${id}`;
  await callDiscord(api, to, { method: 'DELETE', path, botToken: botTokenOf(to.account) }, signal);
}

/** Deletes a deferred reply that still waits. */
export async function dismissDiscord(
  { api, now }: SendDependencies,
  to: Destination,
  signal: AbortSignal,
): Promise<void> {
  const reply = readReply(to.reply);
  if (reply === undefined || !isLive(reply, now())) return;
  const path = `${webhookPath(to, reply)}/messages/@original`;
  const original = await callDiscord(api, to, { method: 'GET', path }, signal);
  if (isDeferred(original)) await callDiscord(api, to, { method: 'DELETE', path }, signal);
}

export function isDeferred({ status, body }: ProviderAnswer): boolean {
  return status === 200 && (Number(body.flags) & LOADING) !== 0;
}
