/**
 * Wall-clock times of a time zone, and the moments at which they come. A wall-clock time is a number here: the milliseconds
 * that the same reading of the clock would be in UTC.
 */
import { LRUCache } from 'lru-cache';

/** Longer than any jump of a clock: Samoa has left out a whole day. */
const AROUND_MS = 86_400_000;
/** A formatter takes a tenth of a megabyte. */
const FORMATTERS_KEPT = 100;

const formatters = new LRUCache<string, Intl.DateTimeFormat>({ max: FORMATTERS_KEPT });

/** Whether the zone is one of the IANA database: `Europe/Berlin`, `UTC`, and no offset such as `+02:00`. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    formatterOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** What the clock of the zone shows at this moment. */
export function wallTimeOf(zone: string, atMs: number): number {
  if (zone === 'UTC') return atMs;
  const parts: Record<string, number> = {};
  for (const { type, value } of formatterOf(zone).formatToParts(atMs)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((atMs % 1_000) + 1_000) % 1_000);
}

/**
 * When the clock of the zone first shows this time or, where it leaves the time out, when it jumps over it. A later time of
 * the clock never comes before an earlier one.
 */
export function momentOf(zone: string, wallMs: number): number {
  if (zone === 'UTC') return wallMs;
  const [beforeMs, afterMs] = [wallMs - AROUND_MS, wallMs + AROUND_MS];
  const offsetBefore = offsetAt(zone, beforeMs);
  const offsetAfter = offsetAt(zone, afterMs);
  const shown = [wallMs - offsetBefore, wallMs - offsetAfter].filter((atMs) => wallTimeOf(zone, atMs) === wallMs);
  return shown.length > 0 ? Math.min(...shown) : findJump(zone, beforeMs, afterMs);
}

function offsetAt(zone: string, atMs: number): number {
  return wallTimeOf(zone, atMs) - atMs;
}

/** The first moment, to the second, from which on the zone has another offset than at `fromMs`. */
function findJump(zone: string, fromMs: number, toMs: number): number {
  const offset = offsetAt(zone, fromMs);
  let [before, after] = [Math.floor(fromMs / 1_000), Math.ceil(toMs / 1_000)];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(zone, middle * 1_000) === offset) before = middle;
    else after = middle;
  }
  return after * 1_000;
}

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formatters.set(zone, made);
  return made;
}
