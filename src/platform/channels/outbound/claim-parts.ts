/**
 * What the sender claims: an outbox, one place of a provider, whose oldest part is sent, then the next. A claim is a lease,
 * renewed while a part is under way.
 */

import type { Database } from '../../../kernel/db/database.ts';
import { asLook } from '../../../kernel/db/looks.ts';
import { json } from '../../../kernel/db/values.ts';
import { earliestOf } from '../../../kernel/periodic/next-due.ts';
import type { MessagingKind } from '../../tables.ts';
import { LEASE_MS, type LiveMessage, type OutboxKey, type StoredPart } from './outbox-store.ts';

/** Projects that one look goes through. */
const PROJECTS_A_LOOK = 500;
/** An account that is not free for longer than this has nothing claimed. */
const ACCOUNT_WAIT_MS = 2_000;
/** An account that is not free for longer than this has its parts marked once they have waited: `sending` should be short. */
const READY_MS = 100;

/** The oldest part of an outbox, and where it goes. */
export interface DuePart extends OutboxKey {
  readonly kind: MessagingKind;
  readonly account_id: string;
  readonly chat: string;
  /** The last number that the outbox had given to a part. */
  readonly planned: number;
  /** The account is not free before. */
  readonly account_free_at: Date | null;
  /** When the parts of its account that were claimed with it will all be sent, at the account's pace; null: it has none. */
  readonly account_paced_to: Date | null;
  /** Null: nothing waits. As it was before it was marked. */
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
    readonly smith_id: string | null;
  } | null;
  /** It says already that it is being sent. */
  readonly is_marked: boolean;
}

export interface PartsClaim {
  readonly now: Date;
  /** Where to begin among the projects: behind this one. */
  readonly after: string;
  readonly limit: number;
  /** Milliseconds between two sends of an account, by kind. */
  readonly paces: Readonly<Record<string, number>>;
}

/**
 * Claims outboxes that are due, project by project, with the oldest part of each: reserves its send at the account's pace and
 * marks it, where it has never been tried and can go at once. `next`: where the next look begins; '' at the end. `dueAt`: when one is
 * due next, among the projects that were gone through.
 *
 * What is read is as it stood when the claim began. A part that was settled between then and the claim is not marked: its
 * outbox has nothing to send, and counts as planned from 0 on, so that whoever settles it looks again.
 */
export async function claimParts(
  db: Database,
  { now, after, limit, paces }: PartsClaim,
): Promise<{ readonly due: readonly DuePart[]; readonly next: string; readonly dueAt: Date | undefined }> {
  const leaseUntil = new Date(now.getTime() + LEASE_MS);
  const { rows } = await asLook(db).query<DuePart & { last_project: string | null; due_at: Date | null }>({
    text: `
      with recursive projects as (
        select (select o.project_id from channel_outboxes o where o.next_attempt_at is not null and o.project_id > $1
                order by o.project_id limit 1) as project_id, 1 as number
        union all
        select (select o.project_id from channel_outboxes o where o.next_attempt_at is not null and o.project_id > p.project_id
                order by o.project_id limit 1), p.number + 1
        from projects p where p.project_id is not null and p.number < ${PROJECTS_A_LOOK}
      ), last as (
        select max(p.project_id) filter (where p.number = ${PROJECTS_A_LOOK}) as project_id,
          least(min(later.next_attempt_at), min(paused.free_at) - interval '${ACCOUNT_WAIT_MS} ms') as due_at
        from projects p
        left join lateral (
          select next_attempt_at from channel_outboxes
          where next_attempt_at is not null and project_id = p.project_id and next_attempt_at > $2
          order by next_attempt_at limit 1
        ) later on true
        left join channel_buckets paused
          on paused.project_id = p.project_id and paused.free_at > $2::timestamptz + interval '${ACCOUNT_WAIT_MS} ms'
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
        update channel_outboxes o set next_attempt_at = $5
        from due where o.project_id = due.project_id and o.id = due.id
      ), found as (
        select o.project_id, o.id as outbox_id, o.kind, o.account_id, o.chat, o.planned, b.free_at as account_free_at,
          p.answer_id, p.position, p.attempts, p.part,
          coalesce(p.is_new and (b.free_at is null or b.free_at <= $2::timestamptz + interval '${READY_MS} ms'), false) as is_ready
        from due
        join channel_outboxes o on o.project_id = due.project_id and o.id = due.id
        left join channel_buckets b on b.project_id = o.project_id and b.kind = o.kind and b.account_id = o.account_id
        left join lateral (
          select p.answer_id, p.position, p.attempts, p.state = 'waiting' and p.sending_since is null as is_new,
            jsonb_build_object('answer_id', p.answer_id, 'position', p.position, 'number', p.number, 'body', p.body, 'live', p.live,
              'as_plain', p.as_plain, 'state', p.state, 'attempts', p.attempts, 'losses', p.losses,
              'sending_since', p.sending_since, 'age_ms', extract(epoch from $2::timestamptz - p.created_at) * 1000,
              'sealed_reply', a.sealed_reply, 'sender', c.sender, 'deployment_id', c.deployment_id, 'smith_id', c.smith_id) as part
          from channel_parts p
          join channel_answers a on a.project_id = p.project_id and a.id = p.answer_id
          join channel_chats c on c.project_id = a.project_id and c.id = a.chat_id
          where p.project_id = o.project_id and p.outbox_id = o.id and p.state in ('waiting', 'sending')
          order by p.number limit 1
        ) p on true
      ), marked as (
        update channel_parts p set state = 'sending', attempts = p.attempts + 1, sending_since = $2
        from found f
        where f.is_ready and p.project_id = f.project_id and p.answer_id = f.answer_id and p.position = f.position
          and p.attempts = f.attempts and p.state = 'waiting'
        returning p.project_id, p.answer_id, p.position
      ), paced as (
        insert into channel_buckets as b (project_id, kind, account_id, free_at)
        select f.project_id, f.kind, f.account_id, $2::timestamptz + count(*) * min(pace.ms::int) * interval '1 ms'
        from found f join jsonb_each_text($4) as pace (kind, ms) on pace.kind = f.kind
        where f.part is not null
        group by f.project_id, f.kind, f.account_id
        order by f.project_id, f.kind, f.account_id
        on conflict (project_id, kind, account_id) do update set
          free_at = greatest(b.free_at, $2::timestamptz) + (excluded.free_at - $2::timestamptz)
        returning b.project_id, b.kind, b.account_id, b.free_at
      )
      select f.project_id, f.outbox_id, f.kind, f.account_id, f.chat, f.account_free_at, paced.free_at as account_paced_to,
        case when f.is_ready and m.answer_id is null then 0 else f.planned end as planned,
        case when f.is_ready and m.answer_id is null then null else f.part end as part,
        m.answer_id is not null as is_marked, last.project_id as last_project, last.due_at,
        case when not exists (select from marked) then set_config('synchronous_commit', 'off', true) end as async_commit
      from last
      left join found f on true
      left join marked m on m.project_id = f.project_id and m.answer_id = f.answer_id and m.position = f.position
      left join paced on paced.project_id = f.project_id and paced.kind = f.kind and paced.account_id = f.account_id`,
    values: [after, now, limit, json(paces), leaseUntil],
  });
  const due = rows.filter(({ project_id }) => project_id !== null);
  const served =
    due.length < limit
      ? undefined
      : due
          .map(({ project_id }) => project_id)
          .sort()
          .at(-1);
  const dueAt = earliestOf([rows[0]?.due_at, due.length > 0 ? leaseUntil : undefined]);
  return { due, next: served ?? rows[0]?.last_project ?? '', dueAt };
}
