import type { Clock } from '../../../kernel/clock/clock.ts';
import { pageOf } from '../../../kernel/http/paging.ts';
import { project } from '../../access/operation.ts';
import { createSchedule } from './create-schedule.ts';
import { deleteSchedule } from './delete-schedule.ts';
import { listSchedules } from './list-schedules.ts';
import { runScheduleNow } from './run-schedule-now.ts';
import {
  Schedule,
  ScheduleIn,
  SchedulePatch,
  SchedulePath,
  ScheduleQuery,
  ScheduleRunNowIn,
  ScheduleRunNowOut,
  SmithPath,
} from './schema.ts';
import { updateSchedule } from './update-schedule.ts';

const INVALID = ['conversation_not_found', 'invalid_cron', 'invalid_input', 'invalid_timezone', 'too_many_inputs'];

export function scheduleOperations({ clock }: { readonly clock: Clock }) {
  return [
    project.read({
      id: 'smiths.schedules.list',
      method: 'GET',
      path: '/v1/smiths/{sid}/schedules',
      posture: 'any',
      scope: 'schedules:read',
      summary: 'List a smith’s schedules, newest first',
      params: SmithPath,
      query: ScheduleQuery,
      reply: pageOf(Schedule),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listSchedules,
    }),
    project.change({
      id: 'smiths.schedules.create',
      method: 'POST',
      path: '/v1/smiths/{sid}/schedules',
      posture: 'any',
      scope: 'schedules:write',
      summary: 'Have a smith take turns at certain times',
      description:
        'Each time begins one run, with the channel `schedule` and the smith as its actor. A smith that is busy, or a project ' +
        'that is full, makes it wait. What came due while the server was down runs once, and not once for each time.',
      status: 201,
      params: SmithPath,
      body: ScheduleIn,
      example: {
        name: 'Morning report',
        cron: '0 7 * * MON-FRI',
        timezone: 'Europe/Berlin',
        input: [{ role: 'user', content: 'Write 20 words' }],
      },
      reply: Schedule,
      errors: [...INVALID, 'invalid_name'],
      handler: createSchedule(clock),
    }),
    project.change({
      id: 'smiths.schedules.update',
      method: 'PATCH',
      path: '/v1/smiths/{sid}/schedules/{schid}',
      posture: 'any',
      scope: 'schedules:write',
      summary: 'Change or stop a schedule',
      description: 'What waits for the smith is said as it is set when its turn begins.',
      params: SchedulePath,
      body: SchedulePatch,
      example: { enabled: false },
      reply: Schedule,
      errors: [...INVALID, 'empty_patch', 'invalid_name'],
      handler: updateSchedule(clock),
    }),
    project.change({
      id: 'smiths.schedules.delete',
      method: 'DELETE',
      path: '/v1/smiths/{sid}/schedules/{schid}',
      posture: 'any',
      scope: 'schedules:write',
      summary: 'Delete a schedule',
      description: 'What waits for the smith is not begun. Runs that have begun go on.',
      params: SchedulePath,
      handler: deleteSchedule,
    }),
    project.change({
      id: 'smiths.schedules.run_now',
      method: 'POST',
      path: '/v1/smiths/{sid}/schedules/{schid}/run_now',
      posture: 'any',
      scope: 'schedules:write',
      summary: 'Run a schedule now',
      description:
        'Besides its times, which stay as they are; also while it is disabled. The run begins as soon as the smith is free: ' +
        'it is the one whose `metadata` has the `delivery_id`, and `last_delivery` tells when none could begin.',
      params: SchedulePath,
      body: ScheduleRunNowIn,
      example: {},
      reply: ScheduleRunNowOut,
      errors: ['concurrency_limit_exceeded'],
      handler: runScheduleNow(clock),
    }),
  ];
}
