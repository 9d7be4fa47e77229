/**
 * The statements of the dispatcher. What is claimed is one conversation: the messages that wait there begin a turn together.
 * A message that is accepted later raises `received`, which tells whoever settles that there is more.
 */
import { ASYNC_COMMIT } from '../../../kernel/db/async-commit.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { appendEventsSql } from '../../feed/append-event-sql.ts';
import type { JsonObject, MessagingKind } from '../../tables.ts';
import { type Claim, type ClaimedQueue, type ClaimRequest, claimQueues, waitSql } from '../../turn-queues/index.ts';
import type { InboundAttachment } from '../channel.ts';

/** Messages of one turn. */
const MAX_MESSAGES = 50;

export const CHATS = {
  table: 'channel_chats',
  id: 'id',
  columns: ['id'],
  // Whoever says stop does not wait for the end.
  ignoresBusy: 'q.stop_at is not null',
  // All as it stood when the claim began: whatever came after that has raised `received` since, which whoever settles sees.
  contents: `
    select jsonb_build_object('project_id', c.project_id, 'id', c.id, 'kind', d.kind, 'deployment_id', c.deployment_id,
      'agent_id', d.agent_id, 'account_id', c.account_id, 'chat', c.chat, 'sender', c.sender, 'smith_id', c.smith_id,
      'received', c.received, 'stop_at', c.stop_at, 'messages', e.messages) as contents
    from channel_chats c
    join deployments d on d.project_id = c.project_id and d.id = c.deployment_id
    cross join lateral (
      select coalesce(jsonb_agg(jsonb_build_object('id', e.id, 'position', e.position, 'thread_id', e.thread_id,
        'message', e.message, 'sealed_reply', e.sealed_reply,
        'age_ms', extract(epoch from $3::timestamptz - e.created_at) * 1000) order by e.position), '[]') as messages
      from (
        select * from inbound_events
        where project_id = c.project_id and chat_id = c.id and state = 'waiting'
        order by position limit ${MAX_MESSAGES}
      ) e
    ) e
    where c.project_id = claimed.project_id and c.id = claimed.id`,
} as const;

export interface ClaimedChat extends ClaimedQueue {
  readonly id: string;
  /** Null: its deployment has been deleted; or it was put off. */
  readonly contents: ClaimedContents | null;
}

export function claimChats(db: Database, request: ClaimRequest): Promise<Claim<ClaimedChat>> {
  return claimQueues<ClaimedChat>(db, CHATS, request);
}

/** An attachment, and what has become of it. */
export interface KeptAttachment extends InboundAttachment {
  /** Once it is kept. */
  readonly file?: { readonly fileId: string; readonly mediaType: string };
  /** Why it will not be. */
  readonly problem?: string;
}

export interface WaitingMessage {
  readonly id: string;
  readonly position: number;
  readonly thread_id: string;
  readonly message: {
    readonly text: string;
    readonly attachments: readonly KeptAttachment[];
    readonly group?: string;
  };
  readonly sealed_reply: string | null;
  /** How long ago it was accepted. */
  readonly age_ms: number;
}

/** A conversation with what waits there, oldest first. */
export interface WaitingChat {
  readonly project_id: string;
  readonly id: string;
  readonly kind: MessagingKind;
  readonly deployment_id: string;
  /** Null: the deployment is a smith's own. */
  readonly agent_id: string | null;
  readonly account_id: string;
  readonly chat: string;
  readonly sender: string;
  readonly smith_id: string;
  readonly received: number;
  readonly stop_at: number | null;
  readonly messages: readonly WaitingMessage[];
}

/** As it was claimed: whoever speaks to an agent for the first time has no smith yet. */
export type ClaimedContents = Omit<WaitingChat, 'smith_id'> & { readonly smith_id: string | null };

export interface ChatKey {
  readonly project_id: string;
  readonly id: string;
}

/** What has come of a claimed conversation. */
export interface SettledChat {
  readonly project_id: string;
  readonly id: string;
  /** Nothing waits up to here any more; undefined: everything still does. */
  readonly up_to: number | undefined;
  /** What became of the messages up to there. */
  readonly state: 'started' | 'failed' | 'ignored' | undefined;
  readonly run_id: string | undefined;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  /** Up to where everything was stopped. */
  readonly stopped: number | undefined;
  /** What is to be said: the answer of the run, or a sentence. */
  readonly answer:
    | { readonly id: string; readonly sentence: string | null; readonly sealed_reply: string | null }
    | undefined;
  /** `deployment.inbound`, one for each message, and whose doing they are. */
  readonly events: readonly { readonly id: string; readonly type: string; readonly data: JsonObject }[];
  readonly actor: JsonObject | undefined;
  /** `next`: what waits behind is tried at once. The others try the same again: `busy` in a while, `failed` too, which counts. */
  readonly outcome: 'next' | 'busy' | 'failed';
  /** In place of the wait that the outcome has. */
  readonly wait_ms: number | undefined;
}

