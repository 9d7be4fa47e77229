/** Pieces of an answer: a draft in a private chat, which goes by itself; in groups a message that is edited. */
import { createHash } from 'node:crypto';
import type { LiveAnswers } from '../channel.ts';
import { splitMarkdown } from '../text/index.ts';
import { type BotApi, readProblem } from './bot-api.ts';
import { type Place, placeOf } from './place.ts';
import { failureOf, replyTo } from './send.ts';
import { MESSAGE_LIMIT, measureForTelegram, renderTelegramHtml } from './telegram-html.ts';

/** One message a second in a chat, twenty a minute in a group. */
const PRIVATE = { paceMs: 1_100, lifetimeMs: 30_000 };
const GROUP = { paceMs: 3_100 };
/** Of a message that has no text yet. */
const NOTHING_YET = '…';

export function createTelegramLive(botApi: BotApi): LiveAnswers {
  return {
    at: (to) => (isPrivate(placeOf(to.chat)) ? PRIVATE : GROUP),
    async open(to, signal) {
      const { chatId, topic } = placeOf(to.chat);
      if (isPrivate({ chatId })) return undefined;
      const api = await botApi.of(to.account);
      const options = { ...topic, ...replyTo(to), disable_notification: true };
      const sent = await orFailure(api.sendMessage(chatId, NOTHING_YET, options, signal as never));
      return String(sent.message_id);
    },
    async show(to, text, { message, key, shown, signal }) {
      const { chatId, topic } = placeOf(to.chat);
      // A message keeps its first piece, which the answer begins with; a draft shows where the answer has come to.
      const piece = (markdown: string) => pieceOf(markdown, message === undefined ? 'last' : 'first');
      const html = piece(text);
      if (html === '' || (message !== undefined && html === piece(shown))) return;
      const api = await botApi.of(to.account);
      const markup = { parse_mode: 'HTML' } as const;
      if (message === undefined) {
        await orFailure(api.sendMessageDraft(chatId, draftId(key), html, { ...topic, ...markup }, signal as never));
      } else {
        await orFailure(api.editMessageText(chatId, Number(message), html, markup, signal as never));
      }
    },
    async remove(to, message, signal) {
      const api = await botApi.of(to.account);
      try {
        await api.deleteMessage(placeOf(to.chat).chatId, Number(message), signal as never);
      } catch (error) {
        // It is gone, or too old to go.
        if (readProblem(error).code !== 400) throw failureOf(error, true);
      }
    },
  };
}

function isPrivate({ chatId }: Pick<Place, 'chatId'>): boolean {
  return chatId > 0;
}

/** Well formed wherever the text ends. */
function pieceOf(markdown: string, which: 'first' | 'last'): string {
  let piece = '';
  for (piece of splitMarkdown(markdown, { limit: MESSAGE_LIMIT, measure: measureForTelegram })) {
    if (which === 'first') break;
  }
  return renderTelegramHtml(piece).trim();
}

/** Any number but 0. */
function draftId(key: string): number {
  return (createHash('sha256').update(key).digest().readUInt32BE() >>> 1) + 1;
}

async function orFailure<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw failureOf(error, true);
  }
}
