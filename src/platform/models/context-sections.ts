/**
 * How retrieved text is set off from instructions in a model's context: an element on lines of its own. Large models read
 * such sections well, and the built-in demo model finds them by these names.
 */
export const SEARCH_RESULTS_TAG = 'search_results';
export const MEMORY_TAG = 'memory';

export type SectionTag = typeof SEARCH_RESULTS_TAG | typeof MEMORY_TAG;

const SECTION = new RegExp(`<(${SEARCH_RESULTS_TAG}|${MEMORY_TAG})>\\n?([\\s\\S]*?)\\n?</\\1>`, 'g');

export interface ContextSection {
  readonly tag: SectionTag;
  readonly text: string;
}

/** One section, closed even when `text` itself contains the closing tag. */
export function wrapSection(tag: SectionTag, text: string): string {
  return `<${tag}>\n${text.replaceAll(`</${tag}>`, `</ ${tag}>`)}\n</${tag}>`;
}

export function findSections(text: string): ContextSection[] {
  // Most texts have none: the scan for the bracket is cheaper than the expression.
  if (!text.includes('</')) return [];
  return [...text.matchAll(SECTION)].map(([, tag, body]) => ({
    tag: tag === MEMORY_TAG ? MEMORY_TAG : SEARCH_RESULTS_TAG,
    text: body ?? '',
  }));
}

/** The text without its sections. */
export function stripSections(text: string): string {
  return text.includes('</') ? text.replace(SECTION, '') : text;
}
