import type { EppCommand } from '../commands/command.ts';
import type { Response } from '../commands/response.ts';

/** A command that is queued or in flight. */
export interface Job {
  readonly command: EppCommand;
  readonly clTRID: string;
  /** Sending it twice does what sending it once does. */
  readonly isRepeatable: boolean;
  /** Times that it was handed to a connection. */
  tries: number;
  /** A connection has it. */
  isInFlight: boolean;
  /** Its queue timeout has passed: it does not wait again. */
  isLate: boolean;
  /** The caller has an answer, or has stopped waiting. */
  isSettled: boolean;
  readonly settle: (result: Response | Error) => void;
}

/** Jobs in the order of their arrival, for several connections to take from. */
export class JobQueue {
  readonly #jobs: Job[] = [];
  readonly #takers = new Set<(job: Job) => void>();

  get length(): number {
    return this.#jobs.length;
  }

  add(job: Job): void {
    const [taker] = this.#takers;
    if (taker === undefined) this.#jobs.push(job);
    else taker(job);
  }

  /** A job that could not be sent keeps its place before the others. */
  putBack(job: Job): void {
    const [taker] = this.#takers;
    if (taker === undefined) this.#jobs.unshift(job);
    else taker(job);
  }

  /** The next job; undefined when the signal is aborted or the time is up first. */
  take(signal: AbortSignal, timeoutMs: number): Promise<Job | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const first = this.#jobs.shift();
    if (first !== undefined) return Promise.resolve(first);
    return new Promise((resolve) => {
      const done = (job: Job | undefined) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#takers.delete(done);
        resolve(job);
      };
      const giveUp = () => done(undefined);
      const timer = setTimeout(giveUp, timeoutMs);
      timer.unref();
      signal.addEventListener('abort', giveUp);
      this.#takers.add(done);
    });
  }

  /** Removes a job whose caller has stopped waiting, if it is queued. */
  remove(job: Job): void {
    const at = this.#jobs.indexOf(job);
    if (at >= 0) this.#jobs.splice(at, 1);
  }

  /** Removes and returns all queued jobs. */
  drain(): Job[] {
    return this.#jobs.splice(0);
  }
}
