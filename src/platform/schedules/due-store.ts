/**
 * The statements by which due times become deliveries. Both run in one transaction, so each due time is there once, however
 * many replicas look and wherever they are killed.
 */

import type { Database, Executor } from '../../kernel/db/database.ts';
import { deliverySql } from './delivery-sql.ts';
import { MAX_WAITING } from './queue-delivery.ts';

export interface DueSchedule {
  readonly project_id: string;
  readonly id: string;
  readonly smith_id: string;
  readonly cron: string;
  readonly timezone: string;
  readonly due_at: Date;
  /** The smith, or its project. */
  readonly is_archived: boolean;
  /** It was due at this time before, and a replica whose clock is slow has set the time once more. */
  readonly was_passed: boolean;
  readonly waiting: number;
}

/** When the first is due. One read of an index: what most looks come to. */
export async function findNextDue(db: Executor): Promise<Date | undefined> {
  const { rows } = await db.query<{ next_fire_at: Date }>({
    text: 'select next_fire_at from schedules where next_fire_at is not null order by next_fire_at limit 1',
    values: [],
  });
  return rows[0]?.next_fire_at;
}

/** Up to `limit`, those due first. What another replica holds at the moment is left to it. */
export async function holdDueSchedules(db: Executor, now: Date, limit: number): Promise<DueSchedule[]> {
  const { rows } = await db.query<DueSchedule>({
    text: `
      -- By themselves, so that no more of the index is read than is held.
      with due as (
        select project_id, id, smith_id, cron, timezone, next_fire_at as due_at, waiting from schedules
        where next_fire_at <= $1 order by next_fire_at limit $2
        for update skip locked
      )
      select due.*, m.archived_at is not null or p.archived_at is not null as is_archived,
        exists (
          select from schedule_fires f
          where f.project_id = due.project_id and f.schedule_id = due.id and f.due_at = due.due_at and f.kind = 'scheduled'
        ) as was_passed
      from due join smiths m on m.project_id = due.project_id and m.id = due.smith_id join projects p on p.id = due.project_id`,
    values: [now, limit],
  });
  return rows;
}

/** A due time that is passed. */
export interface PassedTime {
  readonly project_id: string;
  readonly schedule_id: string;
  readonly smith_id: string;
  readonly due_at: string;
  readonly next_fire_at: string | null;
  /** Undefined: nothing is delivered, as the smith or its project is archived, or the time was passed before. */
  readonly delivery_id: string | undefined;
}

/** Adds the deliveries, and those beyond MAX_WAITING as skipped; the schedules go on to their next times. */
export async function passDueTimes(db: Executor, passed: readonly PassedTime[], now: Date): Promise<void> {
  await db.query({
    text: `
      with passed as (
        select * from jsonb_to_recordset($1) as p (project_id text, schedule_id text, smith_id text, due_at timestamptz,
          next_fire_at timestamptz, delivery_id text)
      ), moved as (
        update schedules s set
          next_fire_at = p.next_fire_at,
          last_fire_at = case when p.delivery_id is null then s.last_fire_at else $2::timestamptz end,
          waiting = s.waiting + (p.delivery_id is not null and s.waiting < ${MAX_WAITING})::int,
          last_delivery = case when p.delivery_id is not null and s.waiting >= ${MAX_WAITING}
            then ${deliverySql({ id: 'p.delivery_id', status: `'skipped'`, dueAt: 'p.due_at', runId: 'null', error: '$3::jsonb' })}
            else s.last_delivery end
        from passed p where s.project_id = p.project_id and s.id = p.schedule_id
        -- As it is now: beyond the limit it has not grown.
        returning s.project_id, s.id, s.smith_id, p.delivery_id, p.due_at, s.last_delivery ->> 'id' = p.delivery_id as skipped
      ), added as (
        insert into schedule_fires
          (project_id, id, schedule_id, smith_id, kind, due_at, status, error, created_at, settled_at)
        select project_id, delivery_id, id, smith_id, 'scheduled', due_at,
          case when skipped then 'skipped' else 'queued' end, case when skipped then $3::jsonb end, $2,
          case when skipped then $2::timestamptz end
        from moved where delivery_id is not null
      )
      insert into schedule_queues as q (project_id, smith_id, next_attempt_at)
      select distinct project_id, smith_id, $2::timestamptz from moved
      where delivery_id is not null and skipped is not true order by project_id, smith_id
      on conflict (project_id, smith_id) do update set
        version = q.version + 1, next_attempt_at = coalesce(q.next_attempt_at, excluded.next_attempt_at)`,
    values: [JSON.stringify(passed), now, JSON.stringify(SKIPPED)],
  });
}

const SKIPPED = {
  code: 'conversation_locked',
  message: `${MAX_WAITING} deliveries of this schedule waited for their smith already, which is as many as may.`,
};

/** Deliveries that were settled before `before`, at most `limit`. How many it removed. */
export async function removeSettled(db: Database, before: Date, limit: number): Promise<number> {
  const { rowCount } = await db.query({
    text: `
      delete from schedule_fires where (project_id, id) in (
        select project_id, id from schedule_fires where status <> 'queued' and settled_at < $1 limit $2)`,
    values: [before, limit],
  });
  return rowCount;
}
