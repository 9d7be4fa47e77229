/** Markdown in Slack's own markup: *bold*, _italic_, ~struck~, `code`, ``` blocks, > quotes and <links>. */
import { type Markup, plainMarkup, renderMarkdown } from '../text/index.ts';

/** Of a message: Slack would take more, and shows it badly. */
export const MESSAGE_LIMIT = 12_000;
/** Stands for the sign of bold until all is rendered, as a star may be one that is meant. Nothing in a text uses it. */
const BOLD = '\uE000';

/** Nobody is called: what names people, channels and all of them is written with `<`, which is escaped. */
const slackMarkup: Markup = {
  text: escapeText,
  // None may stand in another.
  bold: (inner) => eachLine(inner.replaceAll(BOLD, ''), (line) => `${BOLD}${line}${BOLD}`),
  italic: (inner) => eachLine(inner, (line) => `_${line}_`),
  struck: (inner) => eachLine(inner, (line) => `~${line}~`),
  quote: (inner) => inner.replaceAll(/^/gm, '> '),
  link: (inner, href) =>
    /^(https?:\/\/|mailto:)[^\s<>|]+$/i.test(href)
      ? `<${escapeText(href)}|${inner.replaceAll(/[<>|\n]/g, ' ').trim() || escapeText(href)}>`
      : plainMarkup.link(inner, escapeText(href)),
  code: (text) => `\`${escapeText(text)}\``,
  block: (text) => `\`\`\`\n${escapeText(text)}\n\`\`\``,
};

const quietMarkup: Markup = {
  ...plainMarkup,
  text: escapeText,
  code: escapeText,
  block: escapeText,
  link: (inner, href) => plainMarkup.link(inner, escapeText(href)),
};

export function renderMrkdwn(markdown: string): string {
  return renderMarkdown(markdown, slackMarkup).replaceAll(BOLD, '*');
}

/** Without any of it, and still escaped: Slack reads references in plain text too. */
export function renderSlackText(markdown: string): string {
  return renderMarkdown(markdown, quietMarkup);
}

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Signs hold within a line. */
function eachLine(text: string, wrap: (line: string) => string): string {
  return text
    .split('\n')
    .map((line) => (line.trim() === '' ? line : wrap(line)))
    .join('\n');
}
