import { type TokenCounter, takeTokens } from '../tokens.ts';
import { makeWord } from './word-list.ts';

export type FlowEnd = 'stop' | 'length' | 'stop_sequence';

/** Cuts a text before each word, so that a delta is a word with the space before it. */
export function* splitWords(text: string): Generator<string, void, void> {
  for (const [delta] of text.matchAll(/\s*\S+|\s+$/g)) yield delta;
}

export function* generateWords(count: number): Generator<string, void, void> {
  for (let index = 0; index < count; index++) yield makeWord(index);
}

/**
 * Deltas of an answer as its limits let them pass: up to the first stop sequence, which is itself left out, and up to
 * `limit` tokens in all, counted by `counter` (which may hold earlier output). Returns what ended it.
 */
export function* limitFlow(
  deltas: Iterable<string>,
  stopSequences: readonly string[],
  counter: TokenCounter,
  limit: number,
): Generator<string, FlowEnd, void> {
  const stops = stopSequences.filter((stop) => stop !== '');
  const flow = stops.length === 0 ? deltas : stopAt(deltas, stops);
  for (const delta of flow) {
    if (delta === STOPPED) return 'stop_sequence';
    const taken = takeTokens(counter, delta, limit);
    if (taken !== '') yield taken;
    if (taken.length < delta.length) return 'length';
  }
  return 'stop';
}

/** Ends a flow that a stop sequence cut; no delta of a text is empty. */
const STOPPED = '';

/** Holds back as many characters as might begin a stop sequence. */
function* stopAt(deltas: Iterable<string>, stops: readonly string[]): Generator<string, void, void> {
  const held = Math.max(...stops.map((stop) => stop.length)) - 1;
  let buffer = '';
  for (const delta of deltas) {
    buffer += delta;
    const at = Math.min(...stops.map((stop) => buffer.indexOf(stop)).map((found) => (found < 0 ? Infinity : found)));
    if (at !== Infinity) {
      if (at > 0) yield buffer.slice(0, at);
      yield STOPPED;
      return;
    }
    const free = buffer.length - held;
    if (free > 0) {
      yield buffer.slice(0, free);
      buffer = buffer.slice(free);
    }
  }
  if (buffer !== '') yield buffer;
}
