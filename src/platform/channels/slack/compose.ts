/** An answer in messages of Slack: texts, the last of which has the suggested replies, then files. */
import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { splitMarkdown } from '../text/index.ts';
import { escapeText, MESSAGE_LIMIT, renderMrkdwn, renderSlackText } from './markup.ts';

const MAX_BUTTONS = 5;

export function composeSlack({ text, files, suggestedReplies }: ComposedAnswer): readonly MessagePart[] {
  const texts = splitMarkdown(text, { limit: MESSAGE_LIMIT, measure: (markdown) => escapeText(markdown).length })
    .map((markdown) => ({ text: renderMrkdwn(markdown), plain: renderSlackText(markdown) }))
    .filter(({ plain }) => plain.trim() !== '');
  const replies = suggestedReplies.filter((reply) => reply.trim() !== '').slice(0, MAX_BUTTONS);
  return [
    ...texts.map((rendered, index): MessagePart => {
      const isLast = index === texts.length - 1;
      return { type: 'text', ...rendered, ...(isLast && replies.length > 0 ? { replies } : {}) };
    }),
    ...files.map((file): MessagePart => ({ type: 'file', file })),
  ];
}
