/** Answers that are to be said, and the messages that they become. */
import { ASYNC_COMMIT } from '../../../kernel/db/async-commit.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { JsonObject, MessagingKind, RunStatus } from '../../tables.ts';
import type { LiveMessage, StoredPart } from './outbox-store.ts';

export interface ChatPlace {
  readonly projectId: string;
  readonly chatId: string;
}

export interface RunOfAnswer {
  readonly projectId: string;
  readonly runId: string;
}

/** An answer that has something to say now. */
export interface OpenAnswer {
  readonly project_id: string;
  readonly id: string;
  readonly chat_id: string;
  readonly kind: MessagingKind;
  readonly account_id: string;
  readonly chat: string;
  readonly sentence: string | null;
  /** Segments of the run that are planned. */
  readonly segments: number;
  readonly run_id: string | null;
  readonly status: RunStatus | null;
  readonly output: JsonObject | null;
  /** That the run has left, or rests at with the newest. */
  readonly pauses: number | null;
  /** Pieces of it are shown there. */
  readonly live: LiveMessage | null;
}

const OPEN = `
  from channel_answers a
  join channel_chats c on c.project_id = a.project_id and c.id = a.chat_id
  join deployments d on d.project_id = c.project_id and d.id = c.deployment_id
  left join runs r on r.project_id = a.project_id and r.id = a.run_id
  where a.state = 'open'
    and (a.run_id is null or r.status in ('completed', 'failed', 'cancelled')
      or (r.status = 'paused' and a.segments <= jsonb_array_length(r.pauses)))`;

/** Of these conversations, and those that these runs answer: an earlier answer is said before a later one. */
export async function listOpenAnswers(
  db: Database,
  chats: readonly ChatPlace[],
  runs: readonly RunOfAnswer[],
): Promise<OpenAnswer[]> {
  const { rows } = await db.query<OpenAnswer>({
    text: `
      with chats as (
        select * from unnest($1::text[], $2::text[]) as q (project_id, chat_id)
        union
        select a.project_id, a.chat_id from unnest($3::text[], $4::text[]) as q (project_id, run_id)
        join channel_answers a on a.project_id = q.project_id and a.run_id = q.run_id
      )
      select a.project_id, a.id, a.chat_id, d.kind, c.account_id, c.chat, a.sentence, a.segments, a.run_id, r.status, r.output,
        jsonb_array_length(r.pauses) as pauses, a.live
      ${OPEN} and (a.project_id, a.chat_id) in (select project_id, chat_id from chats)
      order by a.project_id, a.chat_id, a.position, a.id`,
    values: [
      ...[chats.map(({ projectId }) => projectId), chats.map(({ chatId }) => chatId)],
      ...[runs.map(({ projectId }) => projectId), runs.map(({ runId }) => runId)],
    ],
  });
  return rows;
}

/** Conversations in which something is to be said, whoever should have said it. */
export async function listForgotten(db: Database, limit: number): Promise<ChatPlace[]> {
  const { rows } = await db.query<ChatPlace>({
    text: `select distinct a.project_id as "projectId", a.chat_id as "chatId" ${OPEN} limit $1`,
    values: [limit],
  });
  return rows;
}

/** What an answer becomes. */
export interface PlannedAnswer extends OpenAnswer {
  /** The first takes the place of the pieces. */
  readonly parts: readonly StoredPart[];
  /** Segments that are planned then. */
  readonly planned: number;
  /** `open`: there is more to come. */
  readonly next: 'open' | 'planned' | 'sent' | 'failed';
}

/**
 * Adds the parts of answers, one an outbox at most. What has changed meanwhile is left as it is: somebody else has planned it,
 * or it is to be composed again. Gives those that were planned, by id: when the place of their messages takes one, if they have
 * any.
 */
export async function planAnswers(
  db: Database,
  answers: readonly PlannedAnswer[],
  now: Date,
): Promise<ReadonlyMap<string, Date | null>> {
  const planned = answers.map(({ parts, planned: segments, next, segments: before, output: _, ...answer }) => ({
    ...answer,
    ...{ before, segments, next, parts, count: parts.length, outbox_id: mintId('box') },
  }));
  const { rows } = await db.query<{ id: string; due_at: Date | null }>({
    text: `
      with planned as (
        select * from jsonb_to_recordset($1) as p (project_id text, id text, before int, segments int, next text,
          outbox_id text, kind text, account_id text, chat text, parts jsonb, count int, live jsonb)
      ), marked as (
        update channel_answers a set
          segments = p.segments, state = p.next, live = null,
          settled_at = case when p.next in ('sent', 'failed') then $2::timestamptz end
        from planned p
        where a.project_id = p.project_id and a.id = p.id and a.state = 'open' and a.segments = p.before
          and a.live is not distinct from p.live
        returning a.project_id, a.id
      ), wanted as (
        select p.* from planned p join marked m on m.project_id = p.project_id and m.id = p.id where p.count > 0
      ), boxes as (
        insert into channel_outboxes as o (project_id, id, kind, account_id, chat, planned, next_attempt_at)
        select project_id, outbox_id, kind, account_id, chat, count, $2 from wanted
        order by project_id, kind, account_id, chat
        on conflict (project_id, kind, account_id, chat) do update set
          planned = o.planned + excluded.planned,
          next_attempt_at = coalesce(o.next_attempt_at, greatest(excluded.next_attempt_at, o.free_at))
        returning o.project_id, o.id, o.kind, o.account_id, o.chat, o.planned, o.next_attempt_at
      ), parts as (
        insert into channel_parts (project_id, answer_id, position, outbox_id, number, body, live, state, created_at)
        select p.project_id, p.id, before.count + part.n, o.id, o.planned - p.count + part.n, part.body,
          case when part.n = 1 then p.live end, 'waiting', $2
        from wanted p
        join boxes o
          on o.project_id = p.project_id and o.kind = p.kind and o.account_id = p.account_id and o.chat = p.chat
        cross join lateral (
          select count(*) from channel_parts where project_id = p.project_id and answer_id = p.id
        ) before
        cross join lateral jsonb_array_elements(p.parts) with ordinality as part (body, n)
      )
      select m.id, o.next_attempt_at as due_at, ${ASYNC_COMMIT}
      from marked m
      left join wanted w on w.project_id = m.project_id and w.id = m.id
      left join boxes o
        on o.project_id = w.project_id and o.kind = w.kind and o.account_id = w.account_id and o.chat = w.chat`,
    values: [json(planned), now],
  });
  return new Map(rows.map(({ id, due_at }) => [id, due_at]));
}
