/** The port to time, so that tests can control it. */
export interface Clock {
  now(): Date;
}

export interface Timers {
  /** Calls back once, `delayMs` from now, unless the timer is cancelled before. Does not keep the process alive. */
  setTimer(callback: () => void, delayMs: number): Timer;
}

export interface Timer {
  /** Does nothing once the timer has fired. */
  cancel(): void;
}

export const systemClock: Clock & Timers = {
  now: () => new Date(),
  setTimer(callback, delayMs) {
    const timeout = setTimeout(callback, delayMs).unref();
    return { cancel: () => clearTimeout(timeout) };
  },
};

export interface ManualClock extends Clock, Timers {
  /** Moves the clock, and fires the timers that become due, earliest first; negative values move it back. */
  advance(ms: number): void;
  /** Moves the clock, and fires the timers that become due. */
  set(to: Date): void;
}

/** A clock that stands still until it is moved. */
export function createManualClock(start: Date): ManualClock {
  let nowMs = start.getTime();
  const timers = new Set<{ readonly dueMs: number; readonly callback: () => void }>();
  const moveTo = (targetMs: number) => {
    for (;;) {
      const due = [...timers].filter(({ dueMs }) => dueMs <= targetMs).sort((one, other) => one.dueMs - other.dueMs);
      const [next] = due;
      if (next === undefined) break;
      timers.delete(next);
      nowMs = Math.max(nowMs, next.dueMs);
      next.callback();
    }
    nowMs = targetMs;
  };
  return {
    now: () => new Date(nowMs),
    advance: (ms) => moveTo(nowMs + ms),
    set: (to) => moveTo(to.getTime()),
    setTimer(callback, delayMs) {
      const timer = { dueMs: nowMs + delayMs, callback };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
  };
}
