/** Schedules of a smith. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import {
  closedObject,
  component,
  failsWith,
  MAX_JSON_BYTES,
  missingFailsWith,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_THREAD_ID_CHARS } from '../../engine/index.ts';
import { INVALID_INPUT, InputMessage } from '../runs/index.ts';

const MAX_CRON_LENGTH = 256;
const MAX_ZONE_LENGTH = 64;
const MAX_NAME_LENGTH = 200;
/** Of what a schedule says at each of its times: it is stored once more with every turn. */
const MAX_INPUT_BYTES = 65_536;
const MAX_INPUT_MESSAGES = 200;

const name = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_LENGTH,
  description: 'For people.',
  ...failsWith('invalid_name'),
});

const cron = Type.String({
  maxLength: MAX_CRON_LENGTH,
  description:
    'Five fields: minute, hour, day of month, month, day of week. Numbers, names (`JAN`, `MON`), `*`, lists, ranges, steps; ' +
    '`L` is the last day, `15W` the working day nearest to the 15th, `MON#1` the first Monday of a month. Where both days ' +
    'are given either will do. No nicknames, no seconds.',
  ...failsWith('invalid_cron'),
  ...missingFailsWith('invalid_cron'),
});

const timezone = Type.String({
  maxLength: MAX_ZONE_LENGTH,
  description:
    'On whose clock the times are: an IANA name. A time that the clock leaves out in spring comes when it jumps; one that ' +
    'it shows twice in autumn comes the first time. `UTC` when left out.',
  ...failsWith('invalid_timezone'),
});

const input = Type.Array(InputMessage, {
  maxItems: MAX_INPUT_MESSAGES,
  [MAX_JSON_BYTES]: MAX_INPUT_BYTES,
  description:
    `The messages of each turn, as of a run; at most ${MAX_INPUT_BYTES} bytes of JSON in UTF-8. Empty: one message that says ` +
    'which schedule is due, and when.',
  ...INVALID_INPUT,
});

const threadId = Type.String({ minLength: 1, maxLength: MAX_THREAD_ID_CHARS });
const threads = { description: 'The conversation that the turns go on with. Null: each turn begins one of its own.' };

export const ScheduleIn = component(
  'ScheduleIn',
  closedObject({
    name: Type.Optional(nullable(name)),
    cron,
    timezone: Type.Optional(nullable(timezone)),
    input: Type.Optional(nullable(input)),
    thread_id: Type.Optional(nullable(threadId, threads)),
    enabled: Type.Optional(nullable(Type.Boolean({ description: 'True when left out.' }))),
  }),
);

export const SchedulePatch = component(
  'SchedulePatch',
  closedObject({
    name: Type.Optional(nullable(name, { description: 'Null takes it away.' })),
    cron: Type.Optional(nullable(cron, { description: 'Null leaves it as it is.' })),
    timezone: Type.Optional(nullable(timezone, { description: 'Null leaves it as it is.' })),
    input: Type.Optional(nullable(input, { description: 'Null leaves it as it is.' })),
    thread_id: Type.Optional(
      nullable(threadId, { description: 'Null has each turn begin a conversation of its own.' }),
    ),
    enabled: Type.Optional(
      nullable(Type.Boolean(), {
        description: 'False stops it, and what waits for the smith; `run_now` still works. Null leaves it as it is.',
      }),
    ),
  }),
);

const LastDelivery = Type.Object({
  id: Type.String(),
  status: oneOf(['started', 'failed', 'skipped'], {
    description:
      '`started`: the run `run_id` began. `failed`: none could, see `error`. `skipped`: as many as may wait did already.',
  }),
  due_at: timestamp(),
  run_id: nullable(Type.String()),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() }), {
    description: 'Why no run began: a code of the error catalogue, such as `budget_exceeded`.',
  }),
});

export const Schedule = component(
  'Schedule',
  Type.Object({
    id: Type.String(),
    name: nullable(Type.String()),
    cron: Type.String(),
    timezone: Type.String(),
    input: Type.Array(Type.Object({ role: Type.String(), content: Type.Unsafe<unknown>({}) })),
    thread_id: nullable(Type.String()),
    enabled: Type.Boolean(),
    next_fire_at: nullable(timestamp(), { description: 'Null while it is disabled.' }),
    last_fire_at: nullable(timestamp(), { description: 'When it was last due, or `run_now` was called.' }),
    waiting: Type.Integer({ description: 'Deliveries that wait, because the smith is busy or the project is full.' }),
    last_delivery: nullable(LastDelivery, { description: 'The one that was settled last.' }),
    created_at: timestamp(),
    updated_at: timestamp(),
  }),
);

/** Nothing; a member is refused by its name. */
export const ScheduleRunNowIn = component('ScheduleRunNowIn', closedObject({}));

export const ScheduleRunNowOut = component(
  'ScheduleRunNowOut',
  Type.Object({
    schedule_id: Type.String(),
    delivery_id: Type.String({ description: 'In the `metadata` of the run that it begins.' }),
    status: Type.Literal('queued'),
  }),
);

export const SmithPath = Type.Object({ sid: Type.String() });
export const SchedulePath = Type.Object({ sid: Type.String(), schid: Type.String() });
export const ScheduleQuery = Type.Object(pageQuery);

export type ScheduleIn = Static<typeof ScheduleIn>;
export type SchedulePatch = Static<typeof SchedulePatch>;
export type Schedule = Static<typeof Schedule>;
export type SmithPath = Static<typeof SmithPath>;
export type SchedulePath = Static<typeof SchedulePath>;
export type ScheduleQuery = Static<typeof ScheduleQuery>;
