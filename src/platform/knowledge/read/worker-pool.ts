/** Threads for documents: started when needed, kept for a while, never more than a few. */
import { type WorkerCaps, WorkerThread } from './worker-thread.ts';

export interface WorkerPoolOptions extends WorkerCaps {
  readonly workers: number;
  readonly idleMs: number;
}

export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #busy = new Set<WorkerThread>();
  /** Each with the timer that will end it. */
  readonly #idle = new Map<WorkerThread, NodeJS.Timeout>();
  readonly #queue: PromiseWithResolvers<void>[] = [];
  /** Threads on their way out. */
  readonly #ending = new Set<Promise<void>>();
  #closed = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  /** Waits for a thread. Throws the signal's reason when it aborts meanwhile. */
  async take(signal: AbortSignal): Promise<WorkerThread> {
    signal.throwIfAborted();
    while (!this.#closed && this.#busy.size >= this.#options.workers) await this.#wait(signal);
    if (this.#closed) throw closedError();
    const idle = this.#takeIdle();
    const thread = idle ?? new WorkerThread(this.#options);
    this.#busy.add(thread);
    try {
      if (idle === undefined) await thread.start();
      signal.throwIfAborted();
      return thread;
    } catch (error) {
      this.giveBack(thread);
      throw error;
    }
  }

  /** A thread that has died makes room for another. Giving it back again does nothing. */
  giveBack(thread: WorkerThread): void {
    if (!this.#busy.delete(thread)) return;
    if (!thread.gone.aborted) this.#idle.set(thread, this.#endLater(thread));
    this.#queue.shift()?.resolve();
  }

  /** Ends a thread for the reason that its document fails with, and makes room for another. */
  end(thread: WorkerThread, reason: unknown): void {
    const ending = thread.end(reason).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    this.giveBack(thread);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { resolve } of this.#queue.splice(0)) resolve();
    for (const thread of [...this.#busy, ...this.#idle.keys()]) this.end(thread, closedError());
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
    await Promise.all(this.#ending);
  }

  #takeIdle(): WorkerThread | undefined {
    for (const [thread, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(thread);
      if (!thread.gone.aborted) return thread;
    }
    return undefined;
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const abort = (): void => {
      const place = this.#queue.indexOf(turn);
      if (place >= 0) this.#queue.splice(place, 1);
      turn.reject(signal.reason);
    };
    this.#queue.push(turn);
    signal.addEventListener('abort', abort, { once: true });
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #endLater(thread: WorkerThread): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#idle.delete(thread);
      this.end(thread, new Error('the thread was idle'));
    }, this.#options.idleMs);
    return timer.unref();
  }
}

function closedError(): Error {
  return new Error('the document reader is closed');
}
