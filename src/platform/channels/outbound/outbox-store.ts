/** What becomes of outboxes that are claimed (`claim-parts.ts`), and of their parts. */
import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import type { MessagingKind } from '../../tables.ts';
import type { MessagePart } from '../channel.ts';

export const LEASE_MS = 10_000;

export interface OutboxKey {
  readonly project_id: string;
  readonly outbox_id: string;
}

/** `removal`: the answer says nothing after all, and what was shown of it goes. */
export type StoredPart = MessagePart | { readonly type: 'removal' };

/** The message of a provider that pieces of an answer stand in, or stood when their replica died. */
export interface LiveMessage {
  readonly message: string;
  /** A call whose outcome is not known may still change it: it is no place for an answer. */
  readonly is_unsure?: boolean;
}

export interface AccountKey {
  readonly project_id: string;
  readonly kind: MessagingKind;
  readonly account_id: string;
}

/** The provider wants nothing of the account before. */
export async function pauseAccount(
  db: Database,
  { project_id, kind, account_id }: AccountKey,
  until: Date,
): Promise<void> {
  await db.query({
    text: `
      insert into channel_buckets as b (project_id, kind, account_id, free_at) values ($1, $2, $3, $4)
      on conflict (project_id, kind, account_id) do update set free_at = greatest(b.free_at, excluded.free_at)`,
    values: [project_id, kind, account_id, until],
  });
}

export interface PartKey extends OutboxKey {
  readonly answer_id: string;
  readonly position: number;
  /** As it was when the part was read: whoever has sent it since has raised it. */
  readonly attempts: number;
}

/** Says of parts that were not marked as they were claimed that they are being sent. For each, whether it is still this replica's to send. */
export async function markSending(db: Database, parts: readonly PartKey[], now: Date): Promise<boolean[]> {
  const { rows } = await db.query<{ answer_id: string; position: number }>({
    text: `
      update channel_parts p set
        losses = p.losses + (p.state = 'sending')::int,
        state = 'sending', attempts = p.attempts + 1, sending_since = coalesce(p.sending_since, $2)
      from jsonb_to_recordset($1) as m (project_id text, answer_id text, position int, attempts int)
      where p.project_id = m.project_id and p.answer_id = m.answer_id and p.position = m.position
        and p.attempts = m.attempts and p.state in ('waiting', 'sending')
      returning p.answer_id, p.position`,
    values: [json(parts), now],
  });
  const marked = new Set(rows.map(({ answer_id, position }) => `${answer_id}/${position}`));
  return parts.map(({ answer_id, position }) => marked.has(`${answer_id}/${position}`));
}

/** What has come of a claimed outbox. */
export interface SettledPart extends OutboxKey {
  /** The last of the outbox that needs nothing more, if the part does not. */
  readonly number: number;
  /**
   * `empty`: there was none. `retry`: it has not arrived. `unknown`: it may have. `paused`: the provider wants nothing for a
   * while, and it does not count.
   */
  readonly result: 'empty' | 'sent' | 'failed' | 'retry' | 'unknown' | 'paused';
  readonly answer_id?: string;
  readonly position?: number;
  readonly attempts?: number;
  readonly provider_message_id?: string | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly as_plain?: boolean;
  /** Until it is tried again. */
  readonly wait_ms?: number;
  /** Until the place takes the next message of any answer. */
  readonly rest_ms?: number;
}

/** Records what has come of claimed outboxes. Behind a part that failed the rest of its answer is not sent. */
export async function settleParts(db: Database, settled: readonly SettledPart[], now: Date): Promise<void> {
  await db.query({
    text: `
      with settled as (
        select * from jsonb_to_recordset($1) as s (project_id text, outbox_id text, number bigint, result text,
          answer_id text, position int, attempts int, provider_message_id text, error jsonb, as_plain bool, wait_ms int,
          rest_ms int)
      ), held as (
        -- Whoever claims holds the outbox, and then marks its part.
        select o.project_id, o.id from channel_outboxes o
        where (o.project_id, o.id) in (select project_id, outbox_id from settled)
        order by o.project_id, o.id for update
      ), parts as (
        update channel_parts p set
          state = case when s.result in ('sent', 'failed') then s.result else 'waiting' end,
          attempts = p.attempts - (s.result = 'paused' and p.state = 'sending')::int,
          as_plain = p.as_plain or coalesce(s.as_plain, false),
          sending_since = case when s.result = 'unknown' then p.sending_since end,
          provider_message_id = s.provider_message_id, error = s.error
        from settled s join held on held.project_id = s.project_id and held.id = s.outbox_id
        where p.project_id = s.project_id and p.answer_id = s.answer_id and p.position = s.position
          and p.attempts = s.attempts and p.state in ('waiting', 'sending')
        returning p.project_id, p.answer_id, p.position, p.outbox_id, s.result
      ), left_out as (
        update channel_parts p set state = 'failed'
        from parts
        where parts.result = 'failed' and p.project_id = parts.project_id and p.answer_id = parts.answer_id
          and p.position > parts.position and p.state = 'waiting'
      ), answers as (
        update channel_answers a set state = parts.result, settled_at = $2
        from parts
        where parts.result in ('sent', 'failed') and a.project_id = parts.project_id and a.id = parts.answer_id
          and a.state = 'planned'
          and (parts.result = 'failed' or not exists (
            select from channel_parts p
            where p.project_id = a.project_id and p.answer_id = a.id and p.position > parts.position))
      )
      update channel_outboxes o set
        free_at = $2::timestamptz + coalesce(s.rest_ms, 0) * interval '1 ms',
        next_attempt_at = case
          when s.result not in ('empty', 'sent', 'failed') or o.planned > s.number
            then $2::timestamptz + greatest(coalesce(s.rest_ms, 0), coalesce(s.wait_ms, 0)) * interval '1 ms' end
      from settled s
      where o.project_id = s.project_id and o.id = s.outbox_id
        and (s.result = 'empty' or (s.project_id, s.answer_id, s.position) in (select project_id, answer_id, position from parts))`,
    values: [json(settled), now],
  });
}

/** Keeps outboxes claimed for a while longer. */
export async function extendOutboxes(db: Database, outboxes: readonly OutboxKey[], now: Date): Promise<void> {
  await db.query({
    text: `
      update channel_outboxes o set next_attempt_at = $3::timestamptz + interval '${LEASE_MS} ms'
      from unnest($1::text[], $2::text[]) as q (project_id, id)
      where o.project_id = q.project_id and o.id = q.id and o.next_attempt_at > $3`,
    values: [outboxes.map(({ project_id }) => project_id), outboxes.map(({ outbox_id }) => outbox_id), now],
  });
}
