/** Fenced blocks of code in Markdown (CommonMark, 4.5), also inside lists and quotations. */

export interface Fence {
  /** Where the opening line begins, and where the first line behind it does. */
  readonly start: number;
  readonly from: number;
  /** Where the closing line begins, and where the first line behind it does; both the end of the text where it is left open. */
  readonly to: number;
  readonly end: number;
  /** Lines, without a line break, that open and close it again. */
  readonly reopening: string;
  readonly closing: string;
}

const OPENING = /^(?<quote>(?:[ \t]*>)*[ \t]*)(?<item>(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?<marks>`{3,}|~{3,})(?<info>.*)$/;
const CLOSING = /^[ \t>]*(?<marks>`{3,}|~{3,})[ \t]*$/;

/** In order. The text has no `\r`. */
export function findFences(text: string): readonly Fence[] {
  const fences: Fence[] = [];
  let open: (Omit<Fence, 'to' | 'end'> & { readonly marks: string }) | undefined;
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.indexOf('\n', at);
    const next = lineEnd === -1 ? text.length : lineEnd + 1;
    const line = text.slice(at, lineEnd === -1 ? text.length : lineEnd);
    if (open === undefined) open = readOpening(line, at, next);
    else if (closes(line, open.marks)) {
      const { marks: _marks, ...fence } = open;
      fences.push({ ...fence, to: at, end: next });
      open = undefined;
    }
    at = next;
  }
  if (open !== undefined) {
    const { marks: _marks, ...fence } = open;
    fences.push({ ...fence, to: text.length, end: text.length });
  }
  return fences;
}

function readOpening(line: string, start: number, from: number) {
  const { quote = '', item = '', marks = '', info = '' } = OPENING.exec(line)?.groups ?? {};
  // Three backticks and what they end with: code inside a line.
  if (marks === '' || (marks.startsWith('`') && info.includes('`'))) return undefined;
  const indent = quote + ' '.repeat(item.length);
  const [language = ''] = info.trim().split(/\s/, 1);
  return { start, from, marks, reopening: `${indent}${marks}${language}`, closing: `${indent}${marks}` };
}

function closes(line: string, marks: string): boolean {
  const found = CLOSING.exec(line)?.groups?.marks ?? '';
  return found[0] === marks[0] && found.length >= marks.length;
}
