/** The statements by which messages come in. */
import { json } from '../../../kernel/db/values.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { DeploymentKind } from '../../tables.ts';
import type { InboundMessage, OpenAccount } from '../channel.ts';

/** Whom a message reaches, and whether it has been accepted before. */
export interface Recipient {
  readonly is_known: boolean;
  /** Null: nobody claims the sender. */
  readonly deployment_id: string | null;
  readonly smith_id: string | null;
  readonly agent_id: string | null;
  /** The deployment is this sender's alone. */
  readonly is_bound: boolean;
  /** Whom the sender spoke to before in this chat, while that one is there. */
  readonly known_smith_id: string | null;
}

const RECIPIENT = 'id, smith_id, agent_id, address is not null as is_bound';
const REACHED = `project_id = $1 and kind = $2 and status = 'active' and account_id in ('', $3)`;

/** Where messages, and calls, come to. */
export interface ReachedAccount {
  readonly kind: DeploymentKind;
  readonly accountId: string;
}

export async function findRecipient(
  db: TenantDb,
  { kind, accountId }: ReachedAccount,
  {
    idempotencyKey,
    deploymentId,
    sender,
    chat,
  }: Pick<InboundMessage, 'idempotencyKey' | 'deploymentId' | 'sender' | 'chat'>,
): Promise<Recipient> {
  const { rows } = await db.raw<Recipient>({
    text: `
      select e.id is not null as is_known, d.id as deployment_id, d.smith_id, d.agent_id,
        coalesce(d.is_bound, false) as is_bound, c.smith_id as known_smith_id
      from (select 1) message
      left join inbound_events e
        on e.project_id = $1 and e.source = $2 and e.account_id = $3 and e.idempotency_key = $4
      left join lateral (
        select ${RECIPIENT} from deployments where ${REACHED} and id = $5
        union all
        select ${RECIPIENT} from deployments where ${REACHED} and $5::text is null and address = $6
        union all
        select ${RECIPIENT} from deployments
        where ${REACHED} and $5::text is null and agent_id is not null and address is null and kind not in ('mcp', 'web')
        limit 1
      ) d on true
      left join lateral (
        select c.smith_id from channel_chats c
        join smiths s on s.project_id = c.project_id and s.id = c.smith_id and s.archived_at is null
        where c.project_id = $1 and c.deployment_id = d.id and c.account_id = $3 and c.chat = $7 and c.sender = $6
      ) c on true`,
    values: [kind, accountId, idempotencyKey, deploymentId ?? null, sender, chat],
  });
  const [row] = rows;
  if (row === undefined) throw new Error('a message was looked up without an answer');
  return row;
}

/** A message of somebody whom a deployment reaches. */
export interface DeliveredMessage {
  readonly deploymentId: string;
  readonly smithId: string;
  readonly sealedReply: string | null;
  /** `turn`: it waits to begin one. `new` and `stop`: commands. `none`: it is only noted. */
  readonly purpose: 'turn' | 'new' | 'stop' | 'none';
  /** What the channel itself says to it. */
  readonly sentence: string | undefined;
  readonly now: Date;
}

/**
 * Adds the message to its conversation, whose row gives it its place: messages of one conversation wait for each other
 * here. Gives the conversation; undefined where another call has accepted the same message meanwhile.
 */
export async function insertDelivered(
  db: TenantDb,
  { kind, accountId }: OpenAccount,
  message: InboundMessage,
  { deploymentId, smithId, sealedReply, purpose, sentence, now }: DeliveredMessage,
): Promise<string | undefined> {
  const isTurn = purpose === 'turn';
  const isDue = isTurn || purpose === 'stop';
  const told = { text: message.text, attachments: message.attachments, group: message.group };
  const { rows } = await db.raw<{ chat_id: string }>({
    text: `
      with chat as (
        insert into channel_chats as c
          (project_id, id, deployment_id, account_id, chat, sender, smith_id, thread_id, received, stop_at, next_attempt_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9::bool::int, case when $10 then 0 end, $11::timestamptz)
        on conflict (project_id, deployment_id, account_id, chat, sender) do update set
          received = c.received + excluded.received,
          smith_id = excluded.smith_id,
          thread_id = case when $12 or c.smith_id <> excluded.smith_id then excluded.thread_id else c.thread_id end,
          stop_at = case when $10 then c.received else c.stop_at end,
          next_attempt_at = case
            when $10 and c.claims = 0 then excluded.next_attempt_at
            else coalesce(c.next_attempt_at, excluded.next_attempt_at) end
        returning id, received, thread_id
      ), said as (
        insert into channel_answers (project_id, id, chat_id, position, sentence, sealed_reply, state)
        select $1, $13, id, received, $14, $15, 'open' from chat where $14::text is not null
      )
      insert into inbound_events
        (project_id, id, source, account_id, type, subject, idempotency_key, data, smith_id, deployment_id, chat_id,
          position, thread_id, message, sealed_reply, state, created_at)
      select $1, $16, $17, $4, $18, $19, $20, $21::jsonb, $7, $3, chat.id,
        case when $9 then chat.received end, case when $9 then chat.thread_id end, $22::jsonb, case when $9 then $15 end,
        case when $9 then 'waiting' else 'ignored' end, $23::timestamptz
      from chat
      on conflict (project_id, source, account_id, idempotency_key) do nothing
      returning chat_id`,
    values: [
      ...[mintId('chat'), deploymentId, accountId, message.chat, message.sender, smithId, mintId('thr')],
      ...[isTurn, purpose === 'stop', isDue ? now : null, purpose === 'new'],
      ...[mintId('ans'), sentence ?? null, sealedReply],
      ...[mintId('ievt'), kind, message.type, message.subject, message.idempotencyKey, json(message.data)],
      ...[isTurn ? json(told) : null, now],
    ],
  });
  return rows[0]?.chat_id;
}

/** Notes a message that begins no turn; with whom it reaches, if it does. False where another call has accepted it meanwhile. */
export async function insertNoted(
  db: TenantDb,
  { kind, accountId }: ReachedAccount,
  { type, subject, idempotencyKey, data }: Pick<InboundMessage, 'type' | 'subject' | 'idempotencyKey' | 'data'>,
  reached: Pick<Recipient, 'deployment_id' | 'smith_id'> | undefined,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.raw({
    text: `
      insert into inbound_events
        (project_id, id, source, account_id, type, subject, idempotency_key, data, deployment_id, smith_id, state, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'ignored', $11)
      on conflict (project_id, source, account_id, idempotency_key) do nothing`,
    values: [
      ...[mintId('ievt'), kind, accountId, type, subject, idempotencyKey, json(data)],
      ...[reached?.deployment_id ?? null, reached?.smith_id ?? null, now],
    ],
  });
  return rowCount > 0;
}
