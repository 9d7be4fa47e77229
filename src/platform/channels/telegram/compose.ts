import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { splitMarkdown } from '../text/index.ts';
import { MESSAGE_LIMIT, measureForTelegram, renderTelegramHtml, renderTelegramText } from './telegram-html.ts';

/** Texts, the last of which has the suggested replies, then files. */
export function composeAnswer({ text, files, suggestedReplies }: ComposedAnswer): readonly MessagePart[] {
  const texts = splitMarkdown(text, { limit: MESSAGE_LIMIT, measure: measureForTelegram })
    .map((markdown) => ({ text: renderTelegramHtml(markdown), plain: renderTelegramText(markdown) }))
    .filter(({ plain }) => plain.trim() !== '');
  const replies = suggestedReplies.filter((reply) => reply.trim() !== '');
  return [
    ...texts.map((rendered, index): MessagePart => {
      const isLast = index === texts.length - 1;
      return { type: 'text', ...rendered, ...(isLast && replies.length > 0 ? { replies } : {}) };
    }),
    ...files.map((file): MessagePart => ({ type: 'file', file })),
  ];
}
