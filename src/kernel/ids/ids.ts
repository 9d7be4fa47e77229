import { randomFillSync } from 'node:crypto';
import { encodeTime, monotonicFactory, TIME_LEN, TIME_MAX } from 'ulid';

const SUFFIX_PATTERN = '[0-7][0-9a-hjkmnp-tv-z]{25}';
const SUFFIX = new RegExp(`^${SUFFIX_PATTERN}$`);
const SUFFIX_LENGTH = 26;
const POOL_SIZE = 1024;

const pool = new Uint32Array(POOL_SIZE);
let next = POOL_SIZE;

/** Random fractions out of a pool: one call of the system's generator for 64 ids keeps an id under a microsecond. */
function randomFraction(): number {
  if (next === POOL_SIZE) {
    randomFillSync(pool);
    next = 0;
  }
  const value = pool[next] ?? 0;
  next += 1;
  return value / 2 ** 32;
}

const mintUlid = monotonicFactory(randomFraction);

/**
 * A new id: the prefix, an underscore and a lower-case ULID. Ids minted in one process strictly increase, also within
 * a millisecond and when the system clock steps back.
 */
export function mintId(prefix: string): string {
  return `${prefix}_${mintUlid().toLowerCase()}`;
}

/** Whether the value could have been minted with this prefix. */
export function isId(prefix: string, value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length === prefix.length + 1 + SUFFIX_LENGTH &&
    value.startsWith(`${prefix}_`) &&
    SUFFIX.test(value.slice(-SUFFIX_LENGTH))
  );
}

/** What `isId` takes, as a regular expression that PostgreSQL reads as well. */
export function idPattern(prefix: string): string {
  return `^${prefix}_${SUFFIX_PATTERN}$`;
}

/** The 26 characters after the prefix. Throws `TypeError` for anything that is no id. */
export function suffixOf(id: string): string {
  const suffix = id.slice(id.lastIndexOf('_') + 1);
  if (!id.includes('_') || !SUFFIX.test(suffix)) throw new TypeError('not an id: expected a prefix, "_" and a ULID');
  return suffix;
}

/** The id with another prefix and the same suffix, for two objects that share an identity. */
export function withPrefix(prefix: string, id: string): string {
  return `${prefix}_${suffixOf(id)}`;
}

/** The smallest id of this prefix that can be minted at or after the time, for filters by time on an id column. */
export function idAt(prefix: string, date: Date): string {
  const ms = date.getTime();
  if (Number.isNaN(ms)) throw new TypeError('not a date');
  const time = encodeTime(Math.min(Math.max(Math.trunc(ms), 0), TIME_MAX), TIME_LEN).toLowerCase();
  return `${prefix}_${time}${'0'.repeat(SUFFIX_LENGTH - TIME_LEN)}`;
}
