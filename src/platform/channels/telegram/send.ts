/** One message of an answer, sent; and what its failure means. */
import type { Api, InputFile as GrammyFile } from 'grammy';
import { type AnswerFile, type Destination, type MessagePart, SendFailure, type SendOptions } from '../channel.ts';
import { type BotApi, readProblem } from './bot-api.ts';
import { placeOf } from './place.ts';

/** Of what Telegram shows as a picture; it takes larger ones as files. */
const PHOTO_TYPES = new Set(['image/jpeg', 'image/png', 'image/webp']);
/** What its own sentence about waiting leaves out. */
const DEFAULT_WAIT_MS = 1_000;
const MAX_BUTTONS = 12;

/** Throws `SendFailure`. */
export async function sendPart(
  botApi: BotApi,
  to: Destination,
  part: MessagePart,
  options: SendOptions,
): Promise<string> {
  const api = await botApi.of(to.account);
  try {
    const replaced = await replaceMessage(api, to, part, options);
    if (replaced !== undefined) return replaced;
    const sent =
      part.type === 'text' ? await sendText(api, to, part, options) : await sendFile(api, to, part.file, options);
    return String(sent.message_id);
  } catch (error) {
    throw failureOf(error, options.asPlain);
  }
}

/** The message whose place the part has taken. What cannot be edited in, a file or a keyboard, is sent once the message is gone. */
async function replaceMessage(
  api: Api,
  to: Destination,
  part: MessagePart,
  { replaces, asPlain, signal }: SendOptions,
): Promise<string | undefined> {
  if (replaces === undefined) return undefined;
  const { chatId } = placeOf(to.chat);
  const isEdit = part.type === 'text' && (part.replies ?? []).length === 0;
  try {
    if (!isEdit) {
      await api.deleteMessage(chatId, Number(replaces), signal as never);
      return undefined;
    }
    const markup = asPlain ? {} : { parse_mode: 'HTML' as const };
    await api.editMessageText(chatId, Number(replaces), asPlain ? part.plain : part.text, markup, signal as never);
    return replaces;
  } catch (error) {
    const { code, message } = readProblem(error);
    if (code !== 400) throw error;
    // A repetition, or the last piece was the whole.
    if (/not modified/i.test(message)) return replaces;
    if (!isEdit || GONE.test(message)) return undefined;
    throw error;
  }
}

const GONE = /message to edit not found|message can't be edited|message_id_invalid/i;

function sendText(
  api: Api,
  to: Destination,
  { text, plain, replies = [] }: MessagePart & { readonly type: 'text' },
  { asPlain, signal }: SendOptions,
) {
  const { chatId, topic } = placeOf(to.chat);
  const keyboard = replies.slice(0, MAX_BUTTONS).map((reply) => [{ text: reply }]);
  return api.sendMessage(
    chatId,
    asPlain ? plain : text,
    {
      ...(asPlain ? {} : { parse_mode: 'HTML' }),
      ...topic,
      ...replyTo(to),
      ...(keyboard.length === 0
        ? {}
        : { reply_markup: { keyboard, one_time_keyboard: true, resize_keyboard: true, selective: true } }),
    },
    signal as never,
  );
}

/** As a picture where it is one, as a file where Telegram could not make a picture of it. */
async function sendFile(api: Api, to: Destination, file: AnswerFile, { asPlain, openFile, signal }: SendOptions) {
  const { InputFile } = await import('grammy');
  const { chatId, topic } = placeOf(to.chat);
  const input: GrammyFile = new InputFile(await openFile(file.fileId), filenameOf(file));
  const other = { ...topic, ...replyTo(to) };
  const isPhoto = !asPlain && PHOTO_TYPES.has(file.mediaType);
  return isPhoto
    ? api.sendPhoto(chatId, input, other, signal as never)
    : api.sendDocument(chatId, input, other, signal as never);
}

/** It stands unquoted in the head of its part of the form. */
function filenameOf({ filename }: AnswerFile): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they would end the head.
  return filename.replaceAll(/[\u0000-\u001f\u007f"\\;,]/g, '_') || 'file';
}

/** In groups an answer says what it answers; the message may be gone by then. */
export function replyTo({ reply }: Destination) {
  if (reply === undefined || !/^\d{1,15}$/.test(reply)) return {};
  return { reply_parameters: { message_id: Number(reply), allow_sending_without_reply: true } };
}

/** What the failure of a call means for its message. */
export function failureOf(error: unknown, asPlain: boolean): SendFailure {
  const { code, message, retryAfterMs, mayHaveHappened } = readProblem(error);
  switch (code) {
    case 429:
      return new SendFailure('paused', message, { retryAfterMs: retryAfterMs ?? DEFAULT_WAIT_MS, bucket: 'chat' });
    case 400:
      // It may be the markup, or the picture. Whoever is not there is not there for plain text either.
      return new SendFailure(
        asPlain || /chat not found|user not found/i.test(message) ? 'refused' : 'unreadable',
        message,
      );
    case 403:
    case 413:
      return new SendFailure('refused', message);
    case undefined:
      return new SendFailure(mayHaveHappened ? 'unknown' : 'unavailable', message);
    default:
      // The token may be replaced, the server come back.
      return new SendFailure('unavailable', message);
  }
}
