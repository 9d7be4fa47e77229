import { setTimer } from '../../../../kernel/clock/timers.ts';
import type { EppCommand } from '../commands/command.ts';
import type { Response } from '../commands/response.ts';

/** A command that is queued or in flight. */
export interface Job {
  readonly command: EppCommand;
  readonly clTRID: string;
  /** Sending it twice does what sending it once does. */
  readonly isRepeatable: boolean;
  /** Its place in the line: the lower, the sooner. */
  readonly rank: number;
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

/** Jobs by their ranks, and those of one rank in the order of their arrival, for several connections to take from. */
export class JobQueue {
  readonly #jobs: Job[] = [];
  /** Woken one at a time, each after all others. */
  readonly #waiters = new Set<() => void>();

  get length(): number {
    return this.#jobs.length;
  }

  /** The next job, which stays in the queue. */
  get first(): Job | undefined {
    return this.#jobs[0];
  }

  add(job: Job): void {
    const at = this.#jobs.findIndex(({ rank }) => rank > job.rank);
    this.#jobs.splice(at < 0 ? this.#jobs.length : at, 0, job);
    this.#wakeOne();
  }

  /** A job that could not be sent keeps its place before the others. */
  putBack(job: Job): void {
    const at = this.#jobs.findIndex(({ rank }) => rank >= job.rank);
    this.#jobs.splice(at < 0 ? this.#jobs.length : at, 0, job);
    this.#wakeOne();
  }

  /** Takes the next job out. */
  shift(): Job | undefined {
    return this.#jobs.shift();
  }

  /** Resolves when there is a job, which another may take first, the signal is aborted or the time is up. */
  wait(signal: AbortSignal, timeoutMs: number): Promise<void> {
    if (signal.aborted || this.#jobs.length > 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel();
        signal.removeEventListener('abort', done);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = setTimer(done, timeoutMs);
      signal.addEventListener('abort', done);
      this.#waiters.add(done);
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

  /** For one that was woken and takes nothing. */
  passOn(): void {
    if (this.#jobs.length > 0) this.#wakeOne();
  }

  #wakeOne(): void {
    const [waiter] = this.#waiters;
    waiter?.();
  }
}
