import { setTimeout as wait } from 'node:timers/promises';

const MIN_PAUSE_MS = 10;
const MAX_PAUSE_MS = 100;
/** Of the time that was waited already: who asks a hundred times in a second takes the processor from what is waited for. */
const PAUSE_SHARE = 0.05;

/** Asks until there is a value, ever less often. Undefined where there is none in time; it is asked once more at the end. */
export async function poll<Value>(
  work: () => Promise<Value | undefined> | Value | undefined,
  withinMs: number,
): Promise<Value | undefined> {
  const startMs = performance.now();
  for (;;) {
    const askedMs = performance.now() - startMs;
    const value = await work();
    if (value !== undefined || askedMs > withinMs) return value;
    const waitedMs = performance.now() - startMs;
    await wait(Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, PAUSE_SHARE * waitedMs)));
  }
}
