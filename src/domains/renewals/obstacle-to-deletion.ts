/** Names that nobody has paid for, and that are not deleted all the same: nothing doubtful is, and nothing that was billed already. */
import { EXPIRY_TOLERANCE_MS } from '../portfolio/index.ts';
import type { RegistryDomain } from '../registry/registry.ts';
import { addDays, addYears } from '../registry/term.ts';
import type { UnpaidRow } from './unpaid-store.ts';

/** Nothing is deleted in the last hours of the grace period: the registry's clock may be ahead. */
const LAST_MS = 6 * 3_600_000;

/** Why the name must not be deleted, for the operator; undefined: it may be. `info` shows it as ours. */
export function obstacleToDeletion(
  { billed_until: paidUntil, release_at: releaseAt }: Pick<UnpaidRow, 'billed_until' | 'release_at'>,
  info: Pick<RegistryDomain, 'expiresAt'>,
  { graceDays, now }: { readonly graceDays: number; readonly now: Date },
): string | undefined {
  if (info.expiresAt === undefined) return 'The registry does not show when its term ends: it is not deleted.';
  const expiresAt = new Date(info.expiresAt);
  const renewals = countRenewals(paidUntil, expiresAt, now);
  if (renewals === 0) {
    return releaseAt === null ? 'The registry has not renewed it, so it is not billed: it is not deleted.' : undefined;
  }
  if (renewals === undefined) {
    return `The registry has it until ${dayOf(expiresAt)}, which its own renewals do not explain: was it renewed by hand?`;
  }
  const graceEnd = addDays(addYears(expiresAt, -1), graceDays);
  const isInGrace = now.getTime() < graceEnd.getTime() - LAST_MS;
  if (renewals === 1 && isInGrace) return undefined;
  const [times, years] = renewals === 1 ? ['once', 'a year'] : [`${renewals} times`, `${renewals} years`];
  const then = isInGrace
    ? `which takes the last bill back until ${dayOf(graceEnd)}`
    : `which bills it again on ${dayOf(expiresAt)}`;
  return (
    `The registry has billed it ${times} since ${dayOf(paidUntil)}, nobody has paid, and its grace period is over: ` +
    `have its owner renew it for ${years}, or delete it at the registry, ${then}.`
  );
}

/** How often the registry has renewed it by itself since; undefined: the expiry that it shows comes of something else. */
function countRenewals(paidUntil: Date, expiresAt: Date, now: Date): number | undefined {
  const latest = now.getTime() + EXPIRY_TOLERANCE_MS;
  // The first is of the end of the paid term, each other a year later.
  for (let count = 0; addYears(paidUntil, count - 1).getTime() <= latest; count += 1) {
    if (Math.abs(expiresAt.getTime() - addYears(paidUntil, count).getTime()) <= EXPIRY_TOLERANCE_MS) return count;
  }
  return undefined;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
