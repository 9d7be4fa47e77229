/** Answers in the forms of channels: Markdown in parts, in other markup, or without any. Pure. */
export { markLast } from './mark-last.ts';
export { plainMarkup } from './plain-markup.ts';
export { type Markup, renderMarkdown } from './render-markdown.ts';
export { splitMarkdown } from './split-markdown.ts';
