/** Markdown without its marks. */
import type { Markup } from './render-markdown.ts';

/** Addresses of links stand behind what is linked. */
export const plainMarkup: Markup = {
  text: (text) => text,
  bold: (inner) => inner,
  italic: (inner) => inner,
  struck: (inner) => inner,
  quote: (inner) => inner,
  link: (inner, href) =>
    inner === href || inner === '' || `mailto:${inner}` === href ? inner || href : `${inner} (${href})`,
  code: (text) => text,
  block: (text) => text,
};
