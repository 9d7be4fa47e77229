/** An answer in messages of Discord. */
import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { splitMarkdown } from '../text/index.ts';
import { toDiscordMarkup } from './markup.ts';

export const MAX_TEXT_CHARS = 2_000;
const MAX_BUTTONS = 5;

export function composeDiscord({ text, files, suggestedReplies }: ComposedAnswer): readonly MessagePart[] {
  const pieces = splitMarkdown(toDiscordMarkup(text), { limit: MAX_TEXT_CHARS });
  const replies = suggestedReplies.filter((reply) => reply.trim() !== '').slice(0, MAX_BUTTONS);
  const texts = pieces.map((piece, index): MessagePart => {
    // Nothing of Discord's markup is ever refused: it is its own plain text.
    const part = { type: 'text', text: piece, plain: piece } as const;
    return index === pieces.length - 1 && replies.length > 0 ? { ...part, replies } : part;
  });
  return [...texts, ...files.map((file) => ({ type: 'file', file }) as const)];
}
