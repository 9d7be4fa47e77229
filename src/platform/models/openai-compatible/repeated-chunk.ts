/**
 * Chunks that differ in their text alone. Of a long answer nearly all are so, and to parse each whole costs more than anything
 * else that is done with a token that comes in a burst.
 */
import { listOf, type Members, objectOf } from './chat-members.ts';

/** Streams whose chunks differ in more, a time for example, are not tried for ever. */
const MAX_MISSES = 4;

const CONTENT_KEY = '"content":';
/** A text that stands in JSON as it is. */
const PLAIN = /^[^"\\\p{Cc}]*$/u;

export class RepeatedChunk {
  #start = '';
  #end = '';
  #misses = 0;

  /** The text of a chunk that is like the last one in everything else; undefined where it has to be parsed. */
  readText(data: string): string | undefined {
    const length = data.length - this.#start.length - this.#end.length;
    if (this.#start === '' || length < 0) return undefined;
    if (!data.startsWith(this.#start) || !data.endsWith(this.#end)) return undefined;
    const text = data.slice(this.#start.length, data.length - this.#end.length);
    return PLAIN.test(text) ? text : undefined;
  }

  /** Notes a chunk that has been parsed and was found to be a good one: those like it need not be. */
  learn(data: string, chunk: Members): void {
    if (this.#misses >= MAX_MISSES) return;
    const text = onlyText(chunk);
    const at = text === undefined ? -1 : findValue(data);
    if (text === undefined || at < 0 || !PLAIN.test(text) || !data.startsWith(`${text}"`, at)) return;
    if (this.#start !== '') this.#misses += 1;
    this.#start = data.slice(0, at);
    this.#end = data.slice(at + text.length);
  }
}

/** What the chunk says, where that is a text and the chunk does nothing else. */
function onlyText({ usage, choices }: Members): string | undefined {
  const [first] = listOf(choices, 'choices');
  if (first === undefined || !isNothing(usage)) return undefined;
  const { finish_reason, delta } = objectOf(first, 'choices[]');
  if (!isNothing(finish_reason) || isNothing(delta)) return undefined;
  const { content, reasoning_content, reasoning, refusal, tool_calls } = objectOf(delta, 'delta');
  const others = [reasoning_content, reasoning, refusal, tool_calls];
  return typeof content === 'string' && content !== '' && others.every(isNothing) ? content : undefined;
}

function isNothing(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Where the text of the only `content` begins; -1 where there are several, or it is no text. */
function findValue(data: string): number {
  const key = data.indexOf(CONTENT_KEY);
  if (key < 0 || data.includes(CONTENT_KEY, key + 1)) return -1;
  let at = key + CONTENT_KEY.length;
  while (data[at] === ' ') at += 1;
  return data[at] === '"' ? at + 1 : -1;
}
