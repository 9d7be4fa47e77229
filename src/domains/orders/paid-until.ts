/**
 * Until when a name is paid for once its order is done. The order itself says what was bought: which term it moves, and by how many years. The
 * registry's date counts where it is about what that comes to. Any other is early, late or wrong, or has years that the registry added by itself,
 * and is not believed: nothing would correct what was recorded by it, so that a paid term would count as unpaid for good, or the other way round.
 */
import { type DomainRow, EXPIRY_TOLERANCE_MS } from '../portfolio/index.ts';
import type { RegistryDomain, RegistryHabits } from '../registry/registry.ts';
import { addDays, addYears } from '../registry/term.ts';
import type { OrderRow } from './order.ts';

/** A term ends no later than so many years ahead (ICANN's agreements with registries): a transfer adds nothing beyond that. */
const LONGEST_TERM_YEARS = 10;
/** A name may be transferred for so long after its term, where no registry says otherwise (ICANN's auto-renew grace period). */
const LONGEST_GRACE_DAYS = 45;

type Bought = Pick<OrderRow, 'baseline' | 'created_at' | 'from_expires_at' | 'is_application' | 'kind' | 'years'>;

/** What is known when the order is done; `info`: as the registry shows the name, if it does. */
interface Shown {
  readonly info: RegistryDomain | undefined;
  readonly now: Date;
  readonly habits: Pick<RegistryHabits, 'autoRenewGraceDays'>;
  /** What the registry's record of a transfer says of the term, where it was asked for. */
  readonly transferredUntil?: Date | undefined;
}

/** Of a registration, a renewal or a transfer. */
export function paidUntil(order: Bought, shown: Shown): Date {
  if (order.kind === 'registration') return endOfRegistration(order, shown);
  if (order.kind === 'transfer') return endOfTransfer(order, shown);
  // Also where the registry shows more, as it has renewed it by itself, or does not show it yet.
  const target = addYears(order.from_expires_at ?? shown.now, order.years);
  return believedOneOf(shown.info, [target]) ?? target;
}

/** Undefined: the registry does not show it. */
export function expiryOf(info: RegistryDomain | undefined): Date | undefined {
  return info?.expiresAt === undefined ? undefined : new Date(info.expiresAt);
}

function endOfRegistration(order: Bought, { info, now }: Shown): Date {
  const { created_at: orderedAt, is_application: isApplication, years } = order;
  const created = info?.createdAt === undefined ? undefined : new Date(info.createdAt);
  const since = created !== undefined && isWithin(created, { from: orderedAt, to: now }) ? created : undefined;
  // Where it is not told, that was at some time since the order. The term of an application may begin when that has won.
  const latest = since === undefined || isApplication ? now : since;
  const range = { from: addYears(since ?? orderedAt, years), to: addYears(latest, years) };
  return believed(info, range) ?? addYears(since ?? now, years);
}

/** The years are added to the end that the name had, which was written down before the transfer was asked for. */
function endOfTransfer(order: Bought, { habits, info, now, transferredUntil }: Shown): Date {
  const { years } = order;
  const before = endBefore(order);
  if (before === undefined) return endOfUnknownTerm(order, info, now);
  const full = withinLimit(addYears(before, years), before, now);
  const isFull = transferredUntil !== undefined && isWithin(transferredUntil, { from: full, to: full });
  const least = mayBeAbsorbed(order, habits, now) && !isFull ? addYears(before, years - 1) : full;
  const ends = [full, least];
  // The term has ended meanwhile: the registry may have renewed it before, on the bill of the former registrar.
  if (before <= now) ends.push(addYears(full, 1));
  return believedOneOf(info, ends) ?? believedPart(info, before, years) ?? least;
}

/**
 * Whether the years of the transfer may come in the place of one that the registry has just added by itself, and takes back. By dates, as not all
 * registries show that: it may have been bought, too.
 */
export function mayBeAbsorbed(order: Bought, { autoRenewGraceDays: graceDays }: Shown['habits'], now: Date): boolean {
  const before = endBefore(order);
  if (order.kind !== 'transfer' || order.years === 0 || graceDays === undefined || before === undefined) return false;
  const lastYear = addYears(before, -1);
  return lastYear <= now && addDays(lastYear, graceDays) >= order.created_at;
}

/** Short by less than a year, as where a registry counts from the day of the transfer, or takes less than ten years. */
function believedPart(info: RegistryDomain | undefined, before: Date, years: number): Date | undefined {
  const shown = expiryOf(info);
  if (shown === undefined || years === 0) return undefined;
  const allButOne = addYears(before, years - 1).getTime();
  return shown.getTime() > allButOne + EXPIRY_TOLERANCE_MS && shown <= addYears(before, years) ? shown : undefined;
}

/** Of a registry that does not show a name before it is ours: what is shown is the new end, or the one before that. */
function endOfUnknownTerm({ created_at: orderedAt, years }: Bought, info: RegistryDomain | undefined, now: Date): Date {
  const earliest = addDays(orderedAt, -LONGEST_GRACE_DAYS);
  const moved = believed(info, { from: addYears(earliest, years), to: addYears(now, LONGEST_TERM_YEARS) });
  if (moved !== undefined) return moved;
  const unmoved = believed(info, { from: earliest, to: addYears(earliest, years) });
  return addYears(unmoved ?? now, years);
}

function endBefore({ baseline, created_at: orderedAt }: Bought): Date | undefined {
  if (baseline?.expiresAt === undefined) return undefined;
  const before = new Date(baseline.expiresAt);
  const range = { from: addDays(orderedAt, -LONGEST_GRACE_DAYS), to: addYears(orderedAt, LONGEST_TERM_YEARS) };
  return isWithin(before, range) ? before : undefined;
}

/** A term is not cut short by it. */
function withinLimit(end: Date, before: Date, now: Date): Date {
  const limit = addYears(now, LONGEST_TERM_YEARS);
  if (end <= limit) return end;
  return before > limit ? before : limit;
}

/**
 * Of a restoration with years: those which it takes for the term to end in the future, of which the registry counts as many and the price has
 * been agreed to. Null: nothing is known of the term.
 */
export function restoredUntil(
  row: Pick<DomainRow, 'billed_until' | 'expires_at'>,
  { created_at: orderedAt, years }: Pick<OrderRow, 'created_at' | 'years'>,
  { info, now }: Pick<Shown, 'info' | 'now'>,
): Date | null {
  if (years === 0) return row.billed_until;
  const shown = believed(info, { from: orderedAt, to: addYears(now, 1) });
  if (shown !== undefined && shown > orderedAt) return shown;
  const from = row.billed_until ?? row.expires_at;
  if (from === null) return null;
  let added = years;
  while (addYears(from, added) <= orderedAt) added += 1;
  return addYears(from, added);
}

/** Ends of a term, or beginnings. */
interface Range {
  readonly from: Date;
  readonly to: Date;
}

/** What the registry shows, where it is about within the range. */
function believed(info: RegistryDomain | undefined, range: Range): Date | undefined {
  const shown = expiryOf(info);
  return shown !== undefined && isWithin(shown, range) ? shown : undefined;
}

function believedOneOf(info: RegistryDomain | undefined, ends: readonly Date[]): Date | undefined {
  return ends.map((end) => believed(info, { from: end, to: end })).find((end) => end !== undefined);
}

function isWithin(date: Date, { from, to }: Range): boolean {
  const ms = date.getTime();
  return ms >= from.getTime() - EXPIRY_TOLERANCE_MS && ms <= to.getTime() + EXPIRY_TOLERANCE_MS;
}
