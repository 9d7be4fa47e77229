/** Markdown as the HTML of a mail: nothing but what is made here, and nothing that is fetched. */
import { type Markup, plainMarkup, renderMarkdown } from '../text/index.ts';

const CODE = 'font-family:ui-monospace,monospace;background:#8881;border-radius:4px';

const htmlMarkup: Markup = {
  text: escapeHtml,
  bold: (inner) => `<b>${inner}</b>`,
  italic: (inner) => `<i>${inner}</i>`,
  struck: (inner) => `<s>${inner}</s>`,
  quote: (inner) => `<blockquote>${inner}</blockquote>`,
  // Pictures are links too: what is fetched when a mail is opened tells its sender so.
  link: (inner, href) =>
    /^(?:https?:\/\/|mailto:)[^\s]+$/i.test(href)
      ? `<a href="${escapeHtml(href)}" rel="noopener noreferrer">${inner === '' ? escapeHtml(href) : inner.replaceAll(/<a [^>]*>|<\/a>/g, '')}</a>`
      : plainMarkup.link(inner, escapeHtml(href)),
  code: (text) => `<code style="${CODE}">${escapeHtml(text)}</code>`,
  block: (text) => `<pre style="${CODE};padding:8px;overflow:auto;white-space:pre-wrap">${escapeHtml(text)}</pre>`,
};

export function renderMailHtml(markdown: string): string {
  const body = renderMarkdown(markdown, htmlMarkup);
  const style = 'white-space:pre-wrap;overflow-wrap:anywhere;font-family:system-ui,sans-serif;line-height:1.45';
  return `<!doctype html><html><head><meta charset="utf-8"></head><body><div dir="auto" style="${style}">${body}</div></body></html>`;
}

export function renderMailText(markdown: string): string {
  return renderMarkdown(markdown, plainMarkup);
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
