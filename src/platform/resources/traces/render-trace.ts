import type {
  SpanUsage,
  Span as StoredSpan,
  Trace as StoredTrace,
  TraceWithSpans as StoredTraceWithSpans,
} from '../../traces/index.ts';
import type { Span, Trace, TraceWithSpans } from './schema.ts';

const MICROS_PER_UNIT = 1_000_000;

/** The public shape of a trace in a list. */
export function renderTrace(trace: StoredTrace): Trace {
  const { startedAt, endedAt } = trace;
  return {
    id: trace.id,
    run_id: trace.runId,
    external_id: trace.externalId,
    smith_id: trace.smithId,
    app_id: trace.appId,
    name: trace.name,
    status: trace.status,
    started_at: startedAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
    duration_ms: endedAt === null ? null : Math.max(0, endedAt.getTime() - startedAt.getTime()),
    span_count: trace.spanCount,
    totals: renderUsage(trace.totals),
    created_at: trace.createdAt.toISOString(),
  };
}

export function renderTraceWithSpans(trace: StoredTraceWithSpans): TraceWithSpans {
  return { ...renderTrace(trace), spans: trace.spans.map(renderSpan) };
}

function renderSpan(span: StoredSpan): Span {
  return {
    span_id: span.spanId,
    parent_span_id: span.parentSpanId,
    name: span.name,
    kind: span.kind,
    status: span.endedAt === null ? 'in_progress' : span.error === null ? 'ok' : 'error',
    started_at: span.startedAt.toISOString(),
    ended_at: span.endedAt?.toISOString() ?? null,
    duration_ms: span.durationMs,
    attributes: span.attributes,
    error: span.error,
    usage: span.usage === null ? null : renderUsage(span.usage),
  };
}

function renderUsage({ input_tokens, output_tokens, cost_micros }: SpanUsage): Trace['totals'] {
  return {
    input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
    cost: cost_micros === null ? null : cost_micros / MICROS_PER_UNIT,
  };
}
