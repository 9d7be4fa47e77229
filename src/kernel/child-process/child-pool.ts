/**
 * A few child processes for work on what strangers send. A thread is no wall: V8's end by lack of memory takes the whole
 * process with it. A child is killed alone.
 *
 *   take ─▶ waiting, by turns of keys ─▶ started ─▶ at work ─give back─▶ idle ─▶ at work … | ended
 *                                                      └─ late, too much memory, crashed ─▶ ended
 *
 * Children are started when they are needed, used again, and ended when they have been idle for a while. Keys (a project)
 * take turns, and where there is more than one child no key has them all.
 */
import { untilAborted } from '../cancellation/until-aborted.ts';
import { setTimer, type Timer } from '../clock/timers.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { Child, type ChildOptions } from './child.ts';
import { ChildEndedError } from './child-errors.ts';
import { exposeChildren } from './child-metrics.ts';

export interface ChildPoolOptions extends ChildOptions {
  /** At a time. */
  readonly children: number;
  /** That one key has at a time. Default: all but one, at least one. */
  readonly childrenPerKey?: number;
  /** After which an idle child ends. Default 30,000. */
  readonly idleMs?: number;
  readonly logger?: { warn(fields: object, message: string): void };
  readonly metrics?: Metrics | undefined;
}

export interface AskOptions {
  readonly timeoutMs: number;
  /** See `Child.allowProcessorTime`. Default: as much as it takes. */
  readonly processorMs?: number;
  /** The child is killed when it aborts. */
  readonly signal?: AbortSignal;
}

export interface ChildPool<ToChild, FromChild> {
  /**
   * Waits for a child and for its start. Throws the signal's reason when it aborts meanwhile, an Error when the pool is
   * closed or the child cannot be started. Give every child back.
   */
  take(key: string, signal?: AbortSignal): Promise<Child<ToChild, FromChild>>;
  /** A child that has ended makes room for another. Giving it back again does nothing. */
  giveBack(child: Child<ToChild, FromChild>): void;
  /** Kills a child for the reason that its work fails with, and makes room for another. */
  end(child: Child<ToChild, FromChild>, reason: unknown): void;
  /** One question to any child. Throws as `take` and `Child.ask` do. */
  run(key: string, message: ToChild, options: AskOptions): Promise<FromChild>;
  /** Kills every child, whatever it does, and starts no more. */
  close(): Promise<void>;
}

export function createChildPool<ToChild, FromChild>(options: ChildPoolOptions): ChildPool<ToChild, FromChild> {
  return new Pool(options);
}

const IDLE_MS = 30_000;
/** Memory that a document left behind would be counted against the next one: past this share a child is not kept. */
const KEPT_RESIDENT_SHARE = 0.5;

class Pool<ToChild, FromChild> implements ChildPool<ToChild, FromChild> {
  readonly #options: ChildPoolOptions;
  readonly #perKey: number;
  /** Each with the key that has it. */
  readonly #busy = new Map<Child<ToChild, FromChild>, string>();
  /** How many children each key has, or is about to get. */
  readonly #held = new Map<string, number>();
  /** Each with the timer that will end it, the one used last at the end. */
  readonly #idle = new Map<Child<ToChild, FromChild>, Timer>();
  /** Who waits, by key; the key whose turn it is first. */
  readonly #waiting = new Map<string, PromiseWithResolvers<void>[]>();
  readonly #ending = new Set<Promise<void>>();
  readonly #countEnd: (reason: unknown) => void;
  #closed = false;

