import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { MAX_WAITING, queueDelivery } from '../../schedules/index.ts';
import type { SchedulePath } from './schema.ts';
import { holdSchedule } from './store.ts';

const RETRY_SECONDS = 30;

export function runScheduleNow(clock: Clock) {
  return async ({ tx, params }: ProjectChange<{ params: SchedulePath }>) => {
    const schedule = await holdSchedule(tx, params.sid, params.schid);
    if (schedule === undefined) throw new ApiError('not_found');
    if (schedule.waiting >= MAX_WAITING) {
      throw new ApiError('concurrency_limit_exceeded', {
        retryAfterSeconds: RETRY_SECONDS,
        message: `${MAX_WAITING} deliveries of this schedule wait for their smith already, which is as many as may.`,
      });
    }
    const delivery = { id: mintId('schd'), scheduleId: schedule.id, smithId: params.sid, at: clock.now() };
    await queueDelivery(tx, delivery);
    return { schedule_id: schedule.id, delivery_id: delivery.id, status: 'queued' as const };
  };
}
