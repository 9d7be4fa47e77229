/**
 * Who may write to the one connection of the embedded store. Statements pass while no transaction is open; a
 * transaction passes alone. First come, first served, so that neither starves the other.
 *
 * Passing means writing, not waiting for answers: the connection answers in order, so the next may write as soon as the
 * COMMIT of the one before is written.
 */
interface Waiting {
  readonly exclusive: boolean;
  readonly start: () => void;
}

export class Gate {
  readonly #waiting: Waiting[] = [];
  #held = false;

  /** Starts `write` in its turn, together with other statements. */
  pass<T>(write: () => Promise<T>): Promise<T> {
    return this.#enqueue(false, write);
  }

  /** Starts `hold` in its turn, and lets nobody pass until it calls `leave`. */
  enter<T>(hold: (leave: () => void) => Promise<T>): Promise<T> {
    const leave = (): void => {
      this.#held = false;
      this.#admit();
    };
    return this.#enqueue(true, () => hold(leave));
  }

  #enqueue<T>(exclusive: boolean, run: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const start = (): void => {
        run().then(resolve, reject);
      };
      this.#waiting.push({ exclusive, start });
      this.#admit();
    });
  }

  #admit(): void {
    while (!this.#held) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#held = next.exclusive;
      next.start();
    }
  }
}
