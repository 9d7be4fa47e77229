/**
 * Where the tokens of o200k_base end in a text. The vocabulary is gpt-tokenizer's; the merging is done here, because a
 * file may hold what a prompt never does (a megabyte without a space takes that package's quadratic merge minutes), and
 * because its cache keeps every text alive that a cached word was cut from.
 *
 * Loading the vocabulary takes a tenth of a second and some 60 MB: import this in a child process only.
 */
import vocabulary from 'gpt-tokenizer/bpeRanks/o200k_base';
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';

/** The end of a token that covers only a part of its last character's bytes. */
export const INSIDE_CHARACTER = -1;

const CACHED_PIECE_CHARACTERS = 40;
const CACHED_PIECES = 50_000;

/**
 * Token to rank. Keys are bytes, one character each (latin1), so that a key is the text itself where that is ASCII. The others,
 * a third of them, cost most of the time: they join with the first text that may have them.
 */
const ranks = new Map<string, number>();
const otherRanks: number[] = [];
for (const [rank, token] of vocabulary.entries()) {
  if (typeof token === 'string' && isAscii(token)) ranks.set(token, rank);
  else otherRanks.push(rank);
}

function addOtherRanks(): void {
  for (const rank of otherRanks.splice(0)) {
    const token = vocabulary[rank] ?? '';
    ranks.set(typeof token === 'string' ? bytesOf(token) : String.fromCharCode(...token), rank);
  }
}

/** o200k_base means Unicode's blanks by `\s`; JavaScript has a byte order mark among them and U+0085 not. */
const splitter = new RegExp(
  O200K_TOKEN_SPLIT_REGEX.source.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}'),
  'gu',
);
const cache = new Map<string, readonly number[]>();

/** Appends the end of each token of `text` to `ends`: its position in `text` plus `base`, or INSIDE_CHARACTER. */
export function appendTokenEnds(text: string, base: number, ends: number[]): void {
  let start = 0;
  splitter.lastIndex = 0;
  // The expression leaves no character out, so that each match begins where the last one ended.
  while (splitter.test(text)) {
    const end = splitter.lastIndex;
    const piece = text.slice(start, end);
    const ascii = isAscii(piece);
    if (ascii && ranks.has(piece)) ends.push(base + end);
    else for (const tokenEnd of splitPiece(piece, ascii)) ends.push(tokenEnd < 0 ? tokenEnd : base + start + tokenEnd);
    start = end;
  }
}

export function countTokens(text: string): number {
  const ends: number[] = [];
  appendTokenEnds(text, 0, ends);
  return ends.length;
}

function splitPiece(piece: string, ascii: boolean): readonly number[] {
  const cached = cache.get(piece);
  if (cached !== undefined) return cached;
  if (!ascii) addOtherRanks();
  const bytes = ascii ? piece : bytesOf(piece);
  const byteEnds = ranks.has(bytes) ? [bytes.length] : mergeBytes(bytes);
  const ends = ascii ? byteEnds : characterEnds(piece, byteEnds);
  if (piece.length <= CACHED_PIECE_CHARACTERS) {
    if (cache.size >= CACHED_PIECES) cache.clear();
    // A slice keeps the text that it was cut from in memory; a copy does not.
    cache.set(Buffer.from(piece, 'utf16le').toString('utf16le'), ends);
  }
  return ends;
}

function characterEnds(piece: string, byteEnds: readonly number[]): number[] {
  const ends: number[] = [];
  let bytes = 0;
  let position = 0;
  for (const byteEnd of byteEnds) {
    while (bytes < byteEnd) {
      const point = piece.codePointAt(position) ?? 0;
      bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      position += point < 0x10000 ? 1 : 2;
    }
    ends.push(bytes === byteEnd ? position : INSIDE_CHARACTER);
  }
  return ends;
}

/**
 * Byte pair encoding: the pair of neighbours with the lowest rank, the leftmost of equals, becomes one, until no pair is
 * in the vocabulary. The parts are a linked list by their first byte; the pairs wait in a heap, and those that a merge
 * has outdated are skipped when they come up: O(n log n).
 */
function mergeBytes(bytes: string): number[] {
  const length = bytes.length;
  const next = new Int32Array(length + 1);
  const previous = new Int32Array(length + 1);
  const pairRank = new Int32Array(length + 1).fill(-1);
  const heap: number[] = [];
  const offer = (start: number): void => {
    const middle = next[start] ?? length;
    const end = middle < length ? (next[middle] ?? length) : -1;
    const rank = end < 0 ? undefined : ranks.get(bytes.slice(start, end));
    pairRank[start] = rank ?? -1;
    // One number orders by rank, then by position: both fit in the 53 bits that are exact.
    if (rank !== undefined) pushHeap(heap, rank * POSITIONS + start);
  };
  for (let index = 0; index <= length; index++) {
    next[index] = index + 1;
    previous[index] = index - 1;
  }
  for (let index = 0; index < length - 1; index++) offer(index);
  while (heap.length > 0) {
    const top = popHeap(heap);
    const start = top % POSITIONS;
    if (pairRank[start] !== (top - start) / POSITIONS) continue;
    const middle = next[start] ?? length;
    const end = next[middle] ?? length;
    next[start] = end;
    previous[end] = start;
    pairRank[middle] = -1;
    offer(start);
    if (start > 0) offer(previous[start] ?? 0);
  }
  const ends: number[] = [];
  for (let start = 0; start < length; start = next[start] ?? length) ends.push(next[start] ?? length);
  return ends;
}

const POSITIONS = 2 ** 32;

function pushHeap(heap: number[], value: number): void {
  let index = heap.length;
  heap.push(value);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent] ?? 0;
    if (above <= value) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = value;
}

function popHeap(heap: number[]): number {
  const top = heap[0] ?? 0;
  const value = heap.pop() ?? 0;
  const size = heap.length;
  if (size === 0) return top;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= size) break;
    if (child + 1 < size && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child++;
    const below = heap[child] ?? 0;
    if (below >= value) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = value;
  return top;
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7f) return false;
  return true;
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
