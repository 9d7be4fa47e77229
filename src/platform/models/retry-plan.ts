import { sleep } from '../../kernel/clock/timers.ts';
import { backoffMs } from '../../kernel/retry/backoff.ts';
import type { Failure } from './model-call-error.ts';

export interface RetryLimits {
  /** Requests made at most, the first included. */
  readonly maxAttempts: number;
  /** A provider that asks for a longer pause than this fails the call at once. */
  readonly maxRetryAfterMs: number;
  /** The pause before the second attempt, where the provider names none; doubled for each further one. */
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
}

/** Milliseconds until the next attempt; undefined when there is to be none. */
export function planRetry(
  failure: Failure,
  attempt: number,
  limits: RetryLimits,
  random: () => number,
): number | undefined {
  if (!failure.transient || attempt >= limits.maxAttempts) return undefined;
  if (failure.retryAfterSeconds !== undefined) {
    const asked = failure.retryAfterSeconds * 1000;
    return asked <= limits.maxRetryAfterMs ? asked : undefined;
  }
  const backoff = { firstMs: limits.backoffBaseMs, longestMs: limits.backoffMaxMs, jitter: 'half' } as const;
  return backoffMs(attempt, backoff, random);
}

/** Rejects with the signal's reason when it is aborted. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
