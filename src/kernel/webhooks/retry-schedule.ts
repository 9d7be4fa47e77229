/** When a delivery that missed is tried again. */

const MINUTE_MS = 60_000;
/** After the first miss, the second, and so on; after the one beyond them the delivery is dead. */
const WAITS_MS = [1, 5, 15, 60, 180].map((minutes) => minutes * MINUTE_MS);
/** Either way, so that what failed together does not come back together. */
const JITTER = 0.1;

/** The next attempt after so many misses of a round, or undefined when the delivery is dead. `random` as `Math.random`. */
export function nextAttemptAt(misses: number, at: Date, random: () => number = Math.random): Date | undefined {
  const waitMs = WAITS_MS[misses - 1];
  if (waitMs === undefined) return undefined;
  return new Date(at.getTime() + Math.round(waitMs * (1 - JITTER + 2 * JITTER * random())));
}
