/** Work that goes on after its caller was answered: a registry may take longer than a caller is kept waiting. */
import { sleep } from '../kernel/clock/timers.ts';
import type { Logger } from '../kernel/log/log.ts';

/** It did not end in time, and goes on. */
export const LATE: unique symbol = Symbol('late');

export interface BackgroundWork {
  /** What comes of it, where it comes within so many milliseconds; rejects as it does. What comes later is logged if it is an error. */
  within<Value>(work: Promise<Value>, timeoutMs: number): Promise<Value | typeof LATE>;
  /** How long a caller is kept waiting between two looks at what goes on. */
  pause(delayMs: number): Promise<void>;
  /** Resolves when nothing goes on any more, or the time is up. */
  idle(timeoutMs: number): Promise<void>;
}

export function createBackgroundWork(logger: Pick<Logger, 'error'>): BackgroundWork {
  const running = new Set<Promise<void>>();
  return {
    async within(work, timeoutMs) {
      const done = new AbortController();
      let isLate = false;
      const tracked = work
        .then(
          () => undefined,
          (error: unknown) => {
            if (isLate) logger.error({ err: error }, 'work failed after its caller was answered');
          },
        )
        .finally(() => {
          running.delete(tracked);
          done.abort();
        });
      running.add(tracked);
      const late = sleep(timeoutMs, done.signal).then((): typeof LATE => LATE);
      late.catch(() => undefined);
      try {
        const first = await Promise.race([work, late]);
        isLate = first === LATE;
        return first;
      } finally {
        done.abort();
      }
    },
    pause: (delayMs) => sleep(delayMs),
    async idle(timeoutMs) {
      const done = new AbortController();
      const late = sleep(timeoutMs, done.signal).catch(() => undefined);
      await Promise.race([Promise.all(running), late]);
      done.abort();
    },
  };
}
