/**
 * Proves the chain of a project's events: that each is there as it was written, at its place, and that none was put in
 * behind. Read page by page, so that a long feed is checked in pieces of bounded time and memory.
 */
import type { Executor } from '../../../kernel/db/database.ts';
import type { FollowedEvent } from '../follow-feed.ts';
import { CHAIN_START, hashLink } from './link-hash.ts';
import { CHAIN_FOLLOWER } from './seal-events.ts';
import { yieldBetween } from './yield-between.ts';

const EVENTS_A_PAGE = 500;

/** A proven part of the chain: its last position, and the hash of the link there as hex. */
export interface ChainPlace {
  readonly position: number;
  readonly hash: string;
}

export const BEFORE_CHAIN: ChainPlace = { position: 0, hash: CHAIN_START.toString('hex') };

/** What is wrong at a place: the first in the order of the chain. */
export interface BrokenLink {
  readonly position: number;
  readonly event_id: string;
  readonly reason: 'link_missing' | 'event_missing' | 'event_changed' | 'event_inserted' | 'head_differs';
}

export type ChainPage =
  | { readonly kind: 'proven'; readonly place: ChainPlace; readonly isEnd: boolean }
  | { readonly kind: 'broken'; readonly link: BrokenLink };

/** Proves the links behind `after`, a page of them; at the end, that no event which must have a link is without. */
export async function verifyChainPage(db: Executor, projectId: string, after: ChainPlace): Promise<ChainPage> {
  const { rows } = await db.query<LinkRow>({ text: PAGE, values: [projectId, after.position] });
  let place = after;
  for await (const row of yieldBetween(rows)) {
    const reason = findFault(row, place);
    if (reason !== undefined) {
      return { kind: 'broken', link: { position: place.position + 1, event_id: row.event_id, reason } };
    }
    place = { position: place.position + 1, hash: row.hash };
  }
  if (rows.length === EVENTS_A_PAGE) return { kind: 'proven', place, isEnd: false };
  const inserted = await findInserted(db, projectId);
  if (inserted === undefined) return { kind: 'proven', place, isEnd: true };
  return { kind: 'broken', link: { position: place.position + 1, event_id: inserted, reason: 'event_inserted' } };
}

/** Whether the chain still has a link that was noted earlier; a chain that was rewritten as a whole has another. */
export async function checkHead(db: Executor, projectId: string, head: ChainPlace): Promise<BrokenLink | undefined> {
  const { rows } = await db.query<{ event_id: string; hash: string }>({
    text: `select event_id, encode(hash, 'hex') as hash from event_links where project_id = $1 and position = $2`,
    values: [projectId, head.position],
  });
  const link = rows[0];
  if (link?.hash === head.hash) return undefined;
  return {
    position: head.position,
    event_id: link?.event_id ?? '',
    reason: link === undefined ? 'link_missing' : 'head_differs',
  };
}

interface LinkRow extends Omit<FollowedEvent, 'id'> {
  readonly position: number;
  readonly event_id: string;
  readonly hash: string;
  /** Null where the event is gone. */
  readonly id: string | null;
}

function findFault(
  { position, event_id, hash, id, ...event }: LinkRow,
  before: ChainPlace,
): BrokenLink['reason'] | undefined {
  if (Number(position) !== before.position + 1) return 'link_missing';
  if (id === null) return 'event_missing';
  const expected = hashLink(Buffer.from(before.hash, 'hex'), { ...event, id: event_id });
  return expected.toString('hex') === hash ? undefined : 'event_changed';
}

const PAGE = `
  select l.position, l.event_id, encode(l.hash, 'hex') as hash,
    l.project_id, e.id, e.type, e.smith_id, e.actor, e.data, e.created_at
  from event_links l
  left join events e on e.project_id = l.project_id and e.id = l.event_id
  where l.project_id = $1 and l.position > $2
  order by l.position limit ${EVENTS_A_PAGE}`;

/** An event without a link, of a transaction that the chain has passed. */
async function findInserted(db: Executor, projectId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>({
    text: `
      select e.id from events e
      where e.project_id = $1
        and e.written_by < (select split_part(cursor, '/', 1)::xid8 from feed_followers where name = $2)
        and not exists (select from event_links l where l.project_id = e.project_id and l.event_id = e.id)
      order by e.id limit 1`,
    values: [projectId, CHAIN_FOLLOWER],
  });
  return rows[0]?.id;
}
