/**
 * Rows whose worker ended with its process. A lease is given back when the work ends, well or not; one that lapsed was held by a process that
 * died, perhaps of that very row. The first time the row is taken up again at once, then later each time, so that a row that ends
 * whatever works on it ends a process every few hours at most, and one that was innocent goes on by itself.
 */
import { type RawBuilder, sql } from 'kysely';

const FIRST_WAIT_MINUTES = 2;
const LONGEST_WAIT_MINUTES = 360;

export interface LeaseColumns {
  readonly leaseUntil: string;
  readonly lapsedLeases: string;
}

/** Whether nobody works on the row, and it has waited as long as its lapsed leases ask for. */
export function isFree({ leaseUntil, lapsedLeases }: LeaseColumns, now: Date): RawBuilder<boolean> {
  const until = sql.ref(leaseUntil);
  const lapsed = sql.ref(lapsedLeases);
  // The lease that lapsed now is not counted yet.
  const minutes = sql`case when ${lapsed} = 0 then 0
    else least(${sql.lit(FIRST_WAIT_MINUTES)} * power(2, least(${lapsed}, 20) - 1), ${sql.lit(LONGEST_WAIT_MINUTES)}) end`;
  return sql<boolean>`(${until} is null or ${until} + interval '1 minute' * (${minutes}) <= ${now})`;
}

/** The new count, for whoever takes the lease. */
export function countLapsed({ leaseUntil, lapsedLeases }: LeaseColumns): RawBuilder<number> {
  return sql<number>`case when ${sql.ref(leaseUntil)} is null then 0 else ${sql.ref(lapsedLeases)} + 1 end`;
}
