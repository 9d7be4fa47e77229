import type { Clock } from 'pg-boss';
import { systemClock } from '../clock/clock.ts';
import { setTicker, setTimer, type Timer } from '../clock/timers.ts';

// It gives back what it was given, if anything.
const cancel = (timer: unknown) => (timer as Timer | null | undefined)?.cancel();

/** pg-boss's own work waits by the process's clock. Its time, as its statements tell it, is the database's. */
export const bossClock: Clock = {
  now: () => systemClock.now().getTime(),
  setTimeout: (callback, delayMs) => setTimer(callback, delayMs, { keepsProcess: true }),
  setInterval: (callback, intervalMs) => setTicker(callback, intervalMs, { keepsProcess: true }),
  clearTimeout: cancel,
  clearInterval: cancel,
};
