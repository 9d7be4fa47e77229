/** Names about which a registry gave this process no answer: others are asked about first, and those again, each time later. */
import type { Clock } from '../../kernel/clock/clock.ts';
import { backoffMs } from '../../kernel/retry/backoff.ts';

export interface UnansweredNames {
  note(domainId: string): void;
  forget(domainId: string): void;
  /** By the ids of their rows. */
  all(): readonly string[];
  /** Of these, those that are not asked about again yet. */
  resting(): readonly string[];
}

const PAUSE = { firstMs: 1_000, longestMs: 600_000 } as const;
/** Of a registry that is away: more say nothing new. */
const MAX_NAMES = 10_000;

export function createUnansweredNames(clock: Clock): UnansweredNames {
  const noted = new Map<string, { readonly count: number; readonly atMs: number }>();
  const isResting = ({ atMs, count }: { readonly count: number; readonly atMs: number }) =>
    // In both directions: a clock that was set back must not keep a name from being read.
    count > 1 && Math.abs(clock.now().getTime() - atMs) < backoffMs(count - 1, PAUSE);
  return {
    note(domainId) {
      const count = (noted.get(domainId)?.count ?? 0) + 1;
      // The one that was noted longest ago is the first.
      noted.delete(domainId);
      noted.set(domainId, { count, atMs: clock.now().getTime() });
      const [oldest] = noted.keys();
      if (noted.size > MAX_NAMES && oldest !== undefined) noted.delete(oldest);
    },
    forget: (domainId) => void noted.delete(domainId),
    all: () => [...noted.keys()],
    resting: () => [...noted].flatMap(([domainId, note]) => (isResting(note) ? [domainId] : [])),
  };
}
