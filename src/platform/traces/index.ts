/** Traces: what happened in a run, derived from its steps, and what was pushed from outside. */
export { kindOf } from './conventions.ts';
export { createTraceExport } from './export/trace-export.ts';
export { findExternalTrace, isExternalTrace } from './external-trace.ts';
export * as ingestLimits from './ingest/limits.ts';
export { findSpanProblem, type PushedSpan } from './ingest/pushed-span.ts';
export { microsOf, readUsage } from './ingest/read-usage.ts';
export { storeSpans } from './ingest/store-spans.ts';
export { listTraces } from './list-traces.ts';
export { encodeResponse, encodeStatus } from './otlp/encode-answer.ts';
export { OtlpDecodeError } from './otlp/otlp-span.ts';
export { pushOtlp } from './otlp/push-otlp.ts';
export { findRunTrace } from './read-run-trace.ts';
export { SPAN_KINDS, type Span, type SpanUsage, type Trace, type TraceWithSpans } from './trace.ts';
export { w3cTraceIdOf } from './w3c-trace-id.ts';
