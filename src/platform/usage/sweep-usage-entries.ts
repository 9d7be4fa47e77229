/**
 * Removes the single entries of usage once they are old: of meters, embeddings, the sandbox and spans. Sums of days, budgets and wallets
 * do not rest on them. What counts is when an entry was recorded, not the day that it counts in: its id keeps a span from being counted
 * twice.
 */
import type { Config } from '../../kernel/config/config.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';

/** Rows a statement: a batch must not hold locks for long. */
const BATCH_SIZE = 2_000;
/** A sweep ends here, and the next one goes on: the first of a large store must not take the disk for itself. */
const ROWS_A_SWEEP = 500_000;

const SWEEP_USAGE_ENTRIES = 'sweep-usage-entries';

/** Defines the hourly job. Call before `jobs.start`. */
export function defineUsageSweep(
  jobs: Jobs,
  { db, config }: { readonly db: Database; readonly config: Pick<Config, 'usageDays'> },
): void {
  const kept = { keptDays: config.usageDays };
  jobs.define(SWEEP_USAGE_ENTRIES, async ({ signal }) => void (await sweepUsageEntries(db, kept, signal)), {
    concurrency: 1,
  });
  jobs.schedule(SWEEP_USAGE_ENTRIES, '42 * * * *', {});
}

/** `keptDays` 0: nothing is removed. Returns how many rows were. */
export async function sweepUsageEntries(
  db: Database,
  { keptDays, batchSize = BATCH_SIZE }: { readonly keptDays: number; readonly batchSize?: number },
  signal: AbortSignal,
): Promise<number> {
  if (keptDays === 0) return 0;
  let total = 0;
  for (let removed = batchSize; removed === batchSize && total < ROWS_A_SWEEP && !signal.aborted; total += removed) {
    const { rowCount } = await db.query({
      text: `
        delete from usage_entries where ctid = any(array(
          select ctid from usage_entries
          where created_at < now() - $1::int * interval '1 day'
          order by created_at limit ${batchSize} for update skip locked))`,
      values: [keptDays],
    });
    removed = rowCount;
  }
  return total;
}
