import type { TenantDb } from '../../store/tenant-db.ts';
import { readDays } from './read-usage-query.ts';
import { renderAmounts } from './render-usage.ts';
import type { UsageAmounts } from './schema.ts';
import { sumUsage, type UsageFilter } from './store.ts';

/** What was used this month so far where these columns have these values, without what external systems report. */
export async function readMonthOf(
  db: TenantDb,
  where: UsageFilter['where'],
): Promise<UsageAmounts & { from: string; to: string }> {
  const days = readDays({});
  return { ...days, ...renderAmounts(await sumUsage(db, { ...days, where, ownOnly: true })) };
}
