/**
 * Whether anybody uses a store. What works on it by itself (`kernel/periodic`) looks often while somebody does, since each change
 * may leave work for it, and seldom otherwise. A use is a statement outside of a transaction that may change something, or a
 * transaction with one: reads leave nothing to do, and neither do looks.
 */

export class StoreUse {
  #count = 0;
  #waiting = new Set<() => void>();

  /** How many uses there were. */
  get count(): number {
    return this.#count;
  }

  /** Whether somebody waits for the next one. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Call when a use has ended. */
  note(): void {
    this.#count += 1;
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const onUse of waiting) onUse();
  }

  /** Calls back at the next use, once. Returns what takes that back. */
  onNextUse(onUse: () => void): () => void {
    this.#waiting.add(onUse);
    return () => void this.#waiting.delete(onUse);
  }
}
