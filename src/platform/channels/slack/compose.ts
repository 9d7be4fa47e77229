/** An answer in messages of Slack: texts, the last of which has the suggested replies, then files. */
import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { markLast, splitMarkdown } from '../text/index.ts';
import { escapeText, MESSAGE_LIMIT, renderMrkdwn, renderSlackText } from './markup.ts';

const MAX_BUTTONS = 5;

export function* composeSlack({ text, files, suggestedReplies }: ComposedAnswer): Generator<MessagePart, void> {
  const texts = splitMarkdown(text, { limit: MESSAGE_LIMIT, measure: (markdown) => escapeText(markdown).length })
    .map((markdown) => ({ text: renderMrkdwn(markdown), plain: renderSlackText(markdown) }))
    .filter(({ plain }) => plain.trim() !== '');
  const replies = suggestedReplies.filter((reply) => reply.trim() !== '').slice(0, MAX_BUTTONS);
  for (const { item, isLast } of markLast(texts)) {
    yield { type: 'text', ...item, ...(isLast && replies.length > 0 ? { replies } : {}) };
  }
  for (const file of files) yield { type: 'file', file };
}
