/** Lists of runs. */
import { sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { endOfPrefix } from '../../../kernel/db/prefix-range.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { idAt } from '../../../kernel/ids/ids.ts';
import type { RunRow } from '../../engine/run-row.ts';
import type { RunStatus } from '../../tables.ts';
import type { TenantDb } from '../../tenant-scope.ts';

export interface RunFilter {
  readonly smithId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly externalIdPrefix?: string | undefined;
  readonly since?: Date | undefined;
}

/** How much older a run's id may be than its row: the id is the server's time, the row has the store's. */
const ID_LEAD_MS = 60_000;

/** Up to one row more than the page holds. */
export async function listRuns(db: TenantDb, filter: RunFilter, page: PageRequest): Promise<RunRow[]> {
  let query = db.selectFrom('runs').selectAll('runs');
  if (filter.smithId !== undefined) query = query.where('runs.smith_id', '=', filter.smithId);
  if (filter.agentId !== undefined) query = query.where('runs.agent_id', '=', filter.agentId);
  if (filter.status !== undefined) query = query.where('runs.status', '=', filter.status);
  if (filter.since !== undefined) {
    const firstId = idAt('run', new Date(filter.since.getTime() - ID_LEAD_MS));
    query = query.where('runs.id', '>=', firstId).where('runs.created_at', '>=', filter.since);
  }
  const prefix = filter.externalIdPrefix;
  if (prefix !== undefined) {
    query = query.where('runs.smith_id', 'in', (eb) => {
      const end = endOfPrefix(prefix);
      const named = eb.selectFrom('smiths').select('smiths.id').where(sql<boolean>`external_id ~>=~ ${prefix}`);
      return end === undefined ? named : named.where(sql<boolean>`external_id ~<~ ${end}`);
    });
  }
  return (await pageById(query, 'runs.id', page).execute()) as unknown as RunRow[];
}
