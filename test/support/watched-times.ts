/**
 * Times of schedules against an oracle that knows neither croner nor zone-time.ts: it watches the clock of a zone minute by
 * minute. A reading of the clock comes when the clock first shows it, or first jumps past it.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { findNextFire } from '../../src/platform/schedules/fire-times.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Ten years with jumps of half an hour, an hour and (Apia, before) a day; at 0, 1, 2 and 3 o'clock; by rules that change. */
const ZONES = [
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'America/New_York',
  'America/Sao_Paulo',
  'Africa/Casablanca',
] as const;
const FROM_YEAR = 2013;
const FROM_MS = Date.UTC(FROM_YEAR, 0, 1);

const formatters = new Map<string, Intl.DateTimeFormat>();

/** Whole minutes since 1970 on the clock of the zone. */
function readClock(zone: string, atMs: number): number {
  let formatter = formatters.get(zone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
    formatters.set(zone, formatter);
  }
  // 2013-01-31 14:05
  return Date.parse(`${formatter.format(atMs).replace(' ', 'T')}Z`) / MINUTE_MS;
}

/** The hours within which the zone's offset changes. */
function listJumps(zone: string, toMs: number): number[] {
  const offset = (atMs: number) => readClock(zone, atMs) - atMs / MINUTE_MS;
  const jumps: number[] = [];
  for (let atMs = FROM_MS; atMs < toMs; atMs += DAY_MS) {
    if (offset(atMs) === offset(atMs + DAY_MS)) continue;
    let hourMs = atMs;
    while (offset(hourMs) === offset(hourMs + HOUR_MS)) hourMs += HOUR_MS;
    jumps.push(hourMs);
  }
  return jumps;
}

/** One field of an expression: its text, and which numbers it names. */
interface Field {
  readonly text: string;
  readonly names: ReadonlySet<number>;
}

interface Expression {
  readonly text: string;
  matches(clockMinute: number): boolean;
}

function fieldOf(least: number, most: number): fc.Arbitrary<Field> {
  const number = fc.integer({ min: least, max: most });
  const range = (from: number, to: number, step: number) =>
    new Set(Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step));
  const all: Field = { text: '*', names: range(least, most, 1) };
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(all) },
    { weight: 3, arbitrary: number.map((one) => ({ text: String(one), names: new Set([one]) })) },
    {
      weight: 1,
      arbitrary: fc
        .uniqueArray(number, { minLength: 2, maxLength: 4 })
        .map((some) => ({ text: some.join(','), names: new Set(some) })),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(number, number).map(([one, other]) => {
        const [from, to] = [Math.min(one, other), Math.max(one, other)];
        return { text: `${from}-${to}`, names: range(from, to, 1) };
      }),
    },
    {
      weight: 1,
      arbitrary: fc
        .integer({ min: 2, max: 20 })
        .map((step) => ({ text: `*/${step}`, names: range(least, most, step) }))
        .filter(({ text }) => Number(text.slice(2)) <= most - least),
    },
  );
}

const expressions: fc.Arbitrary<Expression> = fc
  .record({
    minute: fieldOf(0, 59),
    hour: fieldOf(0, 23),
    day: fieldOf(1, 31),
    month: fieldOf(1, 12),
    weekday: fieldOf(0, 6),
  })
  .map(({ minute, hour, day, month, weekday }) => ({
    text: [minute, hour, day, month, weekday].map(({ text }) => text).join(' '),
    matches(clockMinute) {
      const at = new Date(clockMinute * MINUTE_MS);
      const [isDay, isWeekday] = [day.names.has(at.getUTCDate()), weekday.names.has(at.getUTCDay())];
      // Where both are given, either will do.
      const isThatDay = day.text === '*' || weekday.text === '*' ? isDay && isWeekday : isDay || isWeekday;
      return (
        minute.names.has(at.getUTCMinutes()) &&
        hour.names.has(at.getUTCHours()) &&
        month.names.has(at.getUTCMonth() + 1) &&
        isThatDay
      );
    },
  }));

/** Times between two moments, as somebody sees them who watches the clock. `beforeMs`: from when on it is watched. */
function watch(expression: Expression, zone: string, fromMs: number, toMs: number): number[] {
  const times: number[] = [];
  // Long enough before to know what it has shown already.
  let shown = readClock(zone, fromMs - DAY_MS);
  for (let atMs = fromMs - DAY_MS; atMs <= toMs; atMs += MINUTE_MS) {
    const reading = readClock(zone, atMs);
    let comes = false;
    for (let minute = shown + 1; minute <= reading; minute += 1) comes ||= expression.matches(minute);
    if (comes && atMs > fromMs) times.push(atMs);
    shown = Math.max(shown, reading);
  }
  return times;
}

export function compute(cron: string, zone: string, fromMs: number, toMs: number): number[] {
  const times: number[] = [];
  let next = findNextFire(cron, zone, new Date(fromMs));
  while (next !== undefined && next.getTime() <= toMs) {
    times.push(next.getTime());
    next = findNextFire(cron, zone, next);
  }
  return times;
}

export const show = (times: readonly number[]) => times.map((atMs) => new Date(atMs).toISOString());

/**
 * How many zones are watched for how many years; how many expressions are compared in each zone around its jumps and on any day, and
 * at how many jumps all minutes are.
 */
export interface WatchSize {
  readonly zones: number;
  readonly years: number;
  readonly aroundJumps: number;
  readonly anyDay: number;
  readonly jumps: number;
}

export function testWatchedTimes(size: WatchSize): void {
  const toMs = Date.UTC(FROM_YEAR + size.years, 0, 1);
  describe('every time comes when the clock first shows it or jumps past it', () => {
    for (const zone of ZONES.slice(0, size.zones)) {
      const jumps = listJumps(zone, toMs);

      test(`${zone}: around its ${jumps.length} jumps`, () => {
        assert.ok(jumps.length >= 0.8 * size.years, 'two a year, or nearly');
        fc.assert(
          fc.property(
            expressions,
            fc.constantFrom(...jumps),
            fc.integer({ min: -240, max: 60 }),
            (expression, jump, minutes) => {
              const from = jump + minutes * MINUTE_MS;
              const to = from + 8 * HOUR_MS;
              assert.deepEqual(show(compute(expression.text, zone, from, to)), show(watch(expression, zone, from, to)));
            },
          ),
          { numRuns: size.aroundJumps },
        );
      });

      test(`${zone}: at its jumps, an expression of each minute and one of each half hour`, () => {
        for (const jump of jumps.slice(-size.jumps)) {
          for (const [text, every] of [
            ['* * * * *', 1],
            ['*/30 * * * *', 30],
          ] as const) {
            const expression: Expression = { text, matches: (minute) => minute % every === 0 };
            const [from, to] = [jump - HOUR_MS, jump + 3 * HOUR_MS];
            assert.deepEqual(show(compute(text, zone, from, to)), show(watch(expression, zone, from, to)));
          }
        }
      });

      test(`${zone}: on any day`, () => {
        fc.assert(
          fc.property(
            expressions,
            fc.integer({ min: FROM_MS / MINUTE_MS, max: toMs / MINUTE_MS }),
            (expression, minute) => {
              const from = minute * MINUTE_MS + 17_123;
              const [start, to] = [minute * MINUTE_MS, minute * MINUTE_MS + 10 * HOUR_MS];
              const seen = watch(expression, zone, start, to);
              assert.deepEqual(show(compute(expression.text, zone, from, to)), show(seen));
            },
          ),
          { numRuns: size.anyDay },
        );
      });
    }
  });
}
