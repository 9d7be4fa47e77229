/**
 * A page of runs, newest first. Every filter but one has an index that gives its rows in that order. The exception is the
 * prefix of the smith's external id, for it stands in another table. Two ways lead to its page: take the newest runs of
 * each smith that has the prefix, at a cost that grows with those smiths; or walk the runs from the newest on, at a cost
 * that grows with the runs of others in between. Neither number is known beforehand, and the planner's guess may read
 * every run of the tenant. So both get a budget that grows until one of them suffices: what the cheaper one costs is
 * exceeded by a constant factor at most.
 */
import { type RawBuilder, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { endOfPrefix } from '../../../kernel/db/prefix-range.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { idAt } from '../../../kernel/ids/ids.ts';
import type { RunRow } from '../../engine/index.ts';
import { type FittedPage, fitPage } from '../../store/fit-page.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { RunStatus } from '../../tables.ts';

export interface RunFilter {
  readonly smithId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly externalIdPrefix?: string | undefined;
  readonly since?: Date | undefined;
}

/** How much older a run's id may be than its row: the id is the server's time, the row has the store's. */
const ID_LEAD_MS = 60_000;

/** Smiths whose runs are taken one by one, or else runs that are walked, before more are allowed: a millisecond or two. */
const FIRST_BUDGET = 400;
const BUDGET_GROWTH = 10;

/** What is shown of a run. What it was configured with stays where it is. */
export type ShownRun = Pick<RunRow, (typeof COLUMNS)[number]>;

const COLUMNS = [
  'id',
  'smith_id',
  'thread_id',
  'status',
  'channel',
  'input',
  'output',
  'stop_reason',
  'warnings',
  'error',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'reasoning_tokens',
  'cost_micros',
  'metadata',
  'actor',
  'app_id',
  'created_at',
  'updated_at',
] as const;

export async function listRuns(db: TenantDb, filter: RunFilter, page: PageRequest): Promise<FittedPage<ShownRun>> {
  if (filter.externalIdPrefix !== undefined) return listByPrefix(db, filter.externalIdPrefix, filter, page);
  return fitPage(db, pageById(selectShown(db).where(isMatch(filter)), 'runs.id', page));
}

function selectShown(db: TenantDb) {
  const size = sql<number>`octet_length(runs.input::text) + coalesce(octet_length(runs.output::text), 0)`;
  return db.selectFrom('runs').select(COLUMNS).select(size.as('size'));
}

async function listByPrefix(
  db: TenantDb,
  prefix: string,
  filter: RunFilter,
  page: PageRequest,
): Promise<FittedPage<ShownRun>> {
  for (let budget = FIRST_BUDGET; ; budget *= BUDGET_GROWTH) {
    const isFew = !(await hasMoreSmiths(db, prefix, filter, budget));
    const ids = isFew ? gatherIds(db, prefix, filter, page) : walkIds(db, prefix, filter, page, budget);
    // Ids alone first: whole rows would be carried through the sort.
    const found = await fitPage(db, selectShown(db).where(sql<boolean>`runs.id = any(array(${ids}))`));
    const isFull = found.isCut || found.rows.length > page.limit;
    if (isFew || isFull || !(await hasMoreRuns(db, filter, page, budget))) return found;
  }
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

/** The smiths, also archived ones, whose external id begins with the prefix. */
function selectSmithsOf(db: TenantDb, prefix: string, { smithId }: RunFilter) {
  const end = endOfPrefix(prefix);
  let query = db.selectFrom('smiths').select('smiths.id').where(sql<boolean>`external_id ~>=~ ${prefix}`);
  if (end !== undefined) query = query.where(sql<boolean>`external_id ~<~ ${end}`);
  if (smithId !== undefined) query = query.where('smiths.id', '=', smithId);
  return query;
}

async function hasMoreSmiths(db: TenantDb, prefix: string, filter: RunFilter, budget: number): Promise<boolean> {
  const counted = selectSmithsOf(db, prefix, filter).limit(budget + 1);
  const { count } = await db
    .selectFrom(counted.as('counted'))
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow();
  return count > budget;
}

/** Whether the walk ended for want of budget, not of runs. */
async function hasMoreRuns(db: TenantDb, filter: RunFilter, page: PageRequest, budget: number): Promise<boolean> {
  const walked = db.selectFrom('runs').select('runs.id').where(isMatch(filter));
  const next = pageById(walked, 'runs.id', page).limit(1).offset(budget);
  return (await next.executeTakeFirst()) !== undefined;
}

/** Of each smith's newest runs the newest. */
function gatherIds(db: TenantDb, prefix: string, filter: RunFilter, page: PageRequest) {
  return db
    .selectFrom(selectSmithsOf(db, prefix, filter).as('smith'))
    .crossJoinLateral((eb) => {
      const own = eb.selectFrom('runs').select('runs.id').whereRef('runs.smith_id', '=', 'smith.id');
      return pageById(own.where(isMatch(filter)), 'runs.id', page).as('newest');
    })
    .select('newest.id')
    .orderBy('newest.id', 'desc')
    .limit(page.limit + 1);
}

/** Those of the newest `budget` runs whose smith has the prefix, until the page is full. */
function walkIds(db: TenantDb, prefix: string, filter: RunFilter, page: PageRequest, budget: number) {
  const runs = db.selectFrom('runs').select(['runs.id', 'runs.smith_id']).where(isMatch(filter));
  return db
    .selectFrom(pageById(runs, 'runs.id', page).limit(budget).as('walked'))
    .select('walked.id')
    .where((eb) => {
      // A scalar subquery is never turned into a join: it is asked run by run, in the order of the runs.
      const externalId = eb.selectFrom('smiths').select('external_id').whereRef('smiths.id', '=', 'walked.smith_id');
      return sql<boolean>`starts_with((${externalId}), ${prefix})`;
    })
    .orderBy('walked.id', 'desc')
    .limit(page.limit + 1);
}
