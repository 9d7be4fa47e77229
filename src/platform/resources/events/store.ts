/** Rows of the feed. Every question, however few rows answer it, is a walk along an index. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { idAt } from '../../../kernel/ids/ids.ts';
import { type FittedPage, fitPage } from '../../store/fit-page.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

export type EventRow = Omit<Selectable<TenantTables['events']>, 'project_id' | 'written_by'>;

export interface EventFilter {
  /** Any of these; at least one. */
  readonly types: readonly string[] | undefined;
  readonly smithId: string | undefined;
  readonly since: Date | undefined;
}

/**
 * How far the clock of the process that mints an id may lag behind the store's, which dates the row. Ids tell where to
 * stop looking; within this margin each row's own time decides.
 */
const MAX_CLOCK_LAG_MS = 5 * 60_000;

/** Newest first. */
export async function listEvents(db: TenantDb, page: PageRequest, filter: EventFilter): Promise<FittedPage<EventRow>> {
  const { types } = filter;
  if (types === undefined) return fitPage(db, selectPage(db, page, filter));
  // Each type's newest come off its own stretch of the index. `type in (…)` would read the whole family, or, where the
  // planner takes the family for frequent, the whole feed.
  const [first, ...others] = types.map((type) => selectPage(db, page, filter, type));
  if (first === undefined) return { rows: [], isCut: false };
  if (others.length === 0) return fitPage(db, first);
  const family = others.reduce(
    (all, one) => all.unionAll(db.selectFrom(one.as('one_type')).selectAll()),
    db.selectFrom(first.as('one_type')).selectAll(),
  );
  const newest = db
    .selectFrom(family.as('family'))
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  return fitPage(db, newest);
}

function selectPage(db: TenantDb, page: PageRequest, { smithId, since }: EventFilter, type?: string) {
  let query = db
    .selectFrom('events')
    .select(['id', 'type', 'created_at', 'smith_id', 'actor', 'data'])
    .select(sql<number>`octet_length(events.data::text)`.as('size'));
  if (type !== undefined) query = query.where('type', '=', type);
  if (smithId !== undefined) query = query.where('smith_id', '=', smithId);
  if (since !== undefined) {
    query = query
      .where('events.id', '>=', idAt('evt', new Date(since.getTime() - MAX_CLOCK_LAG_MS)))
      .where('created_at', '>=', since);
  }
  return pageById(query, 'events.id', page);
}
