/**
 * Names that are out of the DNS (clientHold). Each reason is a column of its own, which those set and clear whom it concerns:
 *
 *   unpaid                 suspended_at, by renewals/unpaid-names.ts
 *   unverified_registrant  unverified_at, by verifications/suspend-names.ts
 *
 * None of them tells the registry by itself: `applyHold` tells it what follows from all of them, one process at a time, so that a reason that
 * ends while another begins, or goes on, never frees the name. `held_at` is what the registry has confirmed. Whoever changes a reason sets
 * `hold_look_at` in the same transaction; what a process has begun and not ended is then done by another.
 */
import type { DomainRow } from '../portfolio/index.ts';

export const HOLD_REASONS = ['unpaid', 'unverified_registrant'] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

export function holdReasonsOf({
  suspended_at: suspendedAt,
  unverified_at: unverifiedAt,
}: Pick<DomainRow, 'suspended_at' | 'unverified_at'>): HoldReason[] {
  return [
    ...(suspendedAt === null ? [] : (['unpaid'] as const)),
    ...(unverifiedAt === null ? [] : (['unverified_registrant'] as const)),
  ];
}
