/**
 * A page of runs, newest first. Every filter but one has an index that gives its rows in that order. The exception is the
 * prefix of the smith's external id, for it stands in another table: of a prefix that few smiths have, each smith's newest
 * runs are taken; one that many have is met soon by walking the runs from the newest on. Which it is gets looked up first,
 * up to a limit: left to itself the planner guesses, and a wrong guess reads every run of the tenant.
 */
import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { endOfPrefix } from '../../../kernel/db/prefix-range.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { idAt } from '../../../kernel/ids/ids.ts';
import type { RunRow } from '../../engine/run-row.ts';
import type { RunStatus, TenantTables } from '../../tables.ts';
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

/** Of up to so many smiths the runs are taken smith by smith: some milliseconds. */
const MAX_GATHERED = 400;

/** Up to one row more than the page holds. */
export async function listRuns(db: TenantDb, filter: RunFilter, page: PageRequest): Promise<RunRow[]> {
  const query = await selectRuns(db, filter, page);
  return query === undefined ? [] : ((await query.execute()) as unknown as RunRow[]);
}

/** Undefined: nothing can match. */
async function selectRuns(db: TenantDb, filter: RunFilter, page: PageRequest) {
  const { externalIdPrefix: prefix } = filter;
  const runs = db.selectFrom('runs').selectAll('runs');
  const matching = runs.where(isMatch(filter));
  if (prefix === undefined) return pageById(matching, 'runs.id', page);
  const smithIds = await findSmithsOf(db, prefix, filter.smithId, MAX_GATHERED + 1);
  if (smithIds.length === 0) return undefined;
  if (smithIds.length > MAX_GATHERED) return pageById(matching.where(belongsTo(prefix)), 'runs.id', page);
  // Ids alone first: whole rows would be carried through the sort.
  const ids = gatherIds(db, smithIds, filter, page);
  return runs.where(sql<boolean>`runs.id = any(array(${ids}))`).orderBy('runs.id', 'desc');
}

function isMatch(filter: RunFilter): RawBuilder<boolean> {
  const { agentId, since, smithId, status } = filter;
  const conditions = [sql<boolean>`true`];
  if (smithId !== undefined) conditions.push(sql`runs.smith_id = ${smithId}`);
  if (agentId !== undefined) conditions.push(sql`runs.agent_id = ${agentId}`);
  if (status !== undefined) conditions.push(sql`runs.status = ${status}`);
  if (since !== undefined) {
    const firstId = idAt('run', new Date(since.getTime() - ID_LEAD_MS));
    conditions.push(sql`runs.id >= ${firstId}`, sql`runs.created_at >= ${since}`);
  }
  return sql<boolean>`${sql.join(conditions, sql` and `)}`;
}

/** Up to `limit` ids of the smiths, also archived ones, whose external id begins with the prefix. */
async function findSmithsOf(
  db: TenantDb,
  prefix: string,
  onlyId: string | undefined,
  limit: number,
): Promise<string[]> {
  const end = endOfPrefix(prefix);
  let query = db.selectFrom('smiths').select('id').where(sql<boolean>`external_id ~>=~ ${prefix}`);
  if (end !== undefined) query = query.where(sql<boolean>`external_id ~<~ ${end}`);
  if (onlyId !== undefined) query = query.where('id', '=', onlyId);
  const rows = await query.limit(limit).execute();
  return rows.map(({ id }) => id);
}

/** A scalar subquery, which no planner turns into a join: it is asked run by run, and so in the order of the runs. */
function belongsTo(prefix: string) {
  return (eb: ExpressionBuilder<TenantTables, 'runs'>) => {
    const externalId = eb.selectFrom('smiths').select('external_id').whereRef('smiths.id', '=', 'runs.smith_id');
    return sql<boolean>`starts_with((${externalId}), ${prefix})`;
  };
}

function gatherIds(db: TenantDb, smithIds: readonly string[], filter: RunFilter, page: PageRequest) {
  const gathered = db
    .selectFrom(sql<{ id: string }>`unnest(${smithIds}::text[])`.as<'smith'>(sql`smith (id)`))
    .crossJoinLateral((eb) =>
      pageById(
        eb.selectFrom('runs').select('runs.id').whereRef('runs.smith_id', '=', 'smith.id').where(isMatch(filter)),
        'runs.id',
        page,
      ).as('newest'),
    )
    .select('newest.id');
  return gathered.orderBy('newest.id', 'desc').limit(page.limit + 1);
}
