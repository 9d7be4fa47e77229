/** How long to wait before something that failed is tried again: exponential backoff. */

export interface Backoff {
  /** After the first failure; doubled with each further one. */
  readonly firstMs: number;
  /** The longest wait. */
  readonly longestMs: number;
  /**
   * Spreads the retries of processes that failed together. `none` (default): the exact delay. `half`: between half of it
   * and all. `full`: between nothing and all.
   */
  readonly jitter?: 'none' | 'half' | 'full';
}

/**
 * The wait in milliseconds after so many failures in a row, at least 1. `random` answers 0 up to but not 1, as
 * `Math.random`.
 */
export function backoffMs(failures: number, backoff: Backoff, random: () => number = Math.random): number {
  const { firstMs, longestMs, jitter = 'none' } = backoff;
  // Beyond 2^1023 there are no numbers; the cap has been reached long before.
  const doublings = Math.min(Math.max(failures - 1, 0), 1023);
  const delayMs = Math.min(firstMs * 2 ** doublings, longestMs);
  switch (jitter) {
    case 'none':
      return delayMs;
    case 'half':
      return delayMs * (0.5 + random() / 2);
    case 'full':
      return delayMs * random();
    default:
      return jitter satisfies never;
  }
}
