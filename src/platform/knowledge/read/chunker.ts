/**
 * Text into chunks that are windows over its tokens: each takes `chunkTokens`, and the next begins `overlapTokens` before
 * its end. What this guarantees:
 * - The tokens are those of the text as a whole, so that nothing is lost and an overlap is exact.
 * - No chunk, counted by itself, has more than `chunkTokens`. (Cut in the middle of a word, a text can come to more tokens
 *   than it was part of; the window then ends a token earlier.)
 * - No character is cut in two. Where a window's end or an overlap's start falls between the bytes of a character (three
 *   tokens for one rare sign), both move back to its start.
 * - A window of blanks alone is left out: no search can find it, and some embedding models refuse it.
 * - The chunks do not depend on the pieces in which the text arrived.
 */
import { type Chunking, checkChunking, type DocumentChunk } from './document.ts';
import { appendTokenEnds, countTokens, INSIDE_CHARACTER } from './tokenizer.ts';

/** Tokenized at a time. Memory and the longest stall follow from it. */
const BLOCK_CHARACTERS = 65_536;

export class Chunker {
  readonly #chunkTokens: number;
  readonly #overlapTokens: number;
  /** Arrived, not yet tokenized. */
  #pending = '';
  /** Tokenized, from the start of the present window on; `#ends` are positions in it. */
  #text = '';
  #ends: number[] = [];
  /** The token that the present window begins with, and its position. */
  #first = 0;
  #start = 0;
  /** The token after the last one that a window took. */
  #covered = 0;
  #blank = true;

  /** Throws RangeError for sizes that cannot be. */
  constructor(chunking: Chunking) {
    checkChunking(chunking);
    this.#chunkTokens = chunking.chunkTokens;
    this.#overlapTokens = chunking.overlapTokens;
  }

  /** Whether nothing but blanks has come so far. */
  get blank(): boolean {
    return this.#blank;
  }

  /** Takes more text (well-formed, without NUL), yields the chunks that are complete. */
  *push(text: string): Generator<DocumentChunk> {
    this.#pending += text;
    let taken = 0;
    while (this.#pending.length - taken > BLOCK_CHARACTERS) {
      const end = findBlockEnd(this.#pending, taken);
      yield* this.#tokenize(this.#pending.slice(taken, end), false);
      taken = end;
    }
    if (taken > 0) this.#pending = this.#pending.slice(taken);
  }

  /** Yields the rest. */
  *finish(): Generator<DocumentChunk> {
    const rest = this.#pending;
    this.#pending = '';
    yield* this.#tokenize(rest, true);
  }

  *#tokenize(block: string, final: boolean): Generator<DocumentChunk> {
    const offset = this.#text.length;
    this.#text += block;
    if (this.#blank) this.#blank = block.trim() === '';
    appendTokenEnds(block, offset, this.#ends);
    for (;;) {
      const left = this.#ends.length - this.#first;
      if (left === 0 || (!final && left <= this.#chunkTokens)) break;
      const { end, tokens } = this.#findWindowEnd(this.#first + Math.min(left, this.#chunkTokens));
      const text = this.#text.slice(this.#start, this.#endOf(end - 1));
      if (end > this.#covered && text.trim() !== '') yield { text, tokens };
      if (final && end === this.#ends.length) break;
      // A window that a large character kept from reaching past the last one gives way to the next.
      if (end > this.#covered) this.#moveTo(end - this.#overlapTokens);
      else this.#moveTo(this.#first + 1);
      this.#covered = Math.max(this.#covered, end);
    }
    this.#forget();
  }

  /** The last token boundary up to `end` at which the window keeps its promises, and its tokens by themselves. */
  #findWindowEnd(end: number): { end: number; tokens: number } {
    for (let candidate = end; ; candidate--) {
      if (this.#ends[candidate - 1] === INSIDE_CHARACTER) continue;
      const tokens = this.#countAlone(candidate);
      if (tokens <= this.#chunkTokens) return { end: candidate, tokens };
    }
  }

  /**
   * The tokens of the window up to token `end` when it stands alone. They differ from those in the document only before
   * the first and after the last place where no token can reach across: just these two ends are counted again.
   */
  #countAlone(end: number): number {
    const text = this.#text;
    const last = this.#endOf(end - 1);
    let head = this.#first;
    while (head < end && !isBarrier(text, this.#endOf(head))) head++;
    let tail = end - 2;
    while (tail > head && !isBarrier(text, this.#endOf(tail))) tail--;
    if (tail <= head) return countTokens(text.slice(this.#start, last));
    const headTokens = countTokens(text.slice(this.#start, this.#endOf(head)));
    const tailTokens = countTokens(text.slice(this.#endOf(tail), last));
    return headTokens + (tail - head) + tailTokens;
  }

  #endOf(token: number): number {
    return this.#ends[token] ?? 0;
  }

  /** Lets the next window begin with token `first`, or with the character that holds it; always later than the last. */
  #moveTo(first: number): void {
    let next = first;
    while (this.#ends[next - 1] === INSIDE_CHARACTER) next--;
    if (next <= this.#first) {
      next = this.#first + 1;
      while (this.#ends[next - 1] === INSIDE_CHARACTER) next++;
    }
    this.#first = next;
    this.#start = this.#endOf(next - 1);
  }

  #forget(): void {
    const start = this.#start;
    if (start === 0) return;
    this.#text = this.#text.slice(start);
    this.#ends = this.#ends.slice(this.#first).map((end) => (end === INSIDE_CHARACTER ? end : end - start));
    this.#covered -= this.#first;
    this.#first = 0;
    this.#start = 0;
  }
}

/** Where to cut the block that begins at `start`: at its last barrier; where it has none, anywhere between characters. */
function findBlockEnd(text: string, start: number): number {
  const limit = start + BLOCK_CHARACTERS;
  for (let position = limit; position > start; position--) if (isBarrier(text, position)) return position;
  const code = text.charCodeAt(limit - 1);
  return code >= 0xd800 && code < 0xdc00 ? limit - 1 : limit;
}

/**
 * Whether no token can reach across `position`, whatever comes before and after. By the expression that o200k_base
 * splits a text with: only line breaks and slashes are taken after what is no blank, so that a blank always begins anew;
 * and what follows a letter or digit is taken along only if it is a letter, a digit, a mark or an apostrophe.
 */
function isBarrier(text: string, position: number): boolean {
  if (position <= 0 || position >= text.length) return false;
  const before = kindOf(text.charCodeAt(position - 1));
  const after = kindOf(text.charCodeAt(position));
  if (after === BLANK) return before !== BLANK && before !== BREAK;
  return before === WORD && (after === BREAK || after === SIGN);
}

const BLANK = 0;
const BREAK = 1;
const WORD = 2;
const SIGN = 3;
/** Marks, apostrophes and halves of surrogate pairs: may belong to either side. */
const EITHER = 4;

const KINDS = Uint8Array.from({ length: 0x10000 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (code === 10 || code === 13) return BREAK;
  if (/\p{White_Space}/u.test(character)) return BLANK;
  if (/[\p{L}\p{N}]/u.test(character)) return WORD;
  return code === 0x27 || (code >= 0xd800 && code <= 0xdfff) || /\p{M}/u.test(character) ? EITHER : SIGN;
});

function kindOf(code: number): number {
  return KINDS[code] ?? EITHER;
}
