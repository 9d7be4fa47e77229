import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { markLast, splitMarkdown } from '../text/index.ts';
import { MESSAGE_LIMIT, measureForTelegram, renderTelegramHtml, renderTelegramText } from './telegram-html.ts';

/** Texts, the last of which has the suggested replies, then files. */
export function* composeAnswer({ text, files, suggestedReplies }: ComposedAnswer): Generator<MessagePart, void> {
  const texts = splitMarkdown(text, { limit: MESSAGE_LIMIT, measure: measureForTelegram })
    .map((markdown) => ({ text: renderTelegramHtml(markdown), plain: renderTelegramText(markdown) }))
    .filter(({ plain }) => plain.trim() !== '');
  const replies = suggestedReplies.filter((reply) => reply.trim() !== '');
  for (const { item, isLast } of markLast(texts)) {
    yield { type: 'text', ...item, ...(isLast && replies.length > 0 ? { replies } : {}) };
  }
  for (const file of files) yield { type: 'file', file };
}
