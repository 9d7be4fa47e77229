/**
 * One message of an answer on Discord. While the interaction's token lives it goes through the interaction's webhook: the
 * first takes the place of the deferred reply, the others follow it. Later, and where the interaction is gone, the bot writes
 * to the channel, or to the person where it may not write there.
 *
 *   token lives ──► deferred reply waits? ──yes──► edit it
 *        │                  └──no──► follow-up
 *        └──no / gone ──► channel ──refused──► direct message
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../tables.ts';
import { type Destination, type MessagePart, SendFailure, type SendOptions } from '../channel.ts';
import { type MultipartBody, NoAnswer, type ProviderAnswer } from '../provider/call-provider.ts';
import { fitTitle } from '../provider/fit-title.ts';
import { multipartBody } from '../provider/multipart.ts';
import { textAt } from '../provider/read-json.ts';
import { baseUrlOf, botTokenOf } from './access.ts';
import { type DiscordApi, type DiscordRequest, readRefusal } from './api.ts';
import { readChat } from './chat.ts';
import { REPLY_PREFIX } from './read-interaction.ts';
import { ageMs, type InteractionReply, isLive, readReply } from './reply.ts';

const MAX_LABEL_CHARS = 80;
const MAX_CUSTOM_ID_CHARS = 100;
/** Of a message: Discord shows that the answer is being written. */
const LOADING = 1 << 7;
const TOO_MANY_MS = 5_000;
/** An answer may be ready before Discord has our acknowledgement of the interaction. */
const SETTLING_MS = 10_000;
const NONCE_CHARS = 25;

export interface SendDependencies {
  readonly api: DiscordApi;
  readonly now: () => Date;
}

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

export function webhookPath({ account }: Destination, { token }: InteractionReply): string {
  return `webhooks/${encodeURIComponent(account.accountId)}/${encodeURIComponent(token)}`;
}

async function sendThroughWebhook(
  call: Call,
  to: Destination,
  reply: InteractionReply,
  part: MessagePart,
  options: SendOptions,
): Promise<string | undefined | 'gone'> {
  const webhook = webhookPath(to, reply);
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

function isDeferred({ status, body }: ProviderAnswer): boolean {
  return status === 200 && (Number(body.flags) & LOADING) !== 0;
}

async function sendAsBot(call: Call, to: Destination, part: MessagePart, options: SendOptions): Promise<string> {
  const botToken = botTokenOf(to.account);
  const { channelId, userId } = readChat(to.chat);
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

/** Names nobody: what an answer says cannot call anybody. */
async function messageBody(part: MessagePart, { openFile }: SendOptions, more: JsonObject = {}) {
  const payload = { allowed_mentions: { parse: [] }, ...more };
  if (part.type === 'text') return { ...payload, content: part.text, ...componentsOf(part.replies ?? []) };
  return fileBody(part.file, await openFile(part.file.fileId), payload);
}

function fileBody(
  { filename, mediaType }: Extract<MessagePart, { type: 'file' }>['file'],
  content: Awaited<ReturnType<SendOptions['openFile']>>,
  payload: JsonObject,
): MultipartBody {
  const described = { ...payload, attachments: [{ id: 0, filename }] };
  return multipartBody({ payload_json: JSON.stringify(described) }, { name: 'files[0]', filename, mediaType, content });
}

const ACTION_ROW = 1;
const BUTTON = 2;
const SECONDARY = 2;

/** Two of the same id are refused. */
function componentsOf(replies: readonly string[]): JsonObject {
  const byId = new Map(replies.map((reply) => [`${REPLY_PREFIX}${reply}`.slice(0, MAX_CUSTOM_ID_CHARS), reply]));
  if (byId.size === 0) return {};
  const components = [...byId].map(([custom_id, reply]) => ({
    type: BUTTON,
    style: SECONDARY,
    label: fitTitle(reply, MAX_LABEL_CHARS),
    custom_id,
  }));
  return { components: [{ type: ACTION_ROW, components }] };
}

function nonceOf(to: Destination, part: MessagePart): string {
  const named = JSON.stringify([to.chat, to.reply, part]);
  return createHash('sha256').update(named).digest('base64url').slice(0, NONCE_CHARS);
}

async function callDiscord(
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
    const retryAfterMs = told > 0 ? told * 1_000 : (answer.retryAfterMs ?? TOO_MANY_MS);
    throw new SendFailure('paused', 'Discord: too many messages.', { bucket, retryAfterMs });
  }
  if (answer.status >= 500) throw failureOf(answer);
  return answer;
}

const UNKNOWN_MESSAGE = 10008;
const GONE_CODES = new Set([10015, 10062, 50027]);

/** The interaction is not there, or no longer. */
function isGone(answer: ProviderAnswer): boolean {
  return GONE_CODES.has(readRefusal(answer).code ?? 0) || answer.status === 401;
}

/** Throws `SendFailure` for what is no message. */
function idOf(answer: ProviderAnswer): string {
  if (answer.status < 200 || answer.status >= 300) throw failureOf(answer);
  const id = textAt(answer.body, 'id');
  if (id === undefined) throw new SendFailure('unknown', 'Discord acknowledged the message without an id.');
  return id;
}

function failureOf(answer: ProviderAnswer): SendFailure {
  const message = `Discord: ${readRefusal(answer).message}`;
  return new SendFailure(answer.status >= 500 ? 'unavailable' : 'refused', message);
}
