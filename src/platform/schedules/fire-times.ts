/**
 * When a schedule fires: each time that its expression names on the clock of its zone, once.
 *
 * A time that the clock leaves out in spring comes when it jumps; one that it shows twice in autumn comes the first time.
 * So an expression of every five minutes pauses for the hour that is repeated, and nothing fires twice for one reading of
 * the clock. `croner` alone would have such an expression fire in both hours, and skip what is left out. It is asked for
 * readings of the clock, in UTC, where each comes once; the zone is added here.
 */
import { Cron } from 'croner';
import { LRUCache } from 'lru-cache';
import { momentOf, wallTimeOf } from './zone-time.ts';

/** Five fields of what croner reads: no nicknames (`@daily`), no dates, no seconds. */
const FIVE_FIELDS = /^ *[\w*,/#?+-]+(?: +[\w*,/#?+-]+){4} *$/;
/** A parsed expression takes a tenth of a megabyte. */
const EXPRESSIONS_KEPT = 50;

const expressions = new LRUCache<string, Cron>({ max: EXPRESSIONS_KEPT });

/**
 * The first time after `after`; undefined where there is none within the next centuries (`0 0 31 2 *`), and where the
 * expression is none. `zone` is one that `isTimeZone` knows.
 */
export function findNextFire(cron: string, zone: string, after: Date): Date | undefined {
  const expression = parseCron(cron);
  if (expression === undefined) return undefined;
  let wallMs = wallTimeOf(zone, after.getTime());
  // Where the clock shows an hour again, what it has shown before comes first.
  for (;;) {
    const next = expression.nextRun(new Date(wallMs));
    if (next === null) return undefined;
    wallMs = next.getTime();
    const atMs = momentOf(zone, wallMs);
    if (atMs > after.getTime()) return new Date(atMs);
  }
}

function parseCron(cron: string): Cron | undefined {
  if (!FIVE_FIELDS.test(cron)) return undefined;
  const known = expressions.get(cron);
  if (known !== undefined) return known;
  try {
    const parsed = new Cron(cron, { mode: '5-part', utcOffset: 0, paused: true });
    expressions.set(cron, parsed);
    return parsed;
  } catch {
    return undefined;
  }
}
