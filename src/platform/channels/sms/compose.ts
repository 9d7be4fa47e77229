/** An answer in text messages: plain, without files. */
import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { plainMarkup, renderMarkdown, splitMarkdown } from '../text/index.ts';

/** What Twilio takes as one message. */
const MAX_TEXT_CHARS = 1_600;

/** Twilio sends files from public addresses alone, which those of a smith do not have: they are named. */
export function composeSms({ text, files }: ComposedAnswer): Iterable<MessagePart> {
  const notes = files.map(({ filename }) => `${filename} cannot be sent by SMS.`);
  return (
    splitMarkdown([text, ...notes].join('\n\n'), { limit: MAX_TEXT_CHARS })
      .map((piece) => renderMarkdown(piece, plainMarkup))
      // What has signs that Markdown has not, as a table, may be longer than it was.
      .flatMap((piece) => splitMarkdown(piece, { limit: MAX_TEXT_CHARS }))
      .map((piece): MessagePart => ({ type: 'text', text: piece, plain: piece }))
  );
}
