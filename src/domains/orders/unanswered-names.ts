/** Names about which a registry gave this process no answer a short while ago: others are asked about first. */
import type { Clock } from '../../kernel/clock/clock.ts';

export interface UnansweredNames {
  note(domainId: string): void;
  /** Of those that are not asked about again yet. */
  ids(): readonly string[];
}

const AGAIN_MS = 600_000;
/** Of a registry that is away: more say nothing new. */
const MAX_NAMES = 10_000;

export function createUnansweredNames(clock: Clock): UnansweredNames {
  const notedAtMs = new Map<string, number>();
  return {
    note(domainId) {
      // The oldest is the first.
      notedAtMs.delete(domainId);
      notedAtMs.set(domainId, clock.now().getTime());
      const [oldest] = notedAtMs.keys();
      if (notedAtMs.size > MAX_NAMES && oldest !== undefined) notedAtMs.delete(oldest);
    },
    ids() {
      const nowMs = clock.now().getTime();
      for (const [domainId, atMs] of notedAtMs) {
        // In both directions: a clock that was set back must not keep a name from being read.
        if (Math.abs(nowMs - atMs) >= AGAIN_MS) notedAtMs.delete(domainId);
      }
      return [...notedAtMs.keys()];
    },
  };
}
