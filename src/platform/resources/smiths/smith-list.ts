/**
 * A page of smiths, newest first. Every filter but one has an index that gives its rows in that order. The exception is
 * the prefix of an external id: its index gives them by external id. So a prefix that few smiths have is sorted, and one
 * that many have is met soon by walking all smiths from the newest on. Which it is gets counted first, up to a limit:
 * left to itself the planner guesses, and a wrong guess reads every row of the tenant.
 */
import { type RawBuilder, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { endOfPrefix } from '../../../kernel/db/prefix-range.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { idOfFiltered, type SmithRow, selectSmiths } from '../../smiths/smith-store.ts';
import { type FittedPage, fitPage } from '../../store/fit-page.ts';
import type { TenantDb } from '../../store/tenant-db.ts';

export interface SmithFilter {
  /** The only smith that the caller may see. */
  readonly id?: string | undefined;
  readonly external_id?: string | undefined;
  readonly customer_id?: string | undefined;
  readonly agent_id?: string | undefined;
  readonly external_id_prefix?: string | undefined;
}

/** Up to so many rows of a prefix are sorted: a millisecond or two. */
const MAX_SORTED = 2_000;

/** Smiths of one agent each show what it gives them: a page of a hundred would be large out of little. */
export async function listSmiths(db: TenantDb, page: PageRequest, filter: SmithFilter): Promise<FittedPage<SmithRow>> {
  const { external_id_prefix: prefix } = filter;
  if (prefix === undefined) return pageEqual(db, page, filter);
  const isRare = (await countUpTo(db, prefix, MAX_SORTED + 1)) <= MAX_SORTED;
  // Ids alone first: the indexes hold all that this needs, so the rows that do not match are never read. In one statement
  // with the rows: between two, an id could be archived, and the page would look like the last one.
  const ids = isRare ? sortMatches(db, page, prefix, filter) : walkMatches(db, page, prefix, filter);
  return fitPage(db, selectSized(db).where(sql<boolean>`id = any(array(${ids}))`));
}

async function pageEqual(db: TenantDb, page: PageRequest, filter: SmithFilter): Promise<FittedPage<SmithRow>> {
  const isFiltered = columns.some((column) => filter[column] !== undefined);
  if (!isFiltered) return fitPage(db, pageById(selectSized(db), 'id', page));
  const query = selectSized(db).where(isEqual(filter));
  const rest = page.after === undefined ? query : query.where(idOfFiltered, '<', page.after);
  return fitPage(db, rest.orderBy(idOfFiltered, 'desc').limit(page.limit + 1));
}

/** With what a smith is shown with: instructions appear as the agent gives them, as the smith has them, and filled in. */
function selectSized(db: TenantDb) {
  const own = sql`octet_length(metadata::text) + 2 * octet_length(config::text)`;
  const size = sql<number>`${own} + 3 * coalesce(octet_length(agent_snapshot::text), 0)`;
  return selectSmiths(db).select(size.as('size'));
}

const columns = ['id', 'external_id', 'customer_id', 'agent_id'] as const;

function isEqual(filter: SmithFilter): RawBuilder<boolean> {
  const conditions = columns.flatMap((column) => {
    const value = filter[column];
    return value === undefined ? [] : [sql`${sql.ref(column)} = ${value}`];
  });
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`${sql.join(conditions, sql` and `)}`;
}

function selectByPrefix(db: TenantDb, prefix: string) {
  const end = endOfPrefix(prefix);
  const below = end === undefined ? sql<boolean>`true` : sql<boolean>`external_id ~<~ ${end}`;
  return db
    .selectFrom('smiths')
    .where('archived_at', 'is', null)
    .where(sql<boolean>`external_id ~>=~ ${prefix}`)
    .where(below);
}

async function countUpTo(db: TenantDb, prefix: string, limit: number): Promise<number> {
  const row = await db
    .selectFrom(selectByPrefix(db, prefix).select('id').limit(limit).as('counted'))
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirstOrThrow();
  return row.count;
}

function sortMatches(db: TenantDb, page: PageRequest, prefix: string, filter: SmithFilter) {
  const matching = db
    .with(
      (cte) => cte('matching').materialized(),
      () => selectByPrefix(db, prefix).select('id').where(isEqual(filter)),
    )
    .selectFrom('matching')
    .select('id');
  return pageById(matching, 'id', page);
}

function walkMatches(db: TenantDb, page: PageRequest, prefix: string, filter: SmithFilter) {
  const live = db
    .selectFrom('smiths')
    .select('id')
    .where('archived_at', 'is', null)
    .where(isEqual(filter))
    // No index answers this function, which keeps to the walk.
    .where(sql<boolean>`starts_with(external_id, ${prefix})`);
  return pageById(live, 'id', page);
}
