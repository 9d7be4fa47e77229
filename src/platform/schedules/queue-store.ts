/**
 * The statements of the dispatcher. What is claimed is the queue of one smith: its oldest delivery is started, then the
 * next. A claimed queue is due again when its lease ends, so what a replica takes with it when it dies is done elsewhere.
 */
import type { Database } from '../../kernel/db/database.ts';
import type { JsonObject } from '../tables.ts';
import { deliverySql } from './delivery-sql.ts';

/** Longer than a turn takes to begin. */
const LEASE_MS = 10_000;
/** Projects that one look goes through; the next look goes on behind them. */
const PROJECTS_A_LOOK = 500;
/** Between two looks at a smith that is busy, from the first to the longest; replicas hear of most ends sooner. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 4_000;

export interface ClaimRequest {
  readonly now: Date;
  /** Where to begin among the projects: behind this one. */
  readonly after: string;
  /** How many to claim at most of projects that were full, as places became free since. */
  readonly allowed: ReadonlyMap<string, number>;
  readonly limit: number;
}

export interface ClaimedQueue {
  readonly project_id: string;
  readonly smith_id: string;
  readonly version: number;
  readonly claims: number;
  readonly failures: number;
  /** It has a turn in progress, and was put off instead of claimed. */
  readonly is_busy: boolean;
}

export interface Claim {
  readonly queues: readonly ClaimedQueue[];
  /** Where the next look begins; '' where this one went through the rest. */
  readonly next: string;
}

/**
 * Claims queues that are due, project by project: the next claim begins behind the last of them, so one that has thousands
 * delays no other. Those of smiths that are busy are put off by the same statement.
 */
export async function claimQueues(db: Database, request: ClaimRequest): Promise<Claim> {
  const { now, after, allowed, limit } = request;
  const { rows } = await db.query<ClaimedQueue & { last_project: string | null }>({
    text: `
      with recursive projects as (
        select (select q.project_id from schedule_queues q where q.next_attempt_at is not null and q.project_id > $1
                order by q.project_id limit 1) as project_id, 1 as number
        union all
        select (select q.project_id from schedule_queues q where q.next_attempt_at is not null and q.project_id > p.project_id
                order by q.project_id limit 1), p.number + 1
        from projects p where p.project_id is not null and p.number < ${PROJECTS_A_LOOK}
      ), last as (
        select max(project_id) filter (where number = ${PROJECTS_A_LOOK}) as project_id from projects
      ), due as (
        select q.*, exists (
            select from runs r where r.project_id = q.project_id and r.smith_id = q.smith_id and r.status = 'in_progress'
          ) as is_busy
        from projects p
        left join jsonb_to_recordset($2) as a (project_id text, count int) on a.project_id = p.project_id
        cross join lateral (
          select project_id, smith_id from schedule_queues
          where next_attempt_at is not null and project_id = p.project_id and next_attempt_at <= $3
          order by next_attempt_at limit least($4::int, a.count)
          for update skip locked
        ) q
        limit $4
      ), claimed as (
        update schedule_queues q set
          next_attempt_at = $3::timestamptz + case when due.is_busy then ${waitSql('q.waits')} else interval '${LEASE_MS} ms' end,
          waits = q.waits + due.is_busy::int,
          claims = q.claims + (not due.is_busy)::int
        from due where q.project_id = due.project_id and q.smith_id = due.smith_id
        returning q.project_id, q.smith_id, q.version, q.claims, q.failures, due.is_busy
      )
      select claimed.*, last.project_id as last_project from last left join claimed on true`,
    values: [after, JSON.stringify([...allowed].map(([project_id, count]) => ({ project_id, count }))), now, limit],
  });
  const queues = rows.filter(({ project_id }) => project_id !== null);
  // Cut short: projects behind those that were served come first the next time.
  const served =
    queues.length < limit
      ? undefined
      : queues
          .map(({ project_id }) => project_id)
          .sort()
          .at(-1);
  return { queues, next: served ?? rows[0]?.last_project ?? '' };
}

/** How long to wait after so many waits in a row, spread so that many do not come back together. */
function waitSql(waits: string): string {
  const longestMs = `least(${LONGEST_WAIT_MS}, ${FIRST_WAIT_MS} * power(2, least(${waits}, 10)))`;
  return `${longestMs} * (0.5 + random() / 2) * interval '1 ms'`;
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
export async function readOldest(db: Database, queues: readonly ClaimedQueue[]): Promise<QueuedFire[]> {
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

/** Has queues looked at now that were put off. */
export async function resumeQueues(
  db: Database,
  owners: readonly { readonly projectId: string; readonly smithId: string }[],
  now: Date,
): Promise<void> {
  await db.query({
    text: `
      update schedule_queues q set next_attempt_at = $3
      from unnest($1::text[], $2::text[]) as o (project_id, smith_id)
      where q.project_id = o.project_id and q.smith_id = o.smith_id and q.next_attempt_at > $3 and q.claims = 0`,
    values: [owners.map(({ projectId }) => projectId), owners.map(({ smithId }) => smithId), now],
  });
}
