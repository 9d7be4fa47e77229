/** How long callers are kept waiting for a registry. */
import { elapsedMs } from '../kernel/clock/timers.ts';

export interface Deadline {
  /** At least 1. */
  readonly leftMs: number;
}

/** A read answers from what is known after so long, so that its caller has an answer within two seconds. */
export const READ_MS = 1_500;
/** A call that changes something at the registry answers after so long, so within five seconds, and goes on by itself. */
export const CHANGE_MS = 4_000;

export function startDeadline(ms: number): Deadline {
  const endMs = elapsedMs() + ms;
  return {
    get leftMs() {
      return Math.max(1, endMs - elapsedMs());
    },
  };
}
