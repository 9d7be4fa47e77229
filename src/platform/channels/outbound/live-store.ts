/**
 * The statements of live answers. A place is held while something is shown there, by the same lease that whoever sends takes:
 * so nothing is shown behind an answer, and what waits to be sent comes first.
 */
import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { MessagingKind } from '../../tables.ts';
import type { OutboxKey } from './outbox-store.ts';

const LEASE_MS = 10_000;

export interface PlaceToHold {
  readonly project_id: string;
  readonly kind: MessagingKind;
  readonly account_id: string;
  readonly chat: string;
  /** The account's pace. */
  readonly pace_ms: number;
}

export interface HeldPlace extends OutboxKey {
  /** The last number that was given to a part. */
  readonly planned: number;
  readonly until: Date;
}

/** Holds those places where nothing waits and whose pace, and their account's, allows a call now. One place once. */
export async function holdPlaces(
  db: Database,
  places: readonly PlaceToHold[],
  now: Date,
): Promise<(HeldPlace | undefined)[]> {
  const named = new Map(places.map((place) => [nameOf(place), place]));
  const wanted = [...named.values()].map((place) => ({ ...place, outbox_id: mintId('box') }));
  const { rows } = await db.query<HeldPlace & PlaceToHold>({
    text: `
      with wanted as (
        select w.* from jsonb_to_recordset($1) as w (project_id text, kind text, account_id text, chat text, pace_ms int,
          outbox_id text)
        left join channel_buckets b
          on b.project_id = w.project_id and b.kind = w.kind and b.account_id = w.account_id
        where b.free_at is null or b.free_at <= $2
      ), held as (
        insert into channel_outboxes as o (project_id, id, kind, account_id, chat, next_attempt_at)
        select project_id, outbox_id, kind, account_id, chat, $2::timestamptz + interval '${LEASE_MS} ms' from wanted
        order by project_id, kind, account_id, chat
        on conflict (project_id, kind, account_id, chat) do update set next_attempt_at = excluded.next_attempt_at
          where o.next_attempt_at is null and (o.free_at is null or o.free_at <= $2)
        returning o.project_id, o.id as outbox_id, o.kind, o.account_id, o.chat, o.planned, o.next_attempt_at as until
      ), paced as (
        insert into channel_buckets as b (project_id, kind, account_id, free_at)
        select h.project_id, h.kind, h.account_id, $2::timestamptz + sum(w.pace_ms) * interval '1 ms'
        from held h join wanted w
          on w.project_id = h.project_id and w.kind = h.kind and w.account_id = h.account_id and w.chat = h.chat
        where w.pace_ms > 0
        group by h.project_id, h.kind, h.account_id
        order by h.project_id, h.kind, h.account_id
        on conflict (project_id, kind, account_id) do update set
          free_at = greatest(b.free_at, $2::timestamptz) + (excluded.free_at - $2::timestamptz)
      )
      select * from held`,
    values: [json(wanted), now],
  });
  const held = new Map(rows.map((row) => [nameOf(row), row]));
  return places.map((place) => {
    const name = nameOf(place);
    const own = named.get(name) === place ? held.get(name) : undefined;
    return own && { project_id: own.project_id, outbox_id: own.outbox_id, planned: own.planned, until: own.until };
  });
}

/** Lets go of places. For each, whether something waits there to be sent. */
export async function releasePlaces(
  db: Database,
  places: readonly (HeldPlace & { readonly rest_ms: number })[],
  now: Date,
): Promise<boolean[]> {
  const { rows } = await db.query<{ outbox_id: string; waits: boolean }>({
    text: `
      update channel_outboxes o set
        free_at = $2::timestamptz + h.rest_ms * interval '1 ms',
        next_attempt_at = case when o.planned > h.planned then $2::timestamptz + h.rest_ms * interval '1 ms' end
      from jsonb_to_recordset($1) as h (project_id text, outbox_id text, planned bigint, until timestamptz, rest_ms int)
      where o.project_id = h.project_id and o.id = h.outbox_id and o.next_attempt_at = h.until
      returning o.id as outbox_id, o.next_attempt_at is not null as waits`,
    values: [json(places), now],
  });
  const waiting = new Set(rows.filter(({ waits }) => waits).map(({ outbox_id }) => outbox_id));
  return places.map(({ outbox_id }) => waiting.has(outbox_id));
}

export interface RunKey {
  readonly projectId: string;
  readonly runId: string;
}

/** Stores the message before anything is shown in it. False: nothing more is to be shown. */
export async function keepLiveMessage(db: Database, { projectId, runId }: RunKey, message: string): Promise<boolean> {
  const { rowCount } = await db.query({
    text: `
      update channel_answers set live = jsonb_build_object('message', $3::text)
      where project_id = $1 and run_id = $2 and state = 'open' and segments = 0 and live is null`,
    values: [projectId, runId, message],
  });
  return rowCount > 0;
}

/** As long as its place is held, the answer that takes it over is not sent: it learns of this. */
export async function markUnsure(db: Database, { projectId, runId }: RunKey): Promise<void> {
  const { rowCount } = await db.query({
    text: `
      update channel_answers set live = live || '{"is_unsure": true}'
      where project_id = $1 and run_id = $2 and live is not null`,
    values: [projectId, runId],
  });
  if (rowCount > 0) return;
  await db.query({
    text: `
      update channel_parts p set live = p.live || '{"is_unsure": true}'
      from channel_answers a
      where a.project_id = $1 and a.run_id = $2 and p.project_id = a.project_id and p.answer_id = a.id
        and p.live is not null and p.state = 'waiting'`,
    values: [projectId, runId],
  });
}

function nameOf({ project_id, kind, account_id, chat }: Omit<PlaceToHold, 'pace_ms'>): string {
  return JSON.stringify([project_id, kind, account_id, chat]);
}
