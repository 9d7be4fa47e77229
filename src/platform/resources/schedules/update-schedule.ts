import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { dropWaiting } from '../../schedules/index.ts';
import { checkInput, checkThread, requireNextFire } from './check-schedule.ts';
import { renderSchedule } from './render-schedule.ts';
import type { Schedule, SchedulePatch, SchedulePath } from './schema.ts';
import { holdSchedule, type ScheduleRow, updateSchedule as updateRow } from './store.ts';

export function updateSchedule(clock: Clock) {
  return async ({
    tx,
    caller,
    params,
    body,
  }: ProjectChange<{ params: SchedulePath; body: SchedulePatch }>): Promise<Schedule> => {
    if (Object.keys(body).length === 0) throw new ApiError('empty_patch');
    const row = await holdSchedule(tx, params.sid, params.schid);
    if (row === undefined) throw new ApiError('not_found');
    const at = clock.now();
    const times = timesOf(row, body, at);
    if (body.thread_id != null) await checkThread(tx, caller, params.sid, body.thread_id);
    if (body.input != null) await checkInput(tx, caller, params.sid, body.input);
    if (row.enabled && !times.enabled) await dropWaiting(tx, row.id);
    const changed = await updateRow(
      tx,
      row.id,
      {
        ...times,
        name: body.name === undefined ? row.name : body.name,
        input: body.input ?? row.input,
        thread_id: body.thread_id === undefined ? row.thread_id : body.thread_id,
      },
      at,
    );
    return renderSchedule(changed);
  };
}

/** What is due already stays due, unless the times themselves are changed. Throws `invalid_cron` and `invalid_timezone`. */
function timesOf(row: ScheduleRow, body: SchedulePatch, at: Date) {
  const cron = body.cron ?? row.cron;
  const timezone = body.timezone ?? row.timezone;
  const enabled = body.enabled ?? row.enabled;
  const isChanged = cron !== row.cron || timezone !== row.timezone || enabled !== row.enabled;
  const next = isChanged ? requireNextFire(cron, timezone, at) : row.next_fire_at;
  return { cron, timezone, enabled, next_fire_at: enabled ? next : null };
}
