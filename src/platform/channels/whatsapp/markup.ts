/** Markdown in WhatsApp's own markup: *bold*, _italic_, ~struck~, `code`, ``` blocks and > quotes. */
import { type Markup, plainMarkup, renderMarkdown } from '../text/index.ts';

/** Stands for the sign of bold until all is rendered, as a star may be one that is meant. Nothing in a text uses it. */
const BOLD = '\uE000';

const whatsAppMarkup: Markup = {
  ...plainMarkup,
  // None may stand in another.
  bold: (inner) => eachLine(inner.replaceAll(BOLD, ''), (line) => `${BOLD}${line}${BOLD}`),
  italic: (inner) => eachLine(inner, (line) => `_${line}_`),
  struck: (inner) => eachLine(inner, (line) => `~${line}~`),
  quote: (inner) => inner.replaceAll(/^/gm, '> '),
  code: (text) => `\`${text}\``,
  block: (text) => `\`\`\`\n${text}\n\`\`\``,
};

export function toWhatsAppMarkup(markdown: string): string {
  return renderMarkdown(markdown, whatsAppMarkup).replaceAll(BOLD, '*');
}

/** Signs hold within a line. */
function eachLine(text: string, wrap: (line: string) => string): string {
  return text
    .split('\n')
    .map((line) => (line.trim() === '' ? line : wrap(line)))
    .join('\n');
}
