import type { ProjectRead } from '../../access/operation.ts';
import { smithOf } from '../../access/references.ts';
import { type FileLimits, readUsedBytes } from '../files/index.ts';
import { readDays } from './read-usage-query.ts';
import { renderAmounts, renderGroup } from './render-usage.ts';
import type { TenantUsage, TenantUsageQuery } from './schema.ts';
import { summarizeUsage } from './store.ts';

const MODELS_SHOWN = 100;

export interface UsageDependencies {
  readonly config: Pick<FileLimits, 'projectStorageBytes'>;
}

/** A smith token sees its own smith's part. */
export function getTenantUsage({ config }: UsageDependencies) {
  return async ({ db, caller, query }: ProjectRead<{ query: TenantUsageQuery }>): Promise<TenantUsage> => {
    const days = readDays(query);
    const smithId = smithOf(caller);
    const filter = { ...days, ownOnly: true, where: smithId === undefined ? {} : { smith_id: smithId } };
    const [rows, usedBytes] = await Promise.all([
      summarizeUsage(db, filter, MODELS_SHOWN),
      smithId === undefined ? readUsedBytes(db) : undefined,
    ]);
    const all = rows.find(({ kind }) => kind === 'all');
    if (all === undefined) throw new Error('a sum of everything has one row');
    return {
      ...days,
      currency: 'usd',
      totals: renderAmounts(all),
      by_day: rows.filter(({ kind }) => kind === 'day').map((row) => renderGroup(row, ['day'])),
      by_model: rows.filter(({ kind }) => kind === 'model').map((row) => renderGroup(row, ['model'])),
      storage: usedBytes === undefined ? null : { used_bytes: usedBytes, limit_bytes: config.projectStorageBytes },
    };
  };
}
