/**
 * Whether anybody uses a store. What works on it by itself (`kernel/periodic`) looks often while somebody does, since each change
 * may leave work for it, and seldom otherwise. A use is a statement outside of a transaction that may change something, or a
 * transaction with one: reads leave nothing to do, and neither do looks.
 */
import type { Executor, Statement } from './database.ts';

export class StoreUse {
  #count = 0;
  #waiting = new Set<() => void>();

  /** How many uses there were. */
  get count(): number {
    return this.#count;
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

/** That of a row lock changes nothing. */
const CHANGES = /\binsert\s+into\b|\bdelete\s+from\b|(?<!\bfor\s)(?<!\bkey\s)\bupdate\s+["\w]/i;
const REMEMBERED = 4_000;
const known = new Map<string, boolean>();

/** By its text: what a function of the store changes is not seen. */
export function isUse({ text, isLook }: Statement): boolean {
  if (isLook === true) return false;
  const before = known.get(text);
  if (before !== undefined) return before;
  const changes = CHANGES.test(text);
  if (known.size >= REMEMBERED) known.clear();
  known.set(text, changes);
  return changes;
}

const looks = new WeakMap<Executor, Executor>();

/** The same, for the statements by which a worker takes what there is to do, if anything: by themselves they are no use. */
export function asLook(executor: Executor): Executor {
  const made = looks.get(executor);
  if (made !== undefined) return made;
  const look: Executor = {
    query: (statement) => executor.query({ ...statement, isLook: true }),
    wake: (channel) => executor.wake(channel),
  };
  looks.set(executor, look);
  return look;
}
