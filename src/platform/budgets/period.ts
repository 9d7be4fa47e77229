/** Periods of budgets, in UTC. A period's key names it: `2026-11-22`, `2026-W47` (ISO 8601), `2026-11`, `total`. */
/** The key of the period that a day lies in. Both arguments are SQL: the kind of period, and a date. */
export function periodKeySql(period: string, day: string): string {
  return `case ${period} when 'daily' then to_char(${day}, 'YYYY-MM-DD') when 'weekly' then to_char(${day}, 'IYYY"-W"IW')
    when 'monthly' then to_char(${day}, 'YYYY-MM') else 'total' end`;
}

/** Today, in SQL. */
export const TODAY_SQL = "(now() at time zone 'utc')::date";
