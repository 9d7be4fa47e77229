import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { elapsedMs } from '../../../kernel/clock/timers.ts';
import type { PartSource } from '../chat-model.ts';
import { TimerWheel } from './timer-wheel.ts';

type Part = LanguageModelV4StreamPart;

/** Parts given before other work of the process gets its turn. */
const BURST_PARTS = 64;

/** Made at the first paced answer: importing a module starts nothing. */
let sharedWheel: TimerWheel | undefined;

export interface DemoStreamOptions {
  /** Text deltas a second; as fast as they are read when absent. */
  readonly wordsPerSecond: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Gives parts as they are read, and makes none ahead. With a rate, the k-th text delta is due k/rate seconds after the first,
 * measured from the first and not from the one before, so that lateness never adds up. All paced streams share one timer.
 */
export class DemoStream implements PartSource {
  readonly #parts: Iterator<Part, void, void>;
  readonly #msPerWord: number;
  readonly #signal: AbortSignal | undefined;
  /** Made, and not yet due. */
  #next: Part | undefined;
  #words = 0;
  #startMs = 0;
  #isLaterBurst = false;
  #ended = false;
  #failure: { readonly reason: unknown } | undefined;
  /** Ends the wait of the pending `read`. */
  #wake: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: Iterator<Part, void, void>, { wordsPerSecond, signal }: DemoStreamOptions) {
    this.#parts = parts;
    this.#msPerWord = wordsPerSecond === undefined ? 0 : 1000 / wordsPerSecond;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  async read(): Promise<readonly Part[] | undefined> {
    // Words that fall due meanwhile wait for the next tick: a thousand readers that always find one would let nothing else run.
    if (this.#isLaterBurst && !this.#ended) await this.#wait(this.#msPerWord === 0 ? setImmediate : this.#setTimer);
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.reason;
      const parts = this.#takeDue();
      if (parts.length > 0) return parts;
      if (this.#ended) return undefined;
      await this.#wait(this.#setTimer);
    }
  }

  async drain(): Promise<void> {
    this.#end();
  }

  cancel(): void {
    this.#end();
  }

  /** What is due, at most a burst of it. A part that is left in `#next` is not due yet. */
  #takeDue(): Part[] {
    const due: Part[] = [];
    while (!this.#ended && due.length < BURST_PARTS) {
      const part = this.#next ?? this.#parts.next().value;
      this.#next = undefined;
      if (part === undefined) {
        this.#end();
        break;
      }
      if (this.#msPerWord > 0 && part.type === 'text-delta') {
        if (this.#words === 0) this.#startMs = elapsedMs();
        if (elapsedMs() < this.#dueMs()) {
          this.#next = part;
          break;
        }
        this.#words += 1;
      }
      due.push(part);
    }
    this.#isLaterBurst = true;
    return due;
  }

  #dueMs(): number {
    return this.#startMs + this.#words * this.#msPerWord;
  }

  #wait(begin: (wake: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      begin(resolve);
    });
  }

  readonly #setTimer = (wake: () => void): void => {
    sharedWheel ??= new TimerWheel();
    this.#cancelTimer = sharedWheel.setTimer(this.#dueMs(), wake);
  };

  readonly #onAbort = (): void => {
    if (this.#ended) return;
    this.#failure = { reason: this.#signal?.reason };
    this.#end();
  };

  #end(): void {
    this.#ended = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#wake?.();
  }
}
