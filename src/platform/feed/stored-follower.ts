/**
 * A follower of the feed that keeps its place in the store: what it does with a batch and its new place commit together, so
 * each event is taken once, whichever replica does it and whenever it dies.
 */

import { ASYNC_COMMIT } from '../../kernel/db/async-commit.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import {
  FEED_START,
  type FeedCursor,
  FeedCursorAheadError,
  type FollowedEvent,
  findFeedEnd,
  followFeed,
} from './follow-feed.ts';

export interface StoredFollower {
  /** Its row of `feed_followers`. */
  readonly name: string;
  readonly eventsABatch: number;
  /** Where it goes on once the database was restored from a dump, which counts transactions anew. */
  readonly afterRestore: 'start' | 'end';
  /** False: nothing was written, and the new place may be lost with the database, for these are then looked at again. */
  readonly take: (tx: Transaction, events: readonly FollowedEvent[]) => Promise<boolean>;
  readonly logger: { warn(fields: object, message: string): void };
}

/**
 * Takes all that is final. Resolves at once where another replica is at it. False: there was nothing behind its place. True: more may
 * be there soon, as what is not final yet becomes so when older transactions end, also without a change.
 */
export async function followStored(db: Database, follower: StoredFollower, signal: AbortSignal): Promise<boolean> {
  const isNews = await hasNews(db, follower.name);
  for (let isFull = isNews; isFull && !signal.aborted; ) {
    isFull = await db.transaction((tx) => takeBatch(tx, follower));
  }
  return isNews;
}

/** Whether something was written behind its place, be it final or not, or its place is not of this database. */
async function hasNews(db: Database, name: string): Promise<boolean> {
  const { rows } = await db.query<{ has_news: boolean }>({
    text: `
      -- The last event of all, by its index: where none is behind the place, to look for one may read all of the table.
      select place.number > pg_snapshot_xmax(pg_current_snapshot()) or coalesce((
          select (e.written_by, e.id) > (place.number, place.id) from events e order by e.written_by desc, e.id desc limit 1
        ), false) as has_news
      from feed_followers f
      cross join lateral (
        select split_part(f.cursor, '/', 1)::xid8 as number, substr(f.cursor, strpos(f.cursor, '/') + 1) as id
      ) place
      where f.name = $1`,
    values: [name],
  });
  return rows[0]?.has_news === true;
}

async function takeBatch(tx: Transaction, follower: StoredFollower): Promise<boolean> {
  const { rows } = await tx.query<{ cursor: FeedCursor }>({
    text: 'select cursor from feed_followers where name = $1 for update skip locked',
    values: [follower.name],
  });
  const cursor = rows[0]?.cursor;
  if (cursor === undefined) return false;
  try {
    const batch = await followFeed(tx, cursor, follower.eventsABatch);
    const hasWritten = batch.events.length > 0 && (await follower.take(tx, batch.events));
    if (batch.cursor !== cursor) await moveCursor(tx, follower, batch.cursor, hasWritten);
    return batch.isFull;
  } catch (error) {
    if (!(error instanceof FeedCursorAheadError)) throw error;
    await renumberRestored(tx);
    const next = follower.afterRestore === 'start' ? FEED_START : await findFeedEnd(tx);
    follower.logger.warn(
      { follower: follower.name, cursor: next },
      'the database was restored: the feed is followed from a new place',
    );
    await moveCursor(tx, follower, next, true);
    return true;
  }
}

async function moveCursor(
  tx: Transaction,
  { name }: StoredFollower,
  cursor: FeedCursor,
  waitsForDisk: boolean,
): Promise<void> {
  const commit = waitsForDisk ? '' : `returning ${ASYNC_COMMIT}`;
  await tx.query({ text: `update feed_followers set cursor = $2 where name = $1 ${commit}`, values: [name, cursor] });
}

/** Restored events name transactions that this database has not come to; they are older than whatever it has written. */
async function renumberRestored(tx: Transaction): Promise<void> {
  await tx.query({
    text: `update events set written_by = '1' where written_by >= pg_snapshot_xmax(pg_current_snapshot())`,
    values: [],
  });
}
