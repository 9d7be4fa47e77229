/** An answer in messages of WhatsApp. */
import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { markLast, splitMarkdown } from '../text/index.ts';
import { toWhatsAppMarkup } from './markup.ts';
import { isSendable } from './media-types.ts';

const MAX_TEXT_CHARS = 4_096;
/** Of a text with buttons under it. */
const MAX_BUTTON_TEXT_CHARS = 1_024;
const MAX_BUTTONS = 3;
/** What a person may answer with one touch. */
const MAX_REPLY_CHARS = 256;

export function* composeWhatsApp({ text, files, suggestedReplies }: ComposedAnswer): Generator<MessagePart, void> {
  const unsendable = files.filter((file) => !isSendable(file.mediaType));
  const notes = unsendable.map(({ filename }) => `${filename} cannot be sent over WhatsApp.`);
  const replies = suggestedReplies.filter((reply) => reply.length <= MAX_REPLY_CHARS && reply.trim() !== '');
  yield* composeText([text, ...notes].join('\n\n'), replies.slice(0, MAX_BUTTONS));
  for (const file of files) if (isSendable(file.mediaType)) yield { type: 'file', file };
}

function* composeText(markdown: string, replies: readonly string[]): Generator<MessagePart, void> {
  const pieces = splitMarkdown(markdown, { limit: MAX_TEXT_CHARS })
    .map(toWhatsAppMarkup)
    // What has signs that Markdown has not, as a table, may be longer than it was.
    .flatMap((piece) => splitMarkdown(piece, { limit: MAX_TEXT_CHARS }));
  for (const { item: piece, isLast } of markLast(pieces)) {
    if (!isLast || replies.length === 0) {
      yield textPart(piece);
      continue;
    }
    const ends = piece.length <= MAX_BUTTON_TEXT_CHARS ? [piece] : splitForButtons(piece);
    yield* ends.slice(0, -1).map(textPart);
    yield { ...textPart(ends.at(-1) ?? ''), replies };
  }
}

/** So that the last piece is short enough to have buttons, and the others are few. */
function splitForButtons(text: string): readonly string[] {
  for (
    let at = text.indexOf('\n\n', text.length - MAX_BUTTON_TEXT_CHARS - 2);
    at > 0;
    at = text.indexOf('\n\n', at + 1)
  ) {
    const [head, end] = [text.slice(0, at).trimEnd(), text.slice(at).trim()];
    if (end !== '' && countFences(head) % 2 === 0) return [head, end];
  }
  return [...splitMarkdown(text, { limit: MAX_BUTTON_TEXT_CHARS })];
}

function countFences(text: string): number {
  return text.split('```').length - 1;
}

/** Nothing of WhatsApp's markup is ever refused: it is its own plain text. */
function textPart(text: string) {
  return { type: 'text', text, plain: text } as const;
}
