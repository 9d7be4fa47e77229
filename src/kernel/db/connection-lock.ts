/**
 * The lock on the one connection of the embedded store: shared by single statements, exclusive for a transaction. First
 * come, first served, so that neither starves the other.
 *
 * It covers writing to the connection, not waiting for answers: the connection answers in order, so the next may write as
 * soon as the COMMIT of the one before is written.
 */
interface Waiting {
  readonly exclusive: boolean;
  readonly start: () => void;
}

export class ConnectionLock {
  readonly #waiting: Waiting[] = [];
  #held = false;

  /** Starts `write` in its turn, together with other statements. */
  runShared<T>(write: () => Promise<T>): Promise<T> {
    return this.#enqueue(false, write);
  }

  /** Starts `work` in its turn, and nothing else until it calls `release`. */
  runExclusive<T>(work: (release: () => void) => Promise<T>): Promise<T> {
    const release = (): void => {
      this.#held = false;
      this.#startNext();
    };
    return this.#enqueue(true, () => work(release));
  }

  #enqueue<T>(exclusive: boolean, run: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const start = (): void => {
        run().then(resolve, reject);
      };
      this.#waiting.push({ exclusive, start });
      this.#startNext();
    });
  }

  #startNext(): void {
    while (!this.#held) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#held = next.exclusive;
      next.start();
    }
  }
}
