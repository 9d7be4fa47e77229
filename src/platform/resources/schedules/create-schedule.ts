import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { holdSmiths } from '../../smiths/index.ts';
import { checkInput, checkThread, requireNextFire } from './check-schedule.ts';
import { renderSchedule } from './render-schedule.ts';
import type { Schedule, ScheduleIn, SmithPath } from './schema.ts';
import { countSchedules, insertSchedule } from './store.ts';

const SCHEDULES_MAX = 100;
const DEFAULT_ZONE = 'UTC';

export function createSchedule(clock: Clock) {
  return async ({
    tx,
    caller,
    params,
    body,
  }: ProjectChange<{ params: SmithPath; body: ScheduleIn }>): Promise<Schedule> => {
    // Held, so that those who count at once do not each find the last place.
    if ((await holdSmiths(tx, [params.sid])).length === 0) throw new ApiError('not_found');
    const { name = null, cron, thread_id = null } = body;
    const [timezone, input, enabled] = [body.timezone ?? DEFAULT_ZONE, body.input ?? [], body.enabled ?? true];
    const at = clock.now();
    const next = requireNextFire(cron, timezone, at);
    if (thread_id !== null) await checkThread(tx, caller, params.sid, thread_id);
    await checkInput(tx, caller, params.sid, input);
    if ((await countSchedules(tx, params.sid)) >= SCHEDULES_MAX) {
      throw new ApiError('invalid_request', {
        message: `A smith has at most ${SCHEDULES_MAX} schedules. Delete one, or have one expression name several times.`,
      });
    }
    const state = { name, cron, timezone, input, thread_id, enabled, next_fire_at: enabled ? next : null };
    return renderSchedule(await insertSchedule(tx, { id: mintId('sch'), smithId: params.sid, at }, state));
  };
}
