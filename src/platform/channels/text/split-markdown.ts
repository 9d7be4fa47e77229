/**
 * Markdown in parts of a limited size, each of which is Markdown by itself: a block of code that goes on in the next part is
 * closed and opened again. Parts end between paragraphs where they can, else between lines, sentences, words, and at worst
 * between graphemes. Together they are the whole text, but for the white space that they end at. Each is made as it is taken,
 * in a time that the rest of the text has no part in.
 */
import { type Fence, FenceReader } from './fence-reader.ts';

export interface SplitLimits {
  /** The largest part. */
  readonly limit: number;
  /**
   * How long a text is for whoever limits it: more for a longer text, and at least half of its units of UTF-16, in which it is
   * measured by default.
   */
  readonly measure?: (text: string) => number;
}

/** A part is filled at least so far before it ends at one of these. */
const BREAKS: readonly { readonly pattern: RegExp; readonly filled: number }[] = [
  { pattern: /\n[ \t]*\n/g, filled: 0.5 },
  { pattern: /\n/g, filled: 0.5 },
  { pattern: /(?<=[.!?…][)"'”’»]*)\s/g, filled: 0.5 },
  { pattern: /(?<=[。！？])/g, filled: 0.5 },
  { pattern: /\s/g, filled: 0.25 },
];
const CODE_BREAKS: typeof BREAKS = [
  { pattern: /\n/g, filled: 0.1 },
  { pattern: /\s/g, filled: 0.5 },
];
/** Of the limit: a fence that is longer is not opened again. */
const MAX_FENCE = 0.25;
/** White space ahead of one is what it stands on. */
const MARK = /^[\p{M}\p{Grapheme_Extend}\p{Emoji_Modifier}\u200d]/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** None for a text of nothing but white space. */
export function* splitMarkdown(
  markdown: string,
  { limit, measure = (text) => text.length }: SplitLimits,
): Generator<string, void> {
  const text = markdown.replaceAll(/\r\n?/g, '\n').trimEnd();
  const maxFence = limit * MAX_FENCE;
  const reader = new FenceReader(text, ({ reopening }) => measure(reopening) <= maxFence);
  // No part has more, and where one ends the next character is looked at.
  const reach = 2 * limit + 2;
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const fences = reader.between(at, at + reach);
    const inside = fences.find((fence) => fence.from <= at && at < fence.to);
    const before = inside === undefined ? '' : `${inside.reopening}\n`;
    if (text.length - at <= 2 * limit && measure(before + text.slice(at)) <= limit) {
      yield before + text.slice(at);
      return;
    }
    const { end, after, next } = findEnd(text, at, fences, (part) => measure(before + part) <= limit);
    const said = after === '' ? text.slice(at, end).trimEnd() : text.slice(at, end) + after;
    if (text.slice(at, end).trim() !== '') yield before + said;
    at = next;
  }
}

interface PartEnd {
  readonly end: number;
  /** What closes the code that goes on. */
  readonly after: string;
  /** Where the next part begins. */
  readonly next: number;
}

function findEnd(text: string, at: number, fences: readonly Fence[], fits: (part: string) => boolean): PartEnd {
  // What closes the code takes room of its own, so with less room the part may end elsewhere.
  for (let after = ''; ; ) {
    const room = after;
    const end = chooseEnd(text, at, fences, (part) => fits(part + room));
    const fence = fences.find(({ from, end: over }) => from < end && end < over);
    if (fence === undefined) return { end, after: '', next: skipSpace(text, end) };
    const code = Math.min(end, fence.to);
    const closing = text[code - 1] === '\n' ? fence.closing : `\n${fence.closing}`;
    if (closing.length > room.length) {
      after = `\n${fence.closing}`;
      continue;
    }
    const next = text[end] === '\n' ? end + 1 : end;
    // Ours stands for the closing line.
    if (next >= fence.to) return { end: Math.min(end, fence.to), after: closing, next: skipSpace(text, fence.end) };
    return { end, after: closing, next };
  }
}

/** Beyond `at`. */
function chooseEnd(text: string, at: number, fences: readonly Fence[], fits: (part: string) => boolean): number {
  const furthest = furthestFit(text, at, fits);
  const end = breakBefore(text, at, furthest, fences);
  const fence = fences.find(({ start, to }) => start < end && end < to);
  if (fence === undefined || fence.start <= at || text.slice(at, fence.start).trim() === '') return end;
  // Rather ahead of a block of code than before its first whole line.
  return text.slice(fence.from, end + 1).includes('\n') ? end : fence.start;
}

function breakBefore(text: string, at: number, furthest: number, fences: readonly Fence[]): number {
  const code = fences.find(({ from, to }) => from < furthest && furthest <= to);
  // One more, so that a break right behind what fits is seen.
  const seen = text.slice(at, furthest + 1);
  const segments = graphemes.segment(text.slice(at, furthest + (furthest - at)));
  for (const { pattern, filled } of code === undefined ? BREAKS : CODE_BREAKS) {
    // Of code there is some behind its first line.
    const least = Math.max(1, (furthest - at) * filled, code === undefined ? 0 : code.from - at + 1);
    const found = [...seen.matchAll(pattern)].map(({ index }) => index);
    const last = found.findLast((index) => index <= furthest - at && segments.containing(index)?.index === index);
    if (last !== undefined && last >= least) return at + last;
  }
  const boundary = segments.containing(furthest - at)?.index ?? furthest - at;
  if (boundary > 0) return at + boundary;
  // One grapheme that is larger than a part.
  return isLowSurrogate(text, furthest) && furthest - at > 1 ? furthest - 1 : furthest;
}

/** The end of the longest text from `at` on that fits; at least one character. */
function furthestFit(text: string, at: number, fits: (part: string) => boolean): number {
  let [low, high] = [at + 1, at + 2];
  while (high < text.length && fits(text.slice(at, high)))
    [low, high] = [high, Math.min(text.length, at + 2 * (high - at))];
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (fits(text.slice(at, middle))) low = middle;
    else high = middle;
  }
  return isLowSurrogate(text, low) && low === at + 1 ? low + 1 : low;
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function skipSpace(text: string, at: number): number {
  const rest = text.slice(at).trimStart();
  const next = text.length - rest.length;
  return next > at && MARK.test(rest) ? next - 1 : next;
}
