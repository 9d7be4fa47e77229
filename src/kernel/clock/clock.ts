/**
 * The port to time. What a process waits for goes through the functions of `timers.ts`, and what it asks the time through a `Clock`; both
 * follow the clock of the async context that they are called in. That is the system's, unless a test entered another by
 * `runWithClock`: then everything that is started inside, and everything that follows from it by callbacks and promises, belongs to that
 * clock. So two replicas can run in one process, each with a clock of its own. Only tests turn a clock: nothing else in src/ calls `runWithClock`.
 *
 * Not behind the port, and so always in real time:
 * - turns of the event loop (`setImmediate`, microtasks), which take no time;
 * - measurements: durations for logs and metrics, slices and limits of computing, the watch over the event loop;
 * - the time-outs of sockets and HTTP servers (node:net, node:http, undici, pg, ws), and what libraries wait or keep by themselves;
 * - uses of `Date.now()` and `new Date()` in the kernel and in commands: the services ask a `Clock`, see test/conformance/import-graph.ts;
 * - programs of child processes and threads, and pages in a browser;
 * - the database: tests shift its time by themselves (`test/support/database.ts`).
 * What a module keeps for the whole process (a keep-alive ticker for all streams, for one) belongs to the clock of whoever started it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** The port to the time of day, so that tests can control it. */
export interface Clock {
  now(): Date;
}

export interface Timer {
  /** Does nothing once the timer has fired. */
  cancel(): void;
}

/** A clock that is not the system's: the least that all of `timers.ts` can be made of. */
export interface TurnedClock extends Clock {
  /** Milliseconds since some moment; never less than before. */
  elapsedMs(): number;
  /** Calls back once, `delayMs` from now, unless the timer is cancelled before. */
  setTimer(callback: () => void, delayMs: number): Timer;
}

let context: AsyncLocalStorage<TurnedClock> | undefined;

/** For tests. Runs the work, and everything that it starts, on that clock. */
export function runWithClock<Result>(clock: TurnedClock, work: () => Result): Result {
  context ??= new AsyncLocalStorage();
  return context.run(clock, work);
}

/** The clock that a test gave the current async context; undefined: the system's. */
export function turnedClock(): TurnedClock | undefined {
  return context?.getStore();
}

export const systemClock: Clock = {
  now: () => turnedClock()?.now() ?? new Date(),
};

export interface ManualClock extends TurnedClock {
  /** Moves the clock, and fires the timers that become due, earliest first; negative values move it back. */
  advance(ms: number): void;
  /** Moves the clock, and fires the timers that become due. */
  set(to: Date): void;
}

/** A clock that stands still until it is moved. Moved back, it has nothing elapse until it is again where it was. */
export function createManualClock(start: Date): ManualClock {
  const startMs = start.getTime();
  let nowMs = startMs;
  let latestMs = startMs;
  const timers = new Set<{ readonly dueMs: number; readonly callback: () => void }>();
  const stepTo = (ms: number) => {
    nowMs = ms;
    latestMs = Math.max(latestMs, ms);
  };
  const moveTo = (targetMs: number) => {
    for (;;) {
      const due = [...timers].filter(({ dueMs }) => dueMs <= targetMs).sort((one, other) => one.dueMs - other.dueMs);
      const [next] = due;
      if (next === undefined) break;
      timers.delete(next);
      stepTo(Math.max(nowMs, next.dueMs));
      next.callback();
    }
    stepTo(targetMs);
  };
  return {
    now: () => new Date(nowMs),
    elapsedMs: () => latestMs - startMs,
    advance: (ms) => moveTo(nowMs + ms),
    set: (to) => moveTo(to.getTime()),
    setTimer(callback, delayMs) {
      const timer = { dueMs: nowMs + delayMs, callback };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
  };
}
