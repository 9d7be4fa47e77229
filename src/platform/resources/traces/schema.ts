/** Traces: the spans of a turn, or of whatever pushed them. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import {
  boundedObject,
  closedObject,
  component,
  jsonObject,
  moment,
  nullable,
  oneOf,
  propertiesOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { ingestLimits as limits, SPAN_KINDS } from '../../traces/index.ts';

const TRACE_STATUSES = ['in_progress', 'paused', 'completed', 'failed', 'cancelled'] as const;
const SPAN_STATUSES = ['in_progress', 'ok', 'error'] as const;

const UsageProperties = {
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  cost: nullable(Type.Number(), { description: 'US dollars, exact to the millionth; null where no price is known.' }),
};

export const Span = component(
  'Span',
  Type.Object({
    span_id: Type.String({ description: 'Of a run’s span: 16 hexadecimal digits, the same every time.' }),
    parent_span_id: nullable(Type.String(), {
      description: 'Null at the top. One that is not in the trace may come later.',
    }),
    name: Type.String({
      description: 'As OpenTelemetry names it: `invoke_agent`, `chat gpt-5`, `execute_tool search`.',
    }),
    kind: oneOf(SPAN_KINDS, {
      description:
        'turn: the whole run. model: a model call. retrieval: a search of vector stores. memory: recall, remembering, ' +
        'or the summary of a thread’s oldest turns. approval: the wait for a person, below the call that needed one.',
    }),
    status: oneOf(SPAN_STATUSES),
    started_at: timestamp(),
    ended_at: nullable(timestamp(), { description: 'Null while it goes on.' }),
    duration_ms: nullable(Type.Number()),
    attributes: jsonObject({
      description: 'By OpenTelemetry’s conventions for generative AI: `gen_ai.request.model` and others.',
    }),
    error: nullable(Type.Object({ type: Type.String(), message: Type.String() })),
    usage: nullable(Type.Object(UsageProperties), { description: 'Null for what uses no model.' }),
  }),
);

export const Trace = component(
  'Trace',
  Type.Object({
    id: Type.String({ description: 'A run and its trace share what follows the prefix.' }),
    run_id: nullable(Type.String(), { description: 'Null for a trace that was pushed.' }),
    external_id: Type.String({
      description: 'The trace’s id where it came from. Of a run: the W3C trace id under which its spans are exported.',
    }),
    smith_id: nullable(Type.String(), { description: 'Null: only a tenant-admin token sees it.' }),
    app_id: nullable(Type.String(), { description: 'Of a run: the app whose token began it.' }),
    name: Type.String({ description: 'The name of its topmost span.' }),
    status: oneOf(TRACE_STATUSES, {
      description:
        'Of a run: the run’s. Of a trace that was pushed: failed where a topmost span failed, else completed.',
    }),
    started_at: timestamp(),
    ended_at: nullable(timestamp()),
    duration_ms: nullable(Type.Integer()),
    span_count: Type.Integer(),
    totals: Type.Object(UsageProperties),
    created_at: timestamp({ description: 'When the run began, or the first span came.' }),
  }),
);

export const TraceWithSpans = component(
  'TraceWithSpans',
  Type.Object({
    ...propertiesOf(Trace),
    spans: Type.Array(Span, { description: 'In the order in which they began.' }),
  }),
);

const id = Type.Optional(Type.String({ maxLength: 512 }));

export const TraceQuery = Type.Object({
  ...pageQuery,
  smith_id: id,
  app_id: id,
  run_id: id,
  external_id: id,
  status: Type.Optional(oneOf(TRACE_STATUSES)),
  since: Type.Optional(moment('Traces that began, or first came, at this time and later')),
});

/** Visible ASCII. */
const name = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[\\x21-\\x7e]+$', description });
const instant = (description: string) =>
  Type.String({ format: 'date-time', description: `${description} RFC 3339, to the microsecond.` });
const tokens = Type.Optional(Type.Integer({ minimum: 0, maximum: limits.MAX_TOKENS }));