  constructor(options: ChildPoolOptions) {
    this.#options = options;
    this.#perKey = Math.max(1, options.childrenPerKey ?? options.children - 1);
    const list = () => [...this.#busy.keys(), ...this.#idle.keys()];
    this.#countEnd =
      options.metrics === undefined ? () => undefined : exposeChildren(options.metrics, options.name, list);
  }

  async take(key: string, signal?: AbortSignal): Promise<Child<ToChild, FromChild>> {
    signal?.throwIfAborted();
    if (this.#closed) throw this.#closedError();
    await this.#reserve(key, signal);
    let child: Child<ToChild, FromChild> | undefined;
    try {
      signal?.throwIfAborted();
      if (this.#closed) throw this.#closedError();
      child = this.#takeIdle();
      if (child !== undefined) {
        this.#busy.set(child, key);
        return child;
      }
      child = this.#start();
      this.#busy.set(child, key);
      await (signal === undefined ? child.ready() : untilAborted(child.ready(), signal));
      return child;
    } catch (error) {
      if (child === undefined) this.#release(key);
      else this.end(child, error);
      throw error;
    }
  }

  giveBack(child: Child<ToChild, FromChild>): void {
    const key = this.#busy.get(child);
    if (key === undefined) return;
    this.#busy.delete(child);
    if (child.residentBytes > this.#options.residentBytes * KEPT_RESIDENT_SHARE) this.#kill(child, idleReason());
    if (!child.gone.aborted) this.#idle.set(child, this.#endLater(child));
    this.#release(key);
  }

  end(child: Child<ToChild, FromChild>, reason: unknown): void {
    this.#kill(child, reason);
    this.giveBack(child);
  }

  async run(key: string, message: ToChild, { timeoutMs, processorMs, signal }: AskOptions): Promise<FromChild> {
    const child = await this.take(key, signal);
    child.allowProcessorTime(processorMs ?? Number.POSITIVE_INFINITY, child.processorMs);
    const abort = () => this.end(child, signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await child.ask(message, { timeoutMs });
    } finally {
      signal?.removeEventListener('abort', abort);
      this.giveBack(child);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiters of this.#waiting.values()) for (const { reject } of waiters) reject(this.#closedError());
    this.#waiting.clear();
    for (const child of [...this.#busy.keys(), ...this.#idle.keys()]) this.end(child, this.#closedError());
    for (const timer of this.#idle.values()) timer.cancel();
    this.#idle.clear();
    await Promise.all(this.#ending);
  }

  /** Waits for the key's turn. */
  async #reserve(key: string, signal?: AbortSignal): Promise<void> {
    if (!this.#waiting.has(key) && this.#hasRoom(key)) {
      this.#hold(key, 1);
      return;
    }
    const turn = Promise.withResolvers<void>();
    const waiters = this.#waiting.get(key) ?? [];
    waiters.push(turn);
    this.#waiting.set(key, waiters);
    const abort = (): void => {
      const place = waiters.indexOf(turn);
      // Where its turn has come already, `take` gives it back.
      if (place < 0) return;
      waiters.splice(place, 1);
      if (waiters.length === 0) this.#waiting.delete(key);
      turn.reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await turn.promise;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  #hasRoom(key: string): boolean {
    let held = 0;
    for (const count of this.#held.values()) held += count;
    return held < this.#options.children && (this.#held.get(key) ?? 0) < this.#perKey;
  }

  #hold(key: string, by: number): void {
    const count = (this.#held.get(key) ?? 0) + by;
    if (count > 0) this.#held.set(key, count);
    else this.#held.delete(key);
  }

  /** Gives the free places to the keys whose turn it is; a key that got one goes to the end of the line. */
  #release(key: string): void {
    this.#hold(key, -1);
    for (let next = this.#findNext(); next !== undefined; next = this.#findNext()) {
      const [turnKey, waiters] = next;
      const turn = waiters.shift();
      this.#waiting.delete(turnKey);
      if (waiters.length > 0) this.#waiting.set(turnKey, waiters);
      this.#hold(turnKey, 1);
      turn?.resolve();
    }
  }

  #findNext(): [string, PromiseWithResolvers<void>[]] | undefined {
    for (const entry of this.#waiting) if (this.#hasRoom(entry[0])) return entry;
    return undefined;
  }

  #start(): Child<ToChild, FromChild> {
    const child = new Child<ToChild, FromChild>(this.#options);
    child.gone.addEventListener('abort', () => this.#noteEnd(child), { once: true });
    return child;
  }

  #noteEnd(child: Child<ToChild, FromChild>): void {
    const { reason } = child.gone;
    this.#idle.get(child)?.cancel();
    this.#idle.delete(child);
    this.#countEnd(reason);
    if (reason instanceof ChildEndedError) {
      this.#options.logger?.warn({ err: reason, children: this.#options.name }, 'a child process ended');
    }
  }

  #takeIdle(): Child<ToChild, FromChild> | undefined {
    const last = [...this.#idle].at(-1);
    if (last === undefined) return undefined;
    const [child, timer] = last;
    timer.cancel();
    this.#idle.delete(child);
    return child;
  }

  #kill(child: Child<ToChild, FromChild>, reason: unknown): void {
    const ending = child.end(reason).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #endLater(child: Child<ToChild, FromChild>): Timer {
    return setTimer(() => this.#kill(child, idleReason()), this.#options.idleMs ?? IDLE_MS);
  }

  #closedError(): Error {
    return new Error(`the ${this.#options.name} is closed`);
  }
}

function idleReason(): Error {
  return new Error('the child process was idle');
}
