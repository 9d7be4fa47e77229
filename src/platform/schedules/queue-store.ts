/**
 * The statements of the dispatcher. What is claimed is the queue of one smith: its oldest delivery is started, then the
 * next. A claimed queue is due again when its lease ends, so what a replica takes with it when it dies is done elsewhere.
 */
import type { Database } from '../../kernel/db/database.ts';
import type { JsonObject } from '../tables.ts';
import {
  type Claim,
  type ClaimedQueue,
  type ClaimRequest,
  claimQueues,
  type QueueTable,
  resumeQueues,
  waitSql,
} from '../turn-queues/index.ts';
import { deliverySql } from './delivery-sql.ts';

const QUEUES: QueueTable = { table: 'schedule_queues', id: 'smith_id', columns: ['version'] };

export interface ClaimedSmith extends ClaimedQueue {
  readonly smith_id: string;
  readonly version: number;
}

export function claimSmiths(db: Database, request: ClaimRequest): Promise<Claim<ClaimedSmith>> {
  return claimQueues<ClaimedSmith>(db, QUEUES, request);
}

export function resumeSmiths(
  db: Database,
  owners: readonly { readonly projectId: string; readonly smithId: string }[],
  now: Date,
): Promise<void> {
  return resumeQueues(db, QUEUES, owners, now);
}

/** The oldest delivery of a queue, with what its schedule says now. */
export interface QueuedFire {
  readonly project_id: string;
  readonly id: string;
  readonly schedule_id: string;
  readonly smith_id: string;
  readonly kind: 'scheduled' | 'manual';
  readonly due_at: Date;
  readonly name: string | null;
  readonly timezone: string;
  readonly input: readonly JsonObject[];
  readonly thread_id: string | null;
  /** Another one waits behind it. */
  readonly has_next: boolean;
  /** The thread is a conversation of the smith's. */
  readonly is_conversation: boolean;
}

/** After the claim: a delivery that it has not seen, has raised the version since. One for each queue that is not empty. */
export async function readOldest(db: Database, queues: readonly ClaimedSmith[]): Promise<QueuedFire[]> {
  const { rows } = await db.query<QueuedFire>({
    text: `
      select f.project_id, f.id, f.schedule_id, f.smith_id, f.kind, f.due_at, f.has_next, s.name, s.timezone, s.input,
        s.thread_id,
        exists (
          select from conversations c
          where c.project_id = s.project_id and c.id = s.thread_id and c.smith_id = s.smith_id and c.deleted_at is null
        ) as is_conversation
      from unnest($1::text[], $2::text[]) as q (project_id, smith_id)
      cross join lateral (
        select f.*, lead(f.id) over (order by f.due_at, f.id) is not null as has_next
        from (
          select * from schedule_fires
          where project_id = q.project_id and smith_id = q.smith_id and status = 'queued'
          order by due_at, id limit 2
        ) f order by f.due_at, f.id limit 1
      ) f
      join schedules s on s.project_id = f.project_id and s.id = f.schedule_id`,
    values: [queues.map(({ project_id }) => project_id), queues.map(({ smith_id }) => smith_id)],
  });
  return rows;
}

/** What has come of a claimed queue. */
export interface SettledQueue {
  readonly project_id: string;
  readonly smith_id: string;
  readonly version: number;
  readonly schedule_id: string | undefined;
  /** Undefined: its oldest delivery still waits, or none was there. */
  readonly status: 'started' | 'failed' | undefined;
  readonly fire_id: string | undefined;
  readonly run_id: string | undefined;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  /** `due`: another one waits. `busy`: this one is tried again in a while. `failed`: the same, and it counts. `empty`: none waits. */
  readonly next: 'due' | 'busy' | 'failed' | 'empty';
}

/** Records what has come of claimed queues, in the order of locks that queue-delivery.ts names. */
export async function settleQueues(db: Database, settled: readonly SettledQueue[], now: Date): Promise<void> {
  await db.query({
    text: `
      with settled as (
        select * from jsonb_to_recordset($1) as s (project_id text, smith_id text, version bigint, schedule_id text,
          status text, fire_id text, run_id text, error jsonb, next text)
      ), held as (
        select c.project_id, c.id from schedules c
        where (c.project_id, c.id) in (select project_id, schedule_id from settled where status is not null)
        order by c.project_id, c.id for update
      ), fires as (
        update schedule_fires f set status = s.status, run_id = s.run_id, error = s.error, settled_at = $2
        from settled s join held on held.project_id = s.project_id and held.id = s.schedule_id
        where f.project_id = s.project_id and f.id = s.fire_id and f.status = 'queued'
        returning f.project_id, f.schedule_id, f.id, f.due_at, f.status, f.run_id, f.error
      ), noted as (
        update schedules c set
          waiting = c.waiting - 1,
          last_delivery = ${deliverySql({ id: 'f.id', status: 'f.status', dueAt: 'f.due_at', runId: 'f.run_id', error: 'f.error' })}
        from fires f where c.project_id = f.project_id and c.id = f.schedule_id
        returning c.id
      ), queues as (
        select q.project_id, q.smith_id from schedule_queues q
        -- After the schedules.
        where (select count(*) from noted) >= 0
          and (q.project_id, q.smith_id) in (select project_id, smith_id from settled)
        order by q.project_id, q.smith_id for update
      )
      update schedule_queues q set
        next_attempt_at = case
          when s.next = 'due' then $2::timestamptz
          -- One was added since.
          when s.next = 'empty' then case when q.version = s.version then null else $2::timestamptz end
          else $2::timestamptz + ${waitSql('q.waits + q.failures')} end,
        waits = case s.next when 'busy' then q.waits + 1 when 'failed' then q.waits else 0 end,
        failures = case s.next when 'failed' then q.failures + 1 when 'busy' then q.failures else 0 end,
        claims = 0
      from settled s join queues on queues.project_id = s.project_id and queues.smith_id = s.smith_id
      where q.project_id = s.project_id and q.smith_id = s.smith_id`,
    values: [JSON.stringify(settled), now],
  });
}
