/**
 * The time of a test's database, which a test can shift. PostgreSQL's functions of the time are shadowed by functions of a schema that
 * stands before `pg_catalog` in the search path of every session, so that statements, column defaults and the job queue follow alike.
 *
 * The shift is written into the functions themselves. So every session has it from its next statement on, whatever it has prepared,
 * and the planner puts the expression in the function's place: unshifted, what is executed is PostgreSQL's own function, and an index
 * on a time is used as ever. What is syntax (`current_timestamp`, `current_date`) and the word 'now' as a literal are not shadowed.
 */
import type { Database, Transaction } from '../../src/kernel/db/database.ts';

const functions = [
  { name: 'now', volatility: 'stable' },
  { name: 'transaction_timestamp', volatility: 'stable' },
  { name: 'statement_timestamp', volatility: 'stable' },
  { name: 'clock_timestamp', volatility: 'volatile' },
] as const;

/** What is made without naming a schema is made in `public` still, the first of those that there are. */
export const searchPath = '"$user", public, test_clock, pg_catalog';

/** Before everything else of a database is made, in a session that has the search path. */
export async function installClock(db: Database): Promise<void> {
  await db.query({ text: 'create schema test_clock' });
  await shiftClock(db, 0);
}

/** The database is ahead of the real time by so much. A transaction that is under way sees it from its next statement on. */
export function shiftClock(db: Database, shiftMs: number): Promise<void> {
  return db.transaction((tx) => shiftClockIn(tx, shiftMs));
}

async function shiftClockIn(tx: Transaction, shiftMs: number): Promise<void> {
  const shift = shiftMs === 0 ? '' : ` + interval '${shiftMs} milliseconds'`;
  for (const { name, volatility } of functions) {
    await tx.query({
      text: `create or replace function test_clock.${name}() returns timestamptz language sql ${volatility} parallel safe
        as $$select pg_catalog.${name}()${shift}$$`,
    });
  }
  const { rows } = await tx.query<{ found: boolean }>({
    text: `select to_regproc('jobs.job_now') is not null as found`,
  });
  if (rows[0]?.found !== true) return;
  // The job queue's own, made to be replaced: it names pg_catalog.
  await tx.query({
    text: `create or replace function jobs.job_now() returns timestamptz language sql stable
      as $$select pg_catalog.now()${shift}$$`,
  });
}
