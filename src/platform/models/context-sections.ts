/**
 * How retrieved text is set off from instructions in a model's context: an element on lines of its own. Large models read
 * such sections well, and the built-in demo model finds them by these names.
 */
export const SEARCH_RESULTS_TAG = 'search_results';
export const MEMORY_TAG = 'memory';

/** What stands before the files that tools gave, which follow the results: few models take files inside them. */
export const RESULT_FILES_TEXT = 'Files that the calls above gave:';

export type SectionTag = typeof SEARCH_RESULTS_TAG | typeof MEMORY_TAG;

const TAGS: readonly SectionTag[] = [SEARCH_RESULTS_TAG, MEMORY_TAG];

export interface ContextSection {
  readonly tag: SectionTag;
  readonly text: string;
}

/** One section, closed even when `text` itself contains the closing tag. */
export function wrapSection(tag: SectionTag, text: string): string {
  return `<${tag}>\n${text.replaceAll(`</${tag}>`, `</ ${tag}>`)}\n</${tag}>`;
}

/** The sections in the order in which they stand, the line breaks beside their tags left out. */
export function findSections(text: string): ContextSection[] {
  return scanSections(text).map(({ tag, from, to }) => {
    const open = from + tag.length + 2;
    const close = to - tag.length - 3;
    return { tag, text: text.slice(open, close).replace(/^\n/, '').replace(/\n$/, '') };
  });
}

/** The text without its sections. */
export function stripSections(text: string): string {
  let rest = '';
  let at = 0;
  for (const { from, to } of scanSections(text)) {
    rest += text.slice(at, from);
    at = to;
  }
  return rest + text.slice(at);
}

/** Where sections begin and end. One pass over the text, however many tags are never closed. */
function scanSections(text: string): { tag: SectionTag; from: number; to: number }[] {
  const found: { tag: SectionTag; from: number; to: number }[] = [];
  for (const tag of TAGS) {
    for (let from = text.indexOf(`<${tag}>`); from >= 0; ) {
      const close = text.indexOf(`</${tag}>`, from);
      if (close < 0) break;
      const to = close + tag.length + 3;
      found.push({ tag, from, to });
      from = text.indexOf(`<${tag}>`, to);
    }
  }
  found.sort((a, b) => a.from - b.from);
  // One inside another is part of its text.
  let end = 0;
  return found.filter(({ from, to }) => {
    if (from < end) return false;
    end = to;
    return true;
  });
}
