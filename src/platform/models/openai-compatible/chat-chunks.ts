/** The chunks of a streamed answer as parts. */
import {
  InvalidResponseDataError,
  JSONParseError,
  type LanguageModelV4StreamPart,
  type SharedV4Warning,
  TypeValidationError,
} from '@ai-sdk/provider';
import { AnswerTooLarge } from '../answer-limits.ts';
import { readMetadata, readUsage, renderFinishReason, renderUsage } from './answer-members.ts';
import { CallFragments } from './call-fragments.ts';
import {
  listOf,
  type Members,
  objectOf,
  optionalObject,
  optionalText,
  readCallFragments,
  readSaid,
  WrongMember,
} from './chat-members.ts';
import { RepeatedChunk } from './repeated-chunk.ts';

type Part = LanguageModelV4StreamPart;

const TEXT_ID = 'txt-0';
const REASONING_ID = 'reasoning-0';

/** Reads one stream. An error is its last part. */
export class ChatChunks {
  #parts: Part[];
  readonly #calls: CallFragments;
  readonly #repeated = new RepeatedChunk();
  /** Nothing that comes is read any more. */
  ended = false;
  #hasMetadata = false;
  #open: 'text' | 'reasoning' | undefined;
  #refused = false;
  #finishReason: string | undefined;
  #usage: Members | undefined;

  constructor(provider: string, warnings: SharedV4Warning[]) {
    this.#calls = new CallFragments(provider);
    this.#parts = [{ type: 'stream-start', warnings }];
  }

  /** The parts that have come together since. */
  take(): readonly Part[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  /** One event of the stream. */
  read(data: string): void {
    if (this.ended) return;
    if (data === '[DONE]') this.end();
    else {
      const text = this.#repeated.readText(data);
      if (text === undefined) this.#parse(data);
      else if (text !== '') this.#say('text', text);
    }
  }

  #parse(data: string): void {
    let chunk: unknown;
    try {
      chunk = JSON.parse(data);
    } catch (cause) {
      this.fail(new JSONParseError({ text: data, cause }));
      return;
    }
    try {
      const members = objectOf(chunk, 'chunk');
      this.#readChunk(members);
      // One without the answer's id, or one that ended it, is not to be repeated.
      if (this.#hasMetadata && !this.ended) this.#repeated.learn(data, members);
    } catch (cause) {
      this.fail(cause instanceof AnswerTooLarge ? cause : new TypeValidationError({ value: chunk, cause }));
    }
  }

  /** Ends with an error. */
  fail(error: unknown): void {
    if (this.ended) return;
    this.ended = true;
    this.#parts.push({ type: 'error', error });
  }

  /** Nothing more comes. */
  end(): void {
    if (this.ended) return;
    this.#switchTo(undefined);
    const calls = this.#calls.end();
    this.#parts.push(...(calls ?? []));
    const finishReason = this.#finishReason;
    if (calls === undefined) {
      this.fail(unreadable('A call of a tool has no name.'));
    } else if (finishReason === undefined) {
      // The end of its connection may have cut the answer off.
      this.fail(unreadable('The answer ended without a finish reason.'));
    } else {
      this.ended = true;
      const usage = renderUsage(this.#usage);
      this.#parts.push({ type: 'finish', finishReason: renderFinishReason(finishReason, this.#refused), usage });
    }
  }

  #readChunk(chunk: Members): void {
    if (chunk.error !== undefined && chunk.error !== null) this.#readError(chunk.error, chunk.choices);
    else this.#readAnswer(chunk);
  }

  #readAnswer(chunk: Members): void {
    const [first] = listOf(chunk.choices, 'choices');
    if (!this.#hasMetadata) this.#readMetadata(chunk);
    this.#usage = readUsage(chunk.usage) ?? this.#usage;
    if (first === undefined) return;
    const choice = objectOf(first, 'choices[]');
    this.#finishReason = optionalText(choice.finish_reason, 'finish_reason') ?? this.#finishReason;
    const delta = optionalObject(choice.delta, 'delta');
    if (delta !== undefined) this.#readDelta(delta);
  }

  /** An error without `choices` is one in the format of the dialect alone. */
  #readError(error: unknown, choices: unknown): void {
    if (!Array.isArray(choices) && typeof objectOf(error, 'error').message !== 'string') {
      throw new WrongMember('error.message', 'a text');
    }
    this.fail(error);
  }

  /** Some servers send a chunk without any before the first. */
  #readMetadata(chunk: Members): void {
    const metadata = readMetadata(chunk);
    this.#hasMetadata = Object.values(metadata).some(Boolean);
    if (this.#hasMetadata) this.#parts.push({ type: 'response-metadata', ...metadata });
  }

  #readDelta(delta: Members): void {
    const { reasoning, content, refusal } = readSaid(delta);
    if (reasoning !== '') this.#say('reasoning', reasoning);
    for (const { type, text } of content) this.#say(type, text);
    if (refusal !== '') {
      this.#refused = true;
      this.#say('text', refusal);
    }
    const fragments = readCallFragments(delta.tool_calls);
    if (fragments.length > 0 && this.#open === 'reasoning') this.#switchTo(undefined);
    for (const fragment of fragments) this.#parts.push(...this.#calls.add(fragment));
  }

  #say(type: 'text' | 'reasoning', delta: string): void {
    if (this.#open !== type) this.#switchTo(type);
    if (type === 'text') this.#parts.push({ type: 'text-delta', id: TEXT_ID, delta });
    else this.#parts.push({ type: 'reasoning-delta', id: REASONING_ID, delta });
  }

  #switchTo(type: 'text' | 'reasoning' | undefined): void {
    if (this.#open === 'text') this.#parts.push({ type: 'text-end', id: TEXT_ID });
    if (this.#open === 'reasoning') this.#parts.push({ type: 'reasoning-end', id: REASONING_ID });
    if (type === 'text') this.#parts.push({ type: 'text-start', id: TEXT_ID });
    if (type === 'reasoning') this.#parts.push({ type: 'reasoning-start', id: REASONING_ID });
    this.#open = type;
  }
}

function unreadable(message: string): InvalidResponseDataError {
  return new InvalidResponseDataError({ data: undefined, message });
}
