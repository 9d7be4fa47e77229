/** Far beyond what providers ask for, and far below 2^31 ms, where a timer fires at once. */
const MAX_WAIT_MS = 3_600_000;

/** How long to wait where a provider asks for so many seconds. */
export function boundWaitMs(seconds: number): number {
  return Math.min(Math.max(seconds, 0) * 1_000, MAX_WAIT_MS);
}
