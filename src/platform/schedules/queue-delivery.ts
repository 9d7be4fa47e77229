/**
 * Deliveries that callers ask for or take back, in the transaction of whoever holds the schedule's row. Locks are taken in
 * one order everywhere: schedules, deliveries, queues; of each kind, by id.
 */
import type { TenantTransaction } from '../store/tenant-db.ts';
import { FIRES_CHANNEL } from './channel.ts';

/** Of one schedule. What comes due beyond it is skipped: a smith that never gets done must not gather work for ever. */
export const MAX_WAITING = 60;

export interface NewDelivery {
  readonly id: string;
  readonly scheduleId: string;
  readonly smithId: string;
  readonly at: Date;
}

/** Adds a delivery that is due now. The caller has seen that fewer than MAX_WAITING wait. */
export async function queueDelivery(tx: TenantTransaction, delivery: NewDelivery): Promise<void> {
  const { id, scheduleId, smithId, at } = delivery;
  await tx.raw({
    text: `
      with noted as (
        update schedules set waiting = waiting + 1, last_fire_at = $5 where project_id = $1 and id = $3
      ), added as (
        insert into schedule_fires (project_id, id, schedule_id, smith_id, kind, due_at, status, created_at)
        values ($1, $2, $3, $4, 'manual', $5, 'queued', $5)
      )
      insert into schedule_queues as q (project_id, smith_id, next_attempt_at) values ($1, $4, $5)
      on conflict (project_id, smith_id) do update set
        version = q.version + 1, next_attempt_at = coalesce(q.next_attempt_at, excluded.next_attempt_at)`,
    values: [id, scheduleId, smithId, at],
  });
  await tx.notify(FIRES_CHANNEL, '');
}

/** Takes back the due times of a schedule that wait. What was asked for by hand stays. */
export async function dropWaiting(tx: TenantTransaction, scheduleId: string): Promise<void> {
  await tx.raw({
    text: `
      with dropped as (
        delete from schedule_fires
        where project_id = $1 and schedule_id = $2 and status = 'queued' and kind = 'scheduled' returning id
      )
      update schedules set waiting = waiting - (select count(*) from dropped) where project_id = $1 and id = $2`,
    values: [scheduleId],
  });
}
