/**
 * The end of what was paid for. A registry that renews by itself moves a name's expiry although nobody has paid: there the term that our
 * customer has ends with `billed_until`, whatever the registry shows.
 */
import { type RawBuilder, sql } from 'kysely';
import type { RegistryHabits } from '../registry/registry.ts';

/** Registries differ on the time of the day, and on when a year ends that began on 29 February. */
export const EXPIRY_TOLERANCE_MS = 2 * 86_400_000;

type Habit = Pick<RegistryHabits, 'autoRenewGraceDays'>;

export function endOfPaidTerm({ autoRenewGraceDays }: Habit, billedUntil: Date | null, expiresAt: Date): Date {
  if (autoRenewGraceDays === undefined || billedUntil === null) return expiresAt;
  return expiresAt.getTime() > billedUntil.getTime() + EXPIRY_TOLERANCE_MS ? billedUntil : expiresAt;
}

/** The same of the row that is updated. */
export function endOfPaidTermInRow({ autoRenewGraceDays }: Habit, expiresAt: Date): Date | RawBuilder<Date> {
  if (autoRenewGraceDays === undefined) return expiresAt;
  const latest = new Date(expiresAt.getTime() - EXPIRY_TOLERANCE_MS);
  return sql<Date>`case when billed_until < ${latest}::timestamptz then billed_until else ${expiresAt}::timestamptz end`;
}
