/**
 * When an owner is told that a term ends. ICANN's Expired Registration Recovery Policy asks for the ones about a month and a week before,
 * and for one within five days after:
 *
 *   30_days ──── 14_days ──── 7_days ──── 1_day ──── end of the term ──── expired ──── five days later: nothing more
 *
 * A stage lasts until the next one begins. Whoever was not told in time, as the service was away, is told what is true then, once.
 */
import { addDays } from '../registry/term.ts';
import type { NoticeStage } from '../tables.ts';

const EXPIRED_DAYS = 5;

export interface Stage {
  readonly name: NoticeStage;
  /** Terms end after `after` and not after `until`, in days from now; negative: ago. */
  readonly after: number;
  readonly until: number;
}

export const stages: readonly Stage[] = [
  { name: '30_days', after: 14, until: 30 },
  { name: '14_days', after: 7, until: 14 },
  { name: '7_days', after: 1, until: 7 },
  { name: '1_day', after: 0, until: 1 },
  { name: 'expired', after: -EXPIRED_DAYS, until: 0 },
];

/** Which one a term is in that ends then, if any. */
export function stageOf(termEnd: Date, now: Date): Stage | undefined {
  return stages.find(({ after, until }) => addDays(now, after) < termEnd && termEnd <= addDays(now, until));
}
