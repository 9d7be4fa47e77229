/** Periods of budgets, in UTC. A period's key names it: `2026-11-22`, `2026-W47` (ISO 8601), `2026-11`, `total`. */
import type { BudgetPeriod } from '../tables.ts';

const DAY_MS = 86_400_000;

export interface PeriodSpan {
  readonly key: string;
  /** Null: without a beginning, or an end. */
  readonly start: Date | null;
  readonly end: Date | null;
}

/** The period of this kind that the moment lies in. */
export function findPeriod(period: BudgetPeriod, at: Date): PeriodSpan {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  const start = new Date(Date.UTC(year, month, day));
  switch (period) {
    case 'daily':
      return { key: dayOf(start), start, end: new Date(start.getTime() + DAY_MS) };
    case 'weekly': {
      const monday = new Date(start.getTime() - ((start.getUTCDay() + 6) % 7) * DAY_MS);
      return { key: weekOf(monday), start: monday, end: new Date(monday.getTime() + 7 * DAY_MS) };
    }
    case 'monthly': {
      const first = new Date(Date.UTC(year, month, 1));
      return { key: dayOf(first).slice(0, 7), start: first, end: new Date(Date.UTC(year, month + 1, 1)) };
    }
    case 'total':
      return { key: 'total', start: null, end: null };
  }
}

/** `2026-11-22` */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** A week is of the year that its Thursday lies in. */
function weekOf(monday: Date): string {
  const thursday = new Date(monday.getTime() + 3 * DAY_MS);
  const newYear = Date.UTC(thursday.getUTCFullYear(), 0, 1);
  const week = 1 + Math.floor((thursday.getTime() - newYear) / (7 * DAY_MS));
  return `${thursday.getUTCFullYear()}-W${String(week).padStart(2, '0')}`;
}

/** The same in SQL. Both arguments are SQL: the kind of period, and a date. */
export function periodKeySql(period: string, day: string): string {
  return `case ${period} when 'daily' then to_char(${day}, 'YYYY-MM-DD') when 'weekly' then to_char(${day}, 'IYYY"-W"IW')
    when 'monthly' then to_char(${day}, 'YYYY-MM') else 'total' end`;
}

/** Today, in SQL. */
export const TODAY_SQL = "(now() at time zone 'utc')::date";