const SpanIn = component(
  'SpanIn',
  closedObject({
    span_id: name(
      limits.MAX_SPAN_ID_CHARS,
      'Your own. One that the trace has already is counted once: the first holds.',
    ),
    parent_span_id: Type.Optional(
      nullable(name(limits.MAX_SPAN_ID_CHARS, ''), { description: 'May name a span that is pushed later.' }),
    ),
    name: Type.String({ minLength: 1, maxLength: limits.MAX_SPAN_NAME_CHARS }),
    kind: Type.Optional(nullable(oneOf(SPAN_KINDS), { description: 'Default: by `gen_ai.operation.name`, or other.' })),
    status: Type.Optional(nullable(oneOf(['ok', 'error']), { description: 'Default: error where `error` is given.' })),
    started_at: instant('When it began.'),
    ended_at: instant(
      `When it ended: spans are pushed once they have. At most ${limits.MAX_FUTURE_SECONDS} seconds in the future.`,
    ),
    attributes: Type.Optional(
      nullable(
        boundedObject(
          { members: limits.MAX_ATTRIBUTES, bytes: limits.MAX_ATTRIBUTES_BYTES },
          'Of any names; OpenTelemetry’s `gen_ai.*` are understood.',
        ),
      ),
    ),
    error: Type.Optional(
      nullable(
        closedObject({
          type: Type.Optional(nullable(Type.String({ maxLength: limits.MAX_ERROR_TYPE_CHARS }))),
          message: Type.String({ maxLength: limits.MAX_ERROR_MESSAGE_CHARS }),
        }),
      ),
    ),
    usage: Type.Optional(
      nullable(
        closedObject({
          input_tokens: tokens,
          output_tokens: tokens,
          cost: Type.Optional(
            nullable(Type.Number({ minimum: 0, maximum: limits.MAX_COST }), { description: 'US dollars.' }),
          ),
        }),
        {
          description:
            'What the span itself used. Default: `gen_ai.usage.*` of its attributes, unless it sums up others (`invoke_agent`).',
        },
      ),
    ),
  }),
);

export const TraceIngestIn = component(
  'TraceIngestIn',
  closedObject({
    trace_id: Type.Optional(
      nullable(name(limits.MAX_TRACE_ID_CHARS, ''), {
        description:
          'Your own, or the `trc_` id of a trace that was pushed before: its spans join it. Default: a new trace.',
      }),
    ),
    app_id: Type.Optional(
      nullable(name(limits.MAX_APP_ID_CHARS, ''), { description: 'What the usage is counted under: `group_by=app`.' }),
    ),
    smith_id: Type.Optional(
      nullable(Type.String({ maxLength: 512 }), {
        description: 'Default: the token’s smith. Without one, only a tenant-admin token sees the trace.',
      }),
    ),
    spans: Type.Array(SpanIn, {
      minItems: 1,
      maxItems: limits.MAX_SPANS_PER_REQUEST,
      description: `At most ${limits.MAX_SPANS_PER_REQUEST}; ${limits.MAX_SPANS_PER_TRACE} a trace.`,
    }),
  }),
);

export const TraceIngested = component(
  'TraceIngested',
  Type.Object({
    trace_id: Type.String(),
    external_id: Type.String(),
    accepted: Type.Integer({ description: 'Spans that are new.' }),
    repeated: Type.Integer({ description: 'Spans that the trace had already, which change nothing.' }),
    span_count: Type.Integer({ description: 'Of the trace now.' }),
  }),
);

export const OtlpAnswer = component(
  'OtlpExportTraceServiceResponse',
  Type.Object({
    partialSuccess: Type.Optional(
      Type.Object({
        rejectedSpans: Type.String({ description: 'How many were not stored: an integer of 64 bits.' }),
        errorMessage: Type.String(),
      }),
    ),
  }),
);

export const TracePath = Type.Object({ tid: Type.String() });
export const RunTracePath = Type.Object({ rid: Type.String() });

export type Span = Static<typeof Span>;
export type Trace = Static<typeof Trace>;
export type TraceWithSpans = Static<typeof TraceWithSpans>;
export type TraceQuery = Static<typeof TraceQuery>;
export type TracePath = Static<typeof TracePath>;
export type RunTracePath = Static<typeof RunTracePath>;
export type SpanIn = Static<typeof SpanIn>;
export type TraceIngestIn = Static<typeof TraceIngestIn>;
export type TraceIngested = Static<typeof TraceIngested>;
export type OtlpAnswer = Static<typeof OtlpAnswer>;
