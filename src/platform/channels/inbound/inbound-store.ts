/** The statements by which messages come in. */
import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
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
/** One row. $1 to $7: the project, kind, account, key, deployment where the address names it, sender and chat. */
const FIND_RECIPIENT = `
  select e.id is not null as is_known, d.id as deployment_id, d.smith_id, d.agent_id,
    coalesce(d.is_bound, false) as is_bound, c.known_smith_id, c.gone_smith_id
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
    select s.id as known_smith_id, case when s.id is null then c.smith_id end as gone_smith_id
    from channel_chats c
    left join smiths s on s.project_id = c.project_id and s.id = c.smith_id and s.archived_at is null
    where c.project_id = $1 and c.deployment_id = d.id and c.account_id = $3 and c.chat = $7 and c.sender = $6
  ) c on true`;

/** Where messages, and calls, come to. */
export interface ReachedAccount {
  readonly kind: DeploymentKind;
  readonly accountId: string;
}

type Addressed = Pick<InboundMessage, 'idempotencyKey' | 'deploymentId' | 'sender' | 'chat'>;

export async function findRecipient(db: TenantDb, account: ReachedAccount, message: Addressed): Promise<Recipient> {
  const { rows } = await db.raw<Recipient>({ text: FIND_RECIPIENT, values: addressOf(account, message) });
  return theRow(rows);
}

function addressOf(
  { kind, accountId }: ReachedAccount,
  { idempotencyKey, deploymentId, sender, chat }: Addressed,
): unknown[] {
  return [kind, accountId, idempotencyKey, deploymentId ?? null, sender, chat];
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

/** Of a conversation that is there: the one that is given, or the one that it has, unless that one has gone. */
const NEXT_SMITH = 'coalesce(excluded.smith_id, nullif(c.smith_id, (select gone_smith_id from recipient)))';

/**
 * Adds the message to its conversation with the `recipient`, whose row gives it its place: messages of one conversation wait
 * for each other here. Whoever speaks to an agent for the first time has no smith yet.
 */
const DELIVER = `
  chat as (
    insert into channel_chats as c
      (project_id, id, deployment_id, account_id, chat, sender, smith_id, thread_id, received, stop_at, next_attempt_at)
    select $1, $8, deployment_id, $3, $7, $6, smith_id, $9, $10::bool::int, case when $11::bool then 0 end, $12::timestamptz
    from recipient
    on conflict (project_id, deployment_id, account_id, chat, sender) do update set
      received = c.received + excluded.received,
      smith_id = ${NEXT_SMITH},
      thread_id = case
        when $13::bool or (c.smith_id is not null and c.smith_id is distinct from ${NEXT_SMITH}) then excluded.thread_id
        else c.thread_id end,
      stop_at = case when $11::bool then c.received else c.stop_at end,
      next_attempt_at = case
        when $11::bool and c.claims = 0 then excluded.next_attempt_at
        else coalesce(c.next_attempt_at, excluded.next_attempt_at) end
    returning id, deployment_id, smith_id, received, thread_id
  ), said as (
    insert into channel_answers (project_id, id, chat_id, position, sentence, sealed_reply, state)
    select $1, $14, id, received, $15, $16, 'open' from chat where $15::text is not null
  ), event as (
    insert into inbound_events
      (project_id, id, source, account_id, type, subject, idempotency_key, data, smith_id, deployment_id, chat_id,
        position, thread_id, message, sealed_reply, state, created_at)
    select $1, $17, $2, $3, $18, $19, $4, $20::jsonb, chat.smith_id, chat.deployment_id, chat.id,
      case when $10 then chat.received end, case when $10 then chat.thread_id end, $21::jsonb, case when $10 then $16 end,
      case when $10 then 'waiting' else 'ignored' end, $22::timestamptz
    from chat
    returning chat_id
  )`;

function deliveredValues(
  account: OpenAccount,
  message: InboundMessage,
  { purpose, sentence, sealedReply, now }: Omit<DeliveredMessage, 'deploymentId' | 'smithId'>,
): unknown[] {
  const isTurn = purpose === 'turn';
  const isDue = isTurn || purpose === 'stop';
  const told = { text: message.text, attachments: message.attachments, group: message.group };
  return [
    ...addressOf(account, message),
    ...[mintId('chat'), mintId('thr'), isTurn, purpose === 'stop', isDue ? now : null, purpose === 'new'],
    ...[mintId('ans'), sentence ?? null, sealedReply],
    ...[mintId('ievt'), message.type, message.subject, json(message.data), isTurn ? json(told) : null, now],
  ];
}

/** Gives the conversation. Throws where another call has accepted the same message meanwhile (`isAcceptedMeanwhile`). */
export async function insertDelivered(
  db: TenantDb,
  account: OpenAccount,
  message: InboundMessage,
  { deploymentId, smithId, ...delivered }: DeliveredMessage,
): Promise<string> {
  const { rows } = await db.raw<{ chat_id: string }>({
    text: `
      with recipient as (
        select $5::text as deployment_id, $23::text as smith_id, null::text as gone_smith_id
      ), ${DELIVER}
      select chat_id from event`,
    values: [...deliveredValues(account, { ...message, deploymentId }, delivered), smithId],
  });
  return theRow(rows).chat_id;
}

/** What has become of a message that is to begin a turn. */
export interface TurnDelivery {
  readonly is_known: boolean;
  /** Null where it is known, or nobody claims the sender. */
  readonly chat_id: string | null;
}

/** In one statement: whom the message reaches, and its place there. Throws as `insertDelivered` does. */
export async function deliverForTurn(
  db: TenantDb,
  account: OpenAccount,
  message: InboundMessage,
  delivered: Pick<DeliveredMessage, 'sealedReply' | 'now'>,
): Promise<TurnDelivery> {
  const { rows } = await db.raw<TurnDelivery>({
    text: `
      with found as (${FIND_RECIPIENT}), recipient as (
        select deployment_id, coalesce(smith_id, known_smith_id) as smith_id, gone_smith_id
        from found where not is_known and deployment_id is not null
      ), ${DELIVER}
      select found.is_known, event.chat_id from found left join event on true`,
    values: deliveredValues(account, message, { ...delivered, purpose: 'turn', sentence: undefined }),
  });
  return theRow(rows);
}

function theRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error('a statement that gives a row always has given none');
  return row;
}

export function isAcceptedMeanwhile(error: unknown): boolean {
  return isUniqueViolation(error, 'inbound_events_once');
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
