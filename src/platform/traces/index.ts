/** Traces: what happened in a run, derived from its steps, and what was pushed from outside. */
export { findExternalTrace } from './external-trace.ts';
export { listTraces } from './list-traces.ts';
export { findRunTrace } from './read-run-trace.ts';
export { SPAN_KINDS, type Span, type SpanUsage, type Trace, type TraceWithSpans } from './trace.ts';
