/** The entries of a zone file (RFC 1035 5.1): lines, or several where parentheses hold them together. */
import { badFile } from './bad-file.ts';

export interface Entry {
  /** That on which it begins, from 1. */
  readonly line: number;
  /** False where it begins with a blank: it is of the same name as the one before. */
  readonly hasOwner: boolean;
  /** As written: with quotes and escapes. */
  readonly words: readonly string[];
}

/** Blanks, the end of a line, a comment, a parenthesis, and three parts of words: quoted, escaped, plain. */
const PART = /([^\S\n]+)|(\n)|(;[^\n]*)|([()])|("(?:[^"\\\n]|\\[^\n])*"|\\(?:\d{3}|[^\n])|[^\s"();\\]+)/y;

/** Longer than any record that a zone here may have. */
const LONGEST_ENTRY = 20_000;

/** Throws `bad_request` for an entry that is too long, and for a quote or a parenthesis without its other one. */
export function* readEntries(text: string): Generator<Entry> {
  let line = 1;
  let depth = 0;
  let entry = { line, hasOwner: true, words: [] as string[] };
  let isInWord = false;
  PART.lastIndex = text.startsWith('\uFEFF') ? 1 : 0;
  let at = PART.lastIndex;
  let entryAt = at;
  while (at < text.length) {
    PART.lastIndex = at;
    const found = PART.exec(text);
    if (found === null) throw badFile(line, 'A quote is not closed, or a line ends with a backslash.');
    const [whole, blanks, newline, , parenthesis, part] = found;
    if (blanks !== undefined && at === entryAt) entry.hasOwner = false;
    if (parenthesis !== undefined) depth += parenthesis === '(' ? 1 : -1;
    if (depth < 0) throw badFile(line, 'A parenthesis is closed that was not opened.');
    if (part !== undefined) entry.words.push(isInWord ? `${entry.words.pop()}${part}` : part);
    isInWord = part !== undefined;
    at += whole.length;
    if (at - entryAt > LONGEST_ENTRY && entry.words.length > 0) {
      throw badFile(entry.line, `A record has at most ${LONGEST_ENTRY} characters.`);
    }
    if (newline === undefined) continue;
    line += 1;
    if (depth > 0) continue;
    if (entry.words.length > 0) yield entry;
    entry = { line, hasOwner: true, words: [] };
    entryAt = at;
  }
  if (depth > 0) throw badFile(entry.line, 'A parenthesis is not closed.');
  if (entry.words.length > 0) yield entry;
}
