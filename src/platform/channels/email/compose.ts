/** An answer in mails: one, unless it is longer than anybody wants to open. */
import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { markLast, splitMarkdown } from '../text/index.ts';
import { renderMailHtml, renderMailText } from './mail-html.ts';

const MAX_TEXT_CHARS = 100_000;

export function* composeMail(
  { text, files, suggestedReplies }: ComposedAnswer,
  key: string,
): Generator<MessagePart, void> {
  const markdown = [text, listReplies(suggestedReplies)].filter((piece) => piece !== '').join('\n\n');
  const isFilesAlone = markdown.trim() === '' && files.length > 0;
  const pieces = isFilesAlone ? [''] : splitMarkdown(markdown, { limit: MAX_TEXT_CHARS });
  let index = 0;
  for (const { item: piece, isLast } of markLast(pieces)) {
    yield {
      type: 'text',
      text: renderMailHtml(piece),
      plain: renderMailText(piece),
      key: `${key}.${index}`,
      ...(isLast && files.length > 0 && { files }),
    };
    index += 1;
  }
}

/** A mail has no buttons: they are what one may answer. */
function listReplies(replies: readonly string[]): string {
  if (replies.length === 0) return '';
  return ['You could answer:', ...replies.map((reply) => `- ${reply.replaceAll(/\s+/g, ' ')}`)].join('\n');
}
