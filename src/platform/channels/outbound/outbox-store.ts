/**
 * The statements of the sender. What is claimed is an outbox, one place of a provider: its oldest part is sent, then the
 * next. A claim is a lease, renewed while a part is under way.
 */
import { ASYNC_COMMIT } from '../../../kernel/db/async-commit.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import type { MessagingKind } from '../../tables.ts';
import type { MessagePart } from '../channel.ts';

const LEASE_MS = 10_000;
/** Projects that one look goes through. */
const PROJECTS_A_LOOK = 500;
/** An account that is not free for longer than this has nothing claimed. */
const ACCOUNT_WAIT_MS = 2_000;

export interface OutboxKey {
  readonly project_id: string;
  readonly outbox_id: string;
}

/** Claims outboxes that are due, project by project. `next`: where the next look begins; '' at the end. */
export async function claimOutboxes(
  db: Database,
  { now, after, limit }: { readonly now: Date; readonly after: string; readonly limit: number },
): Promise<{ readonly outboxes: readonly OutboxKey[]; readonly next: string }> {
  const { rows } = await db.query<OutboxKey & { last_project: string | null }>({
    text: `
      with recursive projects as (
        select (select o.project_id from channel_outboxes o where o.next_attempt_at is not null and o.project_id > $1
                order by o.project_id limit 1) as project_id, 1 as number
        union all
        select (select o.project_id from channel_outboxes o where o.next_attempt_at is not null and o.project_id > p.project_id
                order by o.project_id limit 1), p.number + 1
        from projects p where p.project_id is not null and p.number < ${PROJECTS_A_LOOK}
      ), last as (
        select max(project_id) filter (where number = ${PROJECTS_A_LOOK}) as project_id from projects
      ), due as (
        select q.project_id, q.id from projects p
        cross join lateral (
          select o.project_id, o.id from channel_outboxes o
          where o.next_attempt_at is not null and o.project_id = p.project_id and o.next_attempt_at <= $2
            and not exists (
              select from channel_buckets b
              where b.project_id = o.project_id and b.kind = o.kind and b.account_id = o.account_id
                and b.free_at > $2::timestamptz + interval '${ACCOUNT_WAIT_MS} ms')
          order by o.next_attempt_at limit $3
          for update of o skip locked
        ) q
        limit $3
      ), claimed as (
        update channel_outboxes o set next_attempt_at = $2::timestamptz + interval '${LEASE_MS} ms'
        from due where o.project_id = due.project_id and o.id = due.id
        returning o.project_id, o.id as outbox_id
      )
      select claimed.*, last.project_id as last_project, ${ASYNC_COMMIT} from last left join claimed on true`,
    values: [after, now, limit],
  });
  const outboxes = rows.filter(({ project_id }) => project_id !== null);
  const served =
    outboxes.length < limit
      ? undefined
      : outboxes
          .map(({ project_id }) => project_id)
          .sort()
          .at(-1);
  return { outboxes, next: served ?? rows[0]?.last_project ?? '' };
}

/** `removal`: the answer says nothing after all, and what was shown of it goes. */
export type StoredPart = MessagePart | { readonly type: 'removal' };

/** The message of a provider that pieces of an answer stand in, or stood when their replica died. */
export interface LiveMessage {
  readonly message: string;
  /** A call whose outcome is not known may still change it: it is no place for an answer. */
  readonly is_unsure?: boolean;
}

/** The oldest part of an outbox, and where it goes. */
export interface DuePart extends OutboxKey {
  readonly kind: MessagingKind;
  readonly account_id: string;
  readonly chat: string;
  /** The last number that the outbox had given to a part. */
  readonly planned: number;
  /** The account is not free before. */
  readonly account_free_at: Date | null;
  /** Null: nothing waits. */
  readonly part: {
    readonly answer_id: string;
    readonly position: number;
    readonly number: number;
    readonly body: StoredPart;
    readonly live: LiveMessage | null;
    readonly as_plain: boolean;
    readonly state: 'waiting' | 'sending';
    readonly attempts: number;
    readonly losses: number;
    /** ISO-8601. */
    readonly sending_since: string | null;
    readonly age_ms: number;
    readonly sealed_reply: string | null;
    readonly sender: string;
    readonly deployment_id: string;
    readonly smith_id: string;
  } | null;
}

/** After the claim, so that nobody else sends what it sees. */
export async function readDueParts(db: Database, outboxes: readonly OutboxKey[], now: Date): Promise<DuePart[]> {
  const { rows } = await db.query<DuePart>({
    text: `
      select o.project_id, o.id as outbox_id, o.kind, o.account_id, o.chat, o.planned, b.free_at as account_free_at, p.part
      from unnest($1::text[], $2::text[]) as q (project_id, id)
      join channel_outboxes o on o.project_id = q.project_id and o.id = q.id
      left join channel_buckets b on b.project_id = o.project_id and b.kind = o.kind and b.account_id = o.account_id
      left join lateral (
        select jsonb_build_object('answer_id', p.answer_id, 'position', p.position, 'number', p.number, 'body', p.body, 'live', p.live,
          'as_plain', p.as_plain, 'state', p.state, 'attempts', p.attempts, 'losses', p.losses,
          'sending_since', p.sending_since, 'age_ms', extract(epoch from $3::timestamptz - p.created_at) * 1000,
          'sealed_reply', a.sealed_reply, 'sender', c.sender, 'deployment_id', c.deployment_id, 'smith_id', c.smith_id) as part
        from channel_parts p
        join channel_answers a on a.project_id = p.project_id and a.id = p.answer_id
        join channel_chats c on c.project_id = a.project_id and c.id = a.chat_id
        where p.project_id = o.project_id and p.outbox_id = o.id and p.state in ('waiting', 'sending')
        order by p.number limit 1
      ) p on true`,
    values: [outboxes.map(({ project_id }) => project_id), outboxes.map(({ outbox_id }) => outbox_id), now],
  });
  return rows;
}

export interface AccountKey {
  readonly project_id: string;
  readonly kind: MessagingKind;
  readonly account_id: string;
}

/** Reserves the next sends of accounts; gives for each when the last of them is over. */
export async function reserveSends(
  db: Database,
  wanted: readonly (AccountKey & { readonly count: number; readonly pace_ms: number })[],
  now: Date,
): Promise<readonly (AccountKey & { readonly free_at: Date })[]> {
  const { rows } = await db.query<AccountKey & { free_at: Date }>({
    text: `
      insert into channel_buckets as b (project_id, kind, account_id, free_at)
      select project_id, kind, account_id, $2::timestamptz + count * pace_ms * interval '1 ms'
      from jsonb_to_recordset($1) as w (project_id text, kind text, account_id text, count int, pace_ms int)
      order by project_id, kind, account_id
      on conflict (project_id, kind, account_id) do update set
        free_at = greatest(b.free_at, $2::timestamptz) + (excluded.free_at - $2::timestamptz)
      returning project_id, kind, account_id, free_at, ${ASYNC_COMMIT}`,
    values: [json(wanted), now],
  });
  return rows;
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

/** Says of parts that they are being sent, before they are. For each, whether it is still this replica's to send. */
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
      ), parts as (
        update channel_parts p set
          state = case when s.result in ('sent', 'failed') then s.result else 'waiting' end,
          attempts = p.attempts - (s.result = 'paused' and p.state = 'sending')::int,
          as_plain = p.as_plain or coalesce(s.as_plain, false),
          sending_since = case when s.result = 'unknown' then p.sending_since end,
          provider_message_id = s.provider_message_id, error = s.error
        from settled s
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
