import { createManualClock, type ManualClock } from '../../src/kernel/clock/clock.ts';

export interface CountedClock extends ManualClock {
  /** Timers that are set: neither fired nor cancelled. */
  countTimers(): number;
}

/** A manual clock that knows how many timers wait for it: an idle part of the program has none. */
export function createCountedClock(): CountedClock {
  const clock = createManualClock(new Date(0));
  const waiting = new Set<object>();
  return {
    ...clock,
    countTimers: () => waiting.size,
    setTimer(callback, delayMs) {
      const one = {};
      waiting.add(one);
      const timer = clock.setTimer(() => {
        waiting.delete(one);
        callback();
      }, delayMs);
      return {
        cancel() {
          waiting.delete(one);
          timer.cancel();
        },
      };
    },
  };
}
