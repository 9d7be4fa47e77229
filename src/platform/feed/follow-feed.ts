/**
 * Reading the feed by a cursor that misses nothing.
 *
 * Events become visible when their transactions commit, which is not the order in which they were written: whoever
 * remembered the last id, or the last time, would pass over those that commit late. So the feed is followed in the order
 * of the transactions' numbers, and only below the oldest one that is still open anywhere: what is read there is final.
 * One transaction that stays open holds every follower up, and loses nothing.
 *
 *   … committed, read │ committed, not yet read │ open ┄ committed ┄ open ┄
 *                  cursor                    horizon
 */
import type { Database, Executor } from '../../kernel/db/database.ts';
import { executorOf } from '../store/executor-of.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { Actor, JsonObject } from '../tables.ts';

export interface FollowedEvent {
  readonly project_id: string;
  readonly id: string;
  readonly type: string;
  readonly smith_id: string | null;
  readonly actor: Actor | null;
  readonly data: JsonObject;
  readonly created_at: Date;
}

/** A place in the feed, to be stored as it is. */
export type FeedCursor = string;

/** Before the first event. */
export const FEED_START: FeedCursor = '0/';

export interface FeedBatch {
  /** In the order of the feed, at most `limit`. */
  readonly events: readonly FollowedEvent[];
  /** Where to go on: behind the last event or, when no more are ready, behind everything that is final. */
  readonly cursor: FeedCursor;
  /** Whether there may be more at once. */
  readonly isFull: boolean;
}

/** The channel on which followers are woken. */
export const FEED_CHANNEL = 'feed';

/** The cursor belongs to another database: this one was restored from a dump, and counts its transactions anew. */
export class FeedCursorAheadError extends Error {}

/**
 * The next events of every project. For the platform's own followers, deliveries foremost: each event once, in an order
 * that never changes. Throws FeedCursorAheadError.
 */
export async function followFeed(db: Executor, after: FeedCursor, limit: number): Promise<FeedBatch> {
  return readBatch(db, { text: readSql('true'), values: [] }, after, limit);
}

/** As `followFeed`, of one project. */
export async function followProjectFeed(db: TenantDb, after: FeedCursor, limit: number): Promise<FeedBatch> {
  return readBatch(executorOf(db), { text: readSql('project_id = $4'), values: [db.projectId] }, after, limit);
}

/** Behind everything that is final now: for a follower that begins with what comes next. */
export async function findFeedEnd(db: Executor): Promise<FeedCursor> {
  const { rows } = await db.query<{ horizon: string }>({
    text: 'select pg_snapshot_xmin(pg_current_snapshot())::text as horizon',
    values: [],
  });
  return `${rows[0]?.horizon ?? '0'}/`;
}

/**
 * Calls `onWake` soon after events have been written, once for many, and after a gap in which wake-ups may have been lost.
 * A hint: what was written by a transaction that is not final yet comes with a later look.
 */
export function onFeedChanged(db: Database, onWake: () => void): Promise<() => Promise<void>> {
  return db.listen(FEED_CHANNEL, onWake, onWake);
}

interface Row extends FollowedEvent {
  readonly written_by: string | null;
  readonly horizon: string;
  readonly is_ahead: boolean;
}

async function readBatch(
  db: Executor,
  statement: { readonly text: string; readonly values: readonly unknown[] },
  after: FeedCursor,
  limit: number,
): Promise<FeedBatch> {
  const [transaction, eventId] = parseCursor(after);
  const { rows } = await db.query<Row>({
    text: statement.text,
    values: [transaction, eventId, limit, ...statement.values],
  });
  const [first] = rows;
  if (first === undefined) throw new Error('the look at the feed returned no row');
  if (first.is_ahead) {
    throw new FeedCursorAheadError(
      `The feed's cursor ${after} is ahead of this database, which was restored since. Go on from findFeedEnd().`,
    );
  }
  const found = rows.filter(({ written_by }) => written_by !== null);
  const last = found.length < limit ? undefined : found.at(-1);
  return {
    events: found.map(({ written_by: _written, horizon: _horizon, is_ahead: _ahead, ...event }) => event),
    cursor: last === undefined ? `${first.horizon}/` : `${last.written_by}/${last.id}`,
    isFull: last !== undefined,
  };
}

function parseCursor(cursor: FeedCursor): [string, string] {
  const [, transaction, eventId] = /^(\d{1,20})\/(.*)$/.exec(cursor) ?? [];
  if (transaction === undefined || eventId === undefined) throw new TypeError(`not a cursor of the feed: ${cursor}`);
  return [transaction, eventId];
}

/** `where` is SQL over `events`; one row without an event says how far an empty look has seen. */
function readSql(where: string): string {
  return `
    select e.project_id, e.id, e.type, e.smith_id, e.actor, e.data, e.created_at, e.written_by::text as written_by,
      now_at.horizon::text as horizon, $1::xid8 > now_at.newest as is_ahead
    from (select pg_snapshot_xmin(pg_current_snapshot()) as horizon, pg_snapshot_xmax(pg_current_snapshot()) as newest) now_at
    left join lateral (
      select * from events
      where (written_by, id) > ($1::xid8, $2) and written_by < now_at.horizon and ${where}
      order by written_by, id limit $3
    ) e on true
    order by e.written_by, e.id`;
}
