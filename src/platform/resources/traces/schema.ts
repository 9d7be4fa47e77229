/** Traces: the spans of a turn, or of whatever pushed them. */
import Type, { type Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import {
  component,
  jsonObject,
  moment,
  nullable,
  oneOf,
  propertiesOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { SPAN_KINDS } from '../../traces/index.ts';

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
    app_id: nullable(Type.String()),
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

export const TracePath = Type.Object({ tid: Type.String() });
export const RunTracePath = Type.Object({ rid: Type.String() });

export type Span = Static<typeof Span>;
export type Trace = Static<typeof Trace>;
export type TraceWithSpans = Static<typeof TraceWithSpans>;
export type TraceQuery = Static<typeof TraceQuery>;
export type TracePath = Static<typeof TracePath>;
export type RunTracePath = Static<typeof RunTracePath>;
