/**
 * Lets jobs that an abrupt end of a process interrupted run one at a time in this process, so that the one that is to
 * blame is alone when it ends this one, too. One that lives for ALONE_MS makes room for the next and runs on.
 */
import { sleep } from '../clock/timers.ts';

const ALONE_MS = 30_000;

export class SuspectQueue {
  readonly #aloneMs: number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(aloneMs = ALONE_MS) {
    this.#aloneMs = aloneMs;
  }

  /** Runs the work once those before it have ended or had their time. Settles as the work does. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const started = this.#last.then(() => ({ done: (async () => work())() }));
    const over = new AbortController();
    this.#last = started.then(({ done }) =>
      Promise.race([
        done.then(
          () => undefined,
          () => undefined,
        ),
        sleep(this.#aloneMs, over.signal, { keepsProcess: false }).catch(() => undefined),
      ]),
    );
    try {
      return await (await started).done;
    } finally {
      over.abort();
    }
  }
}
