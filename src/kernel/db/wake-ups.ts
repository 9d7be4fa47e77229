/** Wake-ups that many changes share: the first leaves at once, and those that come soon after it leave together. */
import { setTimer, type Timer } from '../clock/timers.ts';

/** Sending takes a lock that every commit of the database passes. */
const WINDOW_MS = 40;

export class WakeUps {
  readonly #send: (channel: string) => Promise<void>;
  /** Channels on which one has just left, and whether another was asked for since. */
  readonly #recent = new Map<string, { timer: Timer; isAsked: boolean }>();
  #closed = false;

  /** `send` reports its own failures: a wake-up is a hint, and listeners look by themselves now and then. */
  constructor(send: (channel: string) => Promise<void>) {
    this.#send = send;
  }

  wake(channel: string): void {
    if (this.#closed) return;
    const recent = this.#recent.get(channel);
    if (recent !== undefined) {
      recent.isAsked = true;
      return;
    }
    const timer = setTimer(() => {
      const isAsked = this.#recent.get(channel)?.isAsked;
      this.#recent.delete(channel);
      if (isAsked === true) this.wake(channel);
    }, WINDOW_MS);
    this.#recent.set(channel, { timer, isAsked: false });
    void this.#send(channel);
  }

  close(): void {
    this.#closed = true;
    for (const { timer } of this.#recent.values()) timer.cancel();
    this.#recent.clear();
  }
}
