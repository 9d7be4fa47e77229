/** A streamed answer, read from its connection. */
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createParser } from 'eventsource-parser';
import { ANSWER_BYTES_MAX, AnswerTooLarge } from '../answer-limits.ts';
import type { PartSource } from '../chat-model.ts';
import type { ChatChunks } from './chat-chunks.ts';
import { makeConnectionError } from './upstream-errors.ts';

/** Of one event. A call's arguments may come in one, and are a few megabytes at most. */
const EVENT_CHARS_MAX = 16 * 1024 * 1024;

const BYTE_ORDER_MARK = '\ufeff';

/**
 * The parts of each piece that the network delivers are given together. What has not been read stays with the connection,
 * so that an upstream is never further ahead than its buffer.
 */
export class EventStreamAnswer implements PartSource {
  readonly #body: Readable;
  readonly #chunks: ChatChunks;
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser;
  #isFirst = true;
  #bytes = 0;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(body: Readable, chunks: ChatChunks) {
    this.#body = body;
    this.#chunks = chunks;
    this.#parser = createParser({
      onEvent: ({ data }) => chunks.read(data),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded')
          chunks.fail(new AnswerTooLarge(`an event of more than ${EVENT_CHARS_MAX} characters`));
      },
      maxBufferSize: EVENT_CHARS_MAX,
    });
    body.on('readable', this.#onMove);
    body.on('end', this.#onMove);
    body.on('close', this.#onMove);
    body.on('error', (error) => {
      this.#failure = error;
      this.#onMove();
    });
  }

  async read(): Promise<readonly LanguageModelV4StreamPart[] | undefined> {
    for (;;) {
      const parts = this.#chunks.take();
      if (parts.length > 0) return parts;
      if (this.#chunks.ended) return undefined;
      const bytes: Buffer | null = this.#body.read();
      if (bytes !== null) {
        this.#bytes += bytes.length;
        if (this.#bytes > ANSWER_BYTES_MAX)
          this.#chunks.fail(new AnswerTooLarge(`more than ${ANSWER_BYTES_MAX} bytes`));
        else this.#feed(this.#decoder.write(bytes));
      } else if (this.#failure !== undefined) throw makeConnectionError(this.#failure);
      else if (this.#body.readableEnded || this.#body.destroyed) this.#chunks.end();
      else await this.#move();
    }
  }

  async drain(): Promise<void> {
    // While somebody listens for it, a stream does not flow.
    this.#body.off('readable', this.#onMove);
    this.#body.resume();
    // The answer is complete; how its connection ends is of no interest.
    await finished(this.#body).catch(() => {});
  }

  cancel(): void {
    this.#body.destroy();
  }

  #feed(text: string): void {
    const isFirst = this.#isFirst && text !== '';
    if (isFirst) this.#isFirst = false;
    this.#parser.feed(isFirst && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
  }

  #move(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  readonly #onMove = (): void => {
    this.#wake?.();
    this.#wake = undefined;
  };
}