/** Records what has come of claimed conversations. Messages that another replica has settled meanwhile stay as they are. */
export async function settleChats(db: Database, settled: readonly SettledChat[], now: Date): Promise<void> {
  await db.query({
    text: `
      with settled as (
        select * from jsonb_to_recordset($1) as s (project_id text, id text, up_to bigint, state text, run_id text,
          error jsonb, stopped bigint, answer jsonb, events jsonb, actor jsonb, outcome text, wait_ms int)
      ), held as (
        select c.project_id, c.id, c.smith_id, c.stop_at from channel_chats c
        where (c.project_id, c.id) in (select project_id, id from settled)
        order by c.project_id, c.id for update
      ), messages as (
        update inbound_events e set state = s.state, run_id = s.run_id, error = s.error, message = null, sealed_reply = null
        from settled s join held on held.project_id = s.project_id and held.id = s.id
        where s.state is not null and e.project_id = s.project_id and e.chat_id = s.id and e.state = 'waiting'
          and e.position <= s.up_to
        returning e.project_id, e.chat_id
      ), ended as (
        select s.*, held.smith_id from settled s join held on held.project_id = s.project_id and held.id = s.id
        where s.stopped = held.stop_at
          or (s.project_id, s.id) in (select project_id, chat_id from messages)
      ), answers as (
        insert into channel_answers (project_id, id, chat_id, position, run_id, sentence, sealed_reply, state)
        select s.project_id, s.answer ->> 'id', s.id, s.up_to, s.run_id, s.answer ->> 'sentence',
          s.answer ->> 'sealed_reply', 'open'
        from ended s where s.answer is not null
        on conflict (project_id, run_id) where run_id is not null do nothing
      ), told as (
        ${appendEventsSql({ source: 'ended', project: 'ended.project_id', actor: 'ended.actor', events: 'ended.events' })}
      )
      update channel_chats c set
        settled = greatest(c.settled, s.up_to),
        stop_at = case when c.stop_at = s.stopped then null else c.stop_at end,
        next_attempt_at = case
          when s.outcome <> 'next' then $2::timestamptz + coalesce(s.wait_ms * interval '1 ms', ${waitSql('c.waits + c.failures')})
          when c.received > greatest(c.settled, s.up_to) or (c.stop_at is not null and c.stop_at is distinct from s.stopped)
            then $2::timestamptz end,
        waits = case s.outcome when 'busy' then c.waits + 1 when 'failed' then c.waits else 0 end,
        failures = case s.outcome when 'failed' then c.failures + 1 when 'busy' then c.failures else 0 end,
        claims = 0
      from settled s join held on held.project_id = s.project_id and held.id = s.id
      where c.project_id = s.project_id and c.id = s.id
      returning ${ASYNC_COMMIT}`,
    values: [json(settled), now],
  });
}

/** What has become of the attachments of messages that still wait. */
export async function saveAttachments(
  db: Database,
  { project_id }: Pick<ChatKey, 'project_id'>,
  eventId: string,
  attachments: readonly KeptAttachment[],
): Promise<void> {
  await db.query({
    text: `
      update inbound_events set message = jsonb_set(message, '{attachments}', $3::jsonb)
      where project_id = $1 and id = $2 and state = 'waiting'`,
    values: [project_id, eventId, json(attachments)],
  });
}

/** Keeps conversations claimed for a while longer. */
export async function extendClaims(db: Database, chats: readonly ChatKey[], until: Date): Promise<void> {
  await db.query({
    text: `
      update channel_chats c set next_attempt_at = $3
      from unnest($1::text[], $2::text[]) as q (project_id, id)
      where c.project_id = q.project_id and c.id = q.id and c.claims > 0`,
    values: [chats.map(({ project_id }) => project_id), chats.map(({ id }) => id), until],
  });
}

export interface OpenRun {
  readonly id: string;
  readonly smith_id: string;
  readonly sealed_reply: string | null;
}

/** The runs that answer a conversation and have not ended. */
export async function listOpenRuns(db: Database, { project_id, id }: ChatKey): Promise<OpenRun[]> {
  const { rows } = await db.query<OpenRun>({
    text: `
      select r.id, r.smith_id, a.sealed_reply
      from channel_answers a join runs r on r.project_id = a.project_id and r.id = a.run_id
      where a.project_id = $1 and a.chat_id = $2 and a.state = 'open' and r.status in ('in_progress', 'paused')
      order by a.id`,
    values: [project_id, id],
  });
  return rows;
}
