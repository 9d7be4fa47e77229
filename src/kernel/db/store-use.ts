/**
 * Whether anybody uses a store. What works on it by itself (`kernel/periodic`) looks often while somebody does, since each change
 * may leave work for it, and seldom otherwise. A use is a statement outside of a transaction that may change something, or a
 * transaction with one: reads leave nothing to do, and neither do looks. A step of the machine's clock counts as one, as it brings whatever
 * is due in between: a laptop that was asleep has not let the time of its waits pass.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { systemClock } from '../clock/clock.ts';
import { elapsedMs, setTimer, type Timer } from '../clock/timers.ts';

/** Between two checks while somebody waits for a use. */
const CHECK_EVERY_MS = 15_000;
/** Less is a clock that is being corrected. */
const LEAST_STEP_MS = 1_000;

export class StoreUse {
  #count = 0;
  #waiting = new Set<() => void>();
  /** Callers that wait may be on another clock. */
  protected readonly inOwnContext = AsyncLocalStorage.snapshot();
  #checks: Timer | undefined;
  #clockAheadMs = clockAheadMs();
  #isClosed = false;

  /** How many uses there were. */
  get count(): number {
    return this.#count;
  }

  /** Call when a use has ended. */
  note(): void {
    this.noteHere();
  }

  /** As `note`, without telling other processes. */
  protected noteHere(): void {
    this.#count += 1;
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const onUse of waiting) onUse();
  }

  /** Calls back at the next use, once. Returns what takes that back. */
  onNextUse(onUse: () => void): () => void {
    this.#waiting.add(onUse);
    this.#checkIn(CHECK_EVERY_MS);
    return () => void this.#waiting.delete(onUse);
  }

  /** Checks no more. */
  close(): void {
    this.#isClosed = true;
    this.#checks?.cancel();
  }

  /** Whether somebody has used it without a word: asked each 15 seconds while somebody waits. Must not reject. */
  protected async wasUsedUnseen(): Promise<boolean> {
    return false;
  }

  /** Has the next check be made at once. */
  protected checkAtOnce(): void {
    this.#checks?.cancel();
    this.#checks = undefined;
    this.#checkIn(0);
  }

  #checkIn(delayMs: number): void {
    if (this.#isClosed) return;
    this.#checks ??= this.inOwnContext(() => setTimer(() => void this.#check(), delayMs));
  }

  async #check(): Promise<void> {
    this.#checks = undefined;
    if (this.#waiting.size === 0 || this.#isClosed) return;
    const aheadMs = clockAheadMs();
    const hasStepped = Math.abs(aheadMs - this.#clockAheadMs) >= LEAST_STEP_MS;
    this.#clockAheadMs = aheadMs;
    if (hasStepped || (await this.wasUsedUnseen())) this.noteHere();
    if (this.#waiting.size > 0) this.#checkIn(CHECK_EVERY_MS);
  }
}

/** The time of day beside the time that timers go by. */
function clockAheadMs(): number {
  return systemClock.now().getTime() - elapsedMs();
}
