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

/** Those of one text, read line by line only as far as somebody looks. */
export class FenceReader {
  readonly #text: string;
  readonly #isKept: (fence: Pick<Fence, 'reopening'>) => boolean;
  readonly #closed: Fence[] = [];
  #open: (Omit<Fence, 'to' | 'end'> & { readonly marks: string }) | undefined;
  #at = 0;

  /** The text has no `\r`. What is not kept is not told of. */
  constructor(text: string, isKept: (fence: Pick<Fence, 'reopening'>) => boolean = () => true) {
    this.#text = text;
    this.#isKept = isKept;
  }

  /**
   * Those that end behind `from` and begin before `until`, in order; a later call may not ask for what lies before `from`. Where
   * one ends is known if that is before `until`, else it may say the end of the text.
   */
  between(from: number, until: number): readonly Fence[] {
    while (this.#at < this.#text.length && this.#at <= until) this.#readLine();
    const over = this.#closed.findIndex(({ end }) => end > from);
    this.#closed.splice(0, over === -1 ? this.#closed.length : over);
    const found = this.#closed.filter(({ start }) => start < until);
    if (this.#open !== undefined && this.#open.start < until && this.#isKept(this.#open)) {
      const { length } = this.#text;
      found.push(fenceOf(this.#open, length, length));
    }
    return found;
  }

  #readLine(): void {
    const at = this.#at;
    const lineEnd = this.#text.indexOf('\n', at);
    const next = lineEnd === -1 ? this.#text.length : lineEnd + 1;
    const line = this.#text.slice(at, lineEnd === -1 ? this.#text.length : lineEnd);
    if (this.#open === undefined) this.#open = readOpening(line, at, next);
    else if (closes(line, this.#open.marks)) {
      if (this.#isKept(this.#open)) this.#closed.push(fenceOf(this.#open, at, next));
      this.#open = undefined;
    }
    this.#at = next;
  }
}

function fenceOf({ start, from, reopening, closing }: Omit<Fence, 'to' | 'end'>, to: number, end: number): Fence {
  return { start, from, to, end, reopening, closing };
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
