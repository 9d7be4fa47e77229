import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { TimerWheel } from './timer-wheel.ts';

/** Parts emitted before other work of the process gets its turn. */
const BURST_PARTS = 64;
/** Parts ready for a reader that is not waiting; beyond them nothing is made, however slow the reader. */
const BUFFERED_PARTS = 64;

/** Made at the first paced answer: importing a module starts nothing. */
let sharedWheel: TimerWheel | undefined;

export interface DemoStreamOptions {
  /** Text deltas a second; as fast as they are read when absent. */
  readonly wordsPerSecond: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Streams parts. With a rate, the k-th text delta is due k/rate seconds after the first, measured from the first and not
 * from the one before, so that lateness never adds up. All paced streams share one timer.
 */
export function streamParts(
  parts: Iterator<LanguageModelV4StreamPart, void, void>,
  options: DemoStreamOptions,
): ReadableStream<LanguageModelV4StreamPart> {
  const source = new DemoSource(parts, options);
  return new ReadableStream<LanguageModelV4StreamPart>(source, { highWaterMark: BUFFERED_PARTS });
}

class DemoSource {
  readonly #parts: Iterator<LanguageModelV4StreamPart, void, void>;
  readonly #msPerWord: number;
  readonly #signal: AbortSignal | undefined;
  /** Taken from the parts and not yet due. */
  #next: LanguageModelV4StreamPart | undefined;
  #words = 0;
  #startMs = 0;
  #burst = 0;
  #ended = false;
  #cancelTimer: (() => void) | undefined;
  #endPull: (() => void) | undefined;
  #controller: ReadableStreamDefaultController<LanguageModelV4StreamPart> | undefined;

  constructor(parts: Iterator<LanguageModelV4StreamPart, void, void>, { wordsPerSecond, signal }: DemoStreamOptions) {
    this.#parts = parts;
    this.#msPerWord = wordsPerSecond === undefined ? 0 : 1000 / wordsPerSecond;
    this.#signal = signal;
  }

  start(controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): void {
    this.#controller = controller;
    this.#signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  pull(controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): void | Promise<void> {
    this.#emit(controller);
    if (this.#ended) return undefined;
    if (this.#next !== undefined) {
      this.#waitForWord();
      return new Promise((resolve) => {
        this.#endPull = resolve;
      });
    }
    if (this.#burst < BURST_PARTS) return undefined;
    this.#burst = 0;
    return new Promise((resolve) => setImmediate(resolve));
  }

  cancel(): void {
    this.#end();
  }

  /** Emits what is due, until the buffer is full or the burst is over. A part left in `#next` is not due yet. */
  #emit(controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): void {
    while (!this.#ended && (controller.desiredSize ?? 0) > 0 && this.#burst < BURST_PARTS) {
      const part = this.#next ?? this.#parts.next().value;
      this.#next = undefined;
      if (part === undefined) {
        this.#end();
        controller.close();
        return;
      }
      if (this.#msPerWord > 0 && part.type === 'text-delta') {
        if (this.#words === 0) this.#startMs = performance.now();
        if (performance.now() < this.#dueMs()) {
          this.#next = part;
          return;
        }
        this.#words++;
      } else {
        this.#burst++;
      }
      controller.enqueue(part);
    }
  }

  #dueMs(): number {
    return this.#startMs + this.#words * this.#msPerWord;
  }

  /** One pending pull serves many words: it resolves when the buffer is full or the words are out. */
  #waitForWord(): void {
    sharedWheel ??= new TimerWheel();
    this.#cancelTimer = sharedWheel.setTimer(this.#dueMs(), this.#onTimer);
  }

  readonly #onTimer = (): void => {
    this.#cancelTimer = undefined;
    if (this.#controller !== undefined) this.#emit(this.#controller);
    if (this.#next === undefined) this.#endPull?.();
    else this.#waitForWord();
  };

  readonly #onAbort = (): void => {
    if (this.#ended) return;
    this.#end();
    this.#controller?.error(this.#signal?.reason);
  };

  #end(): void {
    this.#ended = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}
