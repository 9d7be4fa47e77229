/** An answer in mails: one, unless it is longer than anybody wants to open. */
import type { ComposedAnswer, MessagePart } from '../channel.ts';
import { splitMarkdown } from '../text/index.ts';
import { renderMailHtml, renderMailText } from './mail-html.ts';

const MAX_TEXT_CHARS = 100_000;

export function composeMail({ text, files, suggestedReplies }: ComposedAnswer, key: string): readonly MessagePart[] {
  const markdown = [text, listReplies(suggestedReplies)].filter((piece) => piece !== '').join('\n\n');
  const pieces = splitMarkdown(markdown, { limit: MAX_TEXT_CHARS });
  const texts = pieces.length === 0 && files.length > 0 ? [''] : pieces;
  return texts.map((piece, index) => ({
    type: 'text',
    text: renderMailHtml(piece),
    plain: renderMailText(piece),
    key: `${key}.${index}`,
    ...(index === texts.length - 1 && files.length > 0 && { files }),
  }));
}

/** A mail has no buttons: they are what one may answer. */
function listReplies(replies: readonly string[]): string {
  if (replies.length === 0) return '';
  return ['You could answer:', ...replies.map((reply) => `- ${reply.replaceAll(/\s+/g, ' ')}`)].join('\n');
}
