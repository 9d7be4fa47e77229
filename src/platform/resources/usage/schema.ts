/** Usage: what was used, summed; and events of the project's own meters. */
import type { Static } from 'typebox';
import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import {
  closedObject,
  component,
  failsWith,
  missingFailsWith,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

/** What usage can be grouped by, with the column that tells it. */
export const GROUPS = {
  day: 'day',
  model: 'model',
  smith: 'smith_id',
  agent: 'agent_id',
  customer: 'customer_id',
  app: 'app_id',
  meter: 'meter',
  source: 'source',
} as const;

const SOURCES = ['turn', 'embedding', 'sandbox', 'meter', 'external'] as const;
/** A year and a day. */
export const MAX_RANGE_DAYS = 366;
const MAX_QUANTITY = 1_000_000_000;
export const MAX_EVENT_AGE_DAYS = 35;
export const MAX_CLOCK_SKEW_MINUTES = 5;

const names = Object.keys(GROUPS).map((name) => `\`${name}\``);

const day = (what: string) =>
  Type.String({ format: 'date', maxLength: 10, description: `${what}, a day in UTC.`, ...failsWith('invalid_period') });

const range = {
  from: Type.Optional(day('The first day; by default the first of this month')),
  to: Type.Optional(day(`The last day; by default today. At most ${MAX_RANGE_DAYS} days`)),
};

const id = (what: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: `Of this ${what} alone.` }));

/** A list of groups is long in its cursors: they name a value of each. */
const MAX_CURSOR_LENGTH = 2_000;

export const UsageQuery = Type.Object({
  ...range,
  group_by: Type.Optional(
    Type.Unsafe<string | string[]>({
      type: ['string', 'array'],
      items: { type: 'string', maxLength: 100 },
      maxLength: 100,
      maxItems: names.length,
      description: `One or several of ${names.join(', ')}, separated by commas or repeated. \`day\` when absent.`,
      ...failsWith('invalid_group_by'),
    }),
  ),
  smith_id: id('smith'),
  agent_id: id('agent'),
  customer_id: id('customer'),
  app_id: id('app'),
  model: id('model'),
  meter: id('meter'),
  source: Type.Optional(oneOf(SOURCES)),
  limit: pageQuery.limit,
  cursor: Type.Optional(
    Type.String({
      maxLength: MAX_CURSOR_LENGTH,
      description: 'The previous page’s `next_cursor`, unchanged.',
      ...failsWith('invalid_cursor'),
    }),
  ),
});

const amounts = {
  calls: Type.Integer({ description: 'Calls of models.' }),
  unpriced_calls: Type.Integer({ description: 'Those whose model has no known price: `cost` lacks them.' }),
  input_tokens: Type.Integer(),
  cached_input_tokens: Type.Integer({ description: 'Those of the input tokens that providers had cached.' }),
  output_tokens: Type.Integer(),
  reasoning_tokens: Type.Integer({ description: 'Those of the output tokens that models thought with.' }),
  total_tokens: Type.Integer(),
  cost: Type.Number({ description: 'By list prices, exact to the millionth.' }),
  quantity: Type.Number({ description: 'Of meter events; means something by meter.' }),
  seconds: Type.Number({ description: 'Of sandboxes.' }),
};

export const UsageAmounts = component('UsageAmounts', Type.Object(amounts));

const optionalGroups = Object.fromEntries(
  Object.values(GROUPS).map((column) => [column, Type.Optional(nullable(Type.String()))]),
);

const UsageGroup = component(
  'UsageGroup',
  Type.Unsafe<Record<string, unknown>>(
    Type.Object(
      { ...optionalGroups, ...amounts },
      { description: 'The members that it is grouped by, null for usage that has none, and their sums.' },
    ),
  ),
);

const days = {
  from: Type.String({ format: 'date' }),
  to: Type.String({ format: 'date', description: 'Its usage is included.' }),
  currency: Type.Literal('usd'),
};

export const UsageReport = component(
  'UsageReport',
  Type.Object({
    ...days,
    group_by: Type.Array(Type.String()),
    data: Type.Array(UsageGroup),
    totals: UsageAmounts,
    next_cursor: nullable(Type.String(), { description: 'Pass it back as `cursor`; null on the last page.' }),
    has_more: Type.Boolean(),
  }),
);

export const TenantUsageQuery = Type.Object(range);

export const TenantUsage = component(
  'TenantUsage',
  Type.Object({
    ...days,
    totals: UsageAmounts,
    by_day: Type.Array(UsageGroup, { description: 'Days with usage, oldest first.' }),
    by_model: Type.Array(UsageGroup, { description: 'The hundred models that cost the most.' }),
    storage: nullable(Type.Object({ used_bytes: Type.Integer(), limit_bytes: Type.Integer() }), {
      description: 'What the project’s files take; null for a smith token.',
    }),
  }),
);

export const MeterEventIn = component(
  'MeterEventIn',
  closedObject({
    meter: Type.String({
      pattern: '^[A-Za-z][A-Za-z0-9_.:-]{0,63}$',
      description: 'A name of the project’s own: a letter, then up to 63 letters, digits, `_`, `.`, `:` and `-`.',
      ...failsWith('invalid_meter'),
      ...missingFailsWith('invalid_meter'),
    }),
    quantity: Type.Number({
      minimum: 0,
      maximum: MAX_QUANTITY,
      description: `Up to ${MAX_QUANTITY}, with up to six decimals. Summed exactly.`,
      ...failsWith('invalid_quantity'),
      ...missingFailsWith('invalid_quantity'),
    }),
    smith_id: Type.Optional(
      nullable(Type.String({ maxLength: 128 }), { description: 'Whose it is. A smith token’s own smith when absent.' }),
    ),
    customer_id: Type.Optional(
      nullable(Type.String({ maxLength: 128 }), { description: 'Whose it is. The smith’s customer when absent.' }),
    ),
    at: Type.Optional(
      nullable(timestamp({ maxLength: 64 }), {
        description: `When it was used; it counts in that day (UTC). Now when absent. Up to ${MAX_EVENT_AGE_DAYS} days ago, and no more than ${MAX_CLOCK_SKEW_MINUTES} minutes ahead.`,
      }),
    ),
  }),
);

export const MeterEvent = component(
  'MeterEvent',
  Type.Object({
    id: Type.String(),
    meter: Type.String(),
    quantity: Type.Number(),
    smith_id: nullable(Type.String()),
    customer_id: nullable(Type.String()),
    at: timestamp(),
    created_at: timestamp(),
  }),
);

export const MeterEventQuery = Type.Object({ meter: id('meter'), smith_id: id('smith'), ...pageQuery });
export const MeterEventList = pageOf(MeterEvent);

export type UsageQuery = Static<typeof UsageQuery>;
export type UsageAmounts = Static<typeof UsageAmounts>;
export type UsageReport = Static<typeof UsageReport>;
export type TenantUsageQuery = Static<typeof TenantUsageQuery>;
export type TenantUsage = Static<typeof TenantUsage>;
export type MeterEventIn = Static<typeof MeterEventIn>;
export type MeterEvent = Static<typeof MeterEvent>;
export type MeterEventQuery = Static<typeof MeterEventQuery>;
