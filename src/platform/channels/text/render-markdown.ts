/**
 * Markdown in the markup of a channel that has less of it: no headings, lists or tables. What is rendered is never longer than
 * what it is rendered from, the channel's own marks aside.
 */
import type { MarkedToken, Token, Tokens } from 'marked';
import { BoundedLexer } from './bounded-lexer.ts';
import { decodeReferences } from './decode-references.ts';

/** What a channel makes of each. `inner` is rendered already, `text` is not. */
export interface Markup {
  text(text: string): string;
  bold(inner: string): string;
  italic(inner: string): string;
  struck(inner: string): string;
  quote(inner: string): string;
  link(inner: string, href: string): string;
  /** Within a line. */
  code(text: string): string;
  block(text: string, language: string): string;
}

const RULE = '———';

export function renderMarkdown(markdown: string, markup: Markup): string {
  try {
    const lexer = new BoundedLexer({ gfm: true, breaks: false, pedantic: false });
    return renderBlocks(lexer.lex(markdown), markup, 0).trim();
  } catch (error) {
    // Marks within marks, a thousand deep: more than the parser has room or time for.
    if (error instanceof RangeError) return markup.text(markdown).trim();
    throw error;
  }
}

function renderBlocks(tokens: readonly Token[], markup: Markup, depth: number): string {
  let rendered = '';
  let gap = '';
  for (const token of tokens as readonly MarkedToken[]) {
    if (token.type !== 'space') rendered += (rendered === '' ? '' : gap) + renderBlock(token, markup, depth);
    gap = token.type === 'checkbox' ? '' : gapBehind(token.raw);
  }
  return rendered;
}

/** As much as the text has, and no more. */
function gapBehind(raw: string): string {
  return /\n[ \t]*\n/.test(raw.slice(raw.trimEnd().length)) ? '\n\n' : '\n';
}

function renderBlock(token: MarkedToken, markup: Markup, depth: number): string {
  switch (token.type) {
    case 'heading':
      return markup.bold(renderLine(token.tokens, markup));
    case 'blockquote':
      return markup.quote(renderBlocks(token.tokens, markup, 0));
    case 'code':
      return markup.block(token.text, token.lang?.trim().split(/\s/, 1)[0] ?? '');
    case 'list':
      return renderList(token, markup, depth);
    case 'table':
      return markup.block(token.raw.trimEnd(), '');
    case 'hr':
      return markup.text(RULE);
    case 'def':
    case 'html':
      return markup.text(token.raw.trimEnd());
    default:
      return renderLine([token], markup);
  }
}

/** Numbers stay as they were written: a list may be the rest of one. */
function renderList({ items }: Tokens.List, markup: Markup, depth: number): string {
  const indent = '  '.repeat(depth);
  let rendered = '';
  for (const [index, { raw, tokens }] of items.entries()) {
    const number = /^\s*(\d{1,9}[.)])/.exec(raw)?.[1];
    const marker = markup.text(`${indent}${number ?? '•'} `);
    rendered += marker + renderBlocks(tokens, markup, depth + 1) + (index < items.length - 1 ? gapBehind(raw) : '');
  }
  return rendered;
}

function renderLine(tokens: readonly Token[], markup: Markup): string {
  return (tokens as readonly MarkedToken[]).map((token) => renderSpan(token, markup)).join('');
}

function renderSpan(token: MarkedToken, markup: Markup): string {
  switch (token.type) {
    case 'strong':
      return markup.bold(renderLine(token.tokens, markup));
    case 'em':
      return markup.italic(renderLine(token.tokens, markup));
    case 'del':
      return markup.struck(renderLine(token.tokens, markup));
    case 'codespan':
      return markup.code(token.text);
    case 'br':
      return '\n';
    case 'link':
      return renderLink(renderLine(token.tokens, markup), token, markup);
    case 'image':
      return renderLink(markup.text(token.text), token, markup);
    case 'escape':
      return markup.text(token.text);
    case 'checkbox':
      return markup.text(token.checked ? '☑ ' : '☐ ');
    case 'text':
      return token.tokens === undefined ? markup.text(decodeReferences(token.text)) : renderLine(token.tokens, markup);
    case 'paragraph':
      return renderLine(token.tokens, markup);
    default:
      return /^<br\s*\/?>$/i.test(token.raw) ? '\n' : markup.text(token.raw);
  }
}

/** What is defined elsewhere is read there: a text may point to it a hundred times. */
function renderLink(inner: string, { raw, href }: Tokens.Link | Tokens.Image, markup: Markup): string {
  return raw.includes(href) ? markup.link(inner, href) : inner;
}
