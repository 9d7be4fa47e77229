/** Markdown as Telegram's HTML, which knows a few tags and refuses a message for any other. https://core.telegram.org/bots/api#html-style */
import { type Markup, plainMarkup, renderMarkdown } from '../text/index.ts';

/** Of a message, in units of UTF-16, without its tags. */
export const MESSAGE_LIMIT = 4_096;

/** Whoever is called by name is told: names in answers are no calls. */
const NAME = /(?<![\p{L}\p{N}_])@(?=\w)/gu;
const CALLS_NOBODY = '@\u2060';

/** Of what the Markdown becomes, at most. */
export function measureForTelegram(markdown: string): number {
  return markdown.length + (markdown.match(NAME)?.length ?? 0);
}

const htmlMarkup: Markup = {
  text: (text) => escapeHtml(quieten(text)),
  bold: (inner) => wrap('b', inner),
  italic: (inner) => wrap('i', inner),
  struck: (inner) => wrap('s', inner),
  // None may stand in another.
  quote: (inner) => wrap('blockquote', inner.replaceAll(/<\/?blockquote>/g, '')),
  // Other addresses than these may call somebody, or are refused.
  link: (inner, href) =>
    /^https?:\/\/[^\s]+$/i.test(href) && inner !== ''
      ? `<a href="${escapeHtml(href)}">${inner.replaceAll(/<a [^>]*>|<\/a>/g, '')}</a>`
      : plainMarkup.link(inner, escapeHtml(quieten(href))),
  code: (text) => wrap('code', escapeHtml(text)),
  block: (text, language) =>
    /^[\w+#.-]{1,40}$/.test(language)
      ? `<pre><code class="language-${escapeHtml(language)}">${escapeHtml(text)}</code></pre>`
      : wrap('pre', escapeHtml(text)),
};

const quietMarkup: Markup = {
  ...plainMarkup,
  text: quieten,
  code: quieten,
  block: quieten,
  link: (inner, href) => plainMarkup.link(inner, quieten(href)),
};

export function renderTelegramHtml(markdown: string): string {
  return renderMarkdown(markdown, htmlMarkup);
}

export function renderTelegramText(markdown: string): string {
  return renderMarkdown(markdown, quietMarkup);
}

/** Without a call to anybody. */
function quieten(text: string): string {
  return text.replaceAll(NAME, CALLS_NOBODY);
}

/** A tag around nothing is refused. */
function wrap(tag: string, inner: string): string {
  return inner === '' ? '' : `<${tag}>${inner}</${tag}>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
