/** An answer in messages of Discord. */
import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { markLast, splitMarkdown } from '../text/index.ts';
import { toDiscordMarkup } from './markup.ts';

export const MAX_TEXT_CHARS = 2_000;
const MAX_BUTTONS = 5;
/** What is put into Discord's markup at once. */
const CONVERTED_CHARS = 50_000;

export function* composeDiscord({ text, files, suggestedReplies }: ComposedAnswer): Generator<MessagePart, void> {
  const pieces = splitMarkdown(text, { limit: CONVERTED_CHARS })
    .map(toDiscordMarkup)
    .flatMap((converted) => splitMarkdown(converted, { limit: MAX_TEXT_CHARS }));
  const replies = suggestedReplies.filter((reply) => reply.trim() !== '').slice(0, MAX_BUTTONS);
  for (const { item: piece, isLast } of markLast(pieces)) {
    // Nothing of Discord's markup is ever refused: it is its own plain text.
    yield { type: 'text', text: piece, plain: piece, ...(isLast && replies.length > 0 ? { replies } : {}) };
  }
  for (const file of files) yield { type: 'file', file };
}
