/**
 * What claiming a queue of turns is, in SQL. A queue's row says when it is looked at next; a claim puts that off by a lease,
 * so what a replica takes with it when it dies is done elsewhere.
 */

import { ASYNC_COMMIT } from '../../kernel/db/async-commit.ts';
import type { Database } from '../../kernel/db/database.ts';
import { asLook } from '../../kernel/db/looks.ts';
import { earliestOf } from '../../kernel/periodic/next-due.ts';

/** Longer than a turn takes to begin. */
const LEASE_MS = 10_000;
/** Projects that one look goes through; the next look goes on behind them. */
const PROJECTS_A_LOOK = 500;
/** Between two looks at a smith that is busy, from the first to the longest; replicas hear of most ends sooner. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 4_000;

/** Whose turns wait there. */
export interface QueueOwner {
  readonly projectId: string;
  readonly smithId: string;
}

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
  /** Null: whoever attempts it finds out whose it is. */
  readonly smith_id: string | null;
  readonly claims: number;
  readonly failures: number;
  /** When its lease ends, or it is looked at again. */
  readonly next_attempt_at: Date;
  /** It has a turn in progress, and was put off instead of claimed. */
  readonly is_busy: boolean;
}

export interface Claim<Queue> {
  readonly queues: readonly Queue[];
  /** Where the next look begins; '' where this one went through the rest. */
  readonly next: string;
  /** When one is due next, among the projects that were gone through. */
  readonly dueAt: Date | undefined;
}

/** A table of queues. All of it is SQL. */
export interface QueueTable {
  readonly table: string;
  /** Beside the project, what its key is. */
  readonly id: string;
  /** What a claim gives of the row, besides what every queue has. */
  readonly columns: readonly string[];
  /** Of a row `q`: whether it is looked at though its smith is busy. */
  readonly ignoresBusy?: string;
  /** What waits in a row `claimed`, as one column `contents`; $3 is the time. It is read of those that are not put off. */
  readonly contents?: string;
}

/**
 * Claims queues that are due, project by project: the next claim begins behind the last of them, so one that has thousands
 * delays no other. Those of smiths that are busy are put off by the same statement.
 */
export async function claimQueues<Queue extends ClaimedQueue>(
  db: Database,
  { table, id, columns, ignoresBusy = 'false', contents }: QueueTable,
  { now, after, allowed, limit }: ClaimRequest,
): Promise<Claim<Queue>> {
  const { rows } = await asLook(db).query<Queue & { last_project: string | null; due_at: Date | null }>({
    text: `
      with recursive projects as (
        select (select q.project_id from ${table} q where q.next_attempt_at is not null and q.project_id > $1
                order by q.project_id limit 1) as project_id, 1 as number
        union all
        select (select q.project_id from ${table} q where q.next_attempt_at is not null and q.project_id > p.project_id
                order by q.project_id limit 1), p.number + 1
        from projects p where p.project_id is not null and p.number < ${PROJECTS_A_LOOK}
      ), last as (
        select max(project_id) filter (where number = ${PROJECTS_A_LOOK}) as project_id, min(later.next_attempt_at) as due_at
        from projects p
        left join lateral (
          select next_attempt_at from ${table}
          where next_attempt_at is not null and project_id = p.project_id and next_attempt_at > $3
          order by next_attempt_at limit 1
        ) later on true
      ), due as (
        select q.project_id, q.${id} as id, not (${ignoresBusy}) and exists (
            select from runs r where r.project_id = q.project_id and r.smith_id = q.smith_id and r.status = 'in_progress'
          ) as is_busy
        from projects p
        left join jsonb_to_recordset($2) as a (project_id text, count int) on a.project_id = p.project_id
        cross join lateral (
          select * from ${table}
          where next_attempt_at is not null and project_id = p.project_id and next_attempt_at <= $3
          order by next_attempt_at limit least($4::int, a.count)
          for update skip locked
        ) q
        limit $4
      ), claimed as (
        update ${table} q set
          next_attempt_at = $3::timestamptz + case when due.is_busy then ${waitSql('q.waits')} else interval '${LEASE_MS} ms' end,
          waits = q.waits + due.is_busy::int,
          claims = q.claims + (not due.is_busy)::int
        from due where q.project_id = due.project_id and q.${id} = due.id
        returning q.project_id, q.smith_id, q.next_attempt_at, q.claims, q.failures, due.is_busy${columns.map((name) => `, q.${name}`).join('')}
      )
      select claimed.*, last.project_id as last_project, last.due_at, ${ASYNC_COMMIT}${contents === undefined ? '' : ', waiting.contents'}
      from last left join claimed on true
      ${contents === undefined ? '' : `left join lateral (${contents}) waiting on not claimed.is_busy`}`,
    values: [after, JSON.stringify([...allowed].map(([project_id, count]) => ({ project_id, count }))), now, limit],
  });
  const queues = rows.filter(({ project_id }) => project_id !== null);
  const dueAt = earliestOf([rows[0]?.due_at, ...queues.map(({ next_attempt_at }) => next_attempt_at)]);
  // Cut short: projects behind those that were served come first the next time.
  const served =
    queues.length < limit
      ? undefined
      : queues
          .map(({ project_id }) => project_id)
          .sort()
          .at(-1);
  return { queues, next: served ?? rows[0]?.last_project ?? '', dueAt };
}

/** How long to wait after so many waits in a row, spread so that many do not come back together. */
export function waitSql(waits: string): string {
  const longestMs = `least(${LONGEST_WAIT_MS}, ${FIRST_WAIT_MS} * power(2, least(${waits}, 10)))`;
  return `${longestMs} * (0.5 + random() / 2) * interval '1 ms'`;
}

/** Has queues of these smiths looked at now that were put off. */
export async function resumeQueues(
  db: Database,
  { table }: Pick<QueueTable, 'table'>,
  owners: readonly QueueOwner[],
  now: Date,
): Promise<void> {
  await db.query({
    text: `
      update ${table} q set next_attempt_at = $3
      from unnest($1::text[], $2::text[]) as o (project_id, smith_id)
      where q.project_id = o.project_id and q.smith_id = o.smith_id and q.next_attempt_at > $3 and q.claims = 0`,
    values: [owners.map(({ projectId }) => projectId), owners.map(({ smithId }) => smithId), now],
  });
}
