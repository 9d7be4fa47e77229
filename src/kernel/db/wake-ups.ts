/** Wake-ups that many changes share: the first asks for one, and those that come before it leaves ride along. */

/** How long one waits for others. Sending takes a lock that every commit of the database passes. */
const WINDOW_MS = 100;

export class WakeUps {
  readonly #send: (channel: string) => Promise<void>;
  readonly #waiting = new Map<string, NodeJS.Timeout>();
  #closed = false;

  /** `send` reports its own failures: a wake-up is a hint, and listeners look by themselves now and then. */
  constructor(send: (channel: string) => Promise<void>) {
    this.#send = send;
  }

  wake(channel: string): void {
    if (this.#closed || this.#waiting.has(channel)) return;
    const timer = setTimeout(() => {
      this.#waiting.delete(channel);
      void this.#send(channel);
    }, WINDOW_MS);
    this.#waiting.set(channel, timer.unref());
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }
}
