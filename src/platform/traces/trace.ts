/** A trace as everything here has it: of a run, or pushed from outside. */
import type { JsonObject } from '../tables.ts';

export const SPAN_KINDS = ['turn', 'model', 'tool', 'retrieval', 'memory', 'approval', 'other'] as const;
export type SpanKind = (typeof SPAN_KINDS)[number];

export type TraceStatus = 'in_progress' | 'paused' | 'completed' | 'failed' | 'cancelled';

export interface SpanUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Millionths of a US dollar; null where no price is known. */
  readonly cost_micros: number | null;
}

export interface SpanError {
  readonly type: string;
  readonly message: string;
}

export interface Span {
  /** Of a run: 16 hexadecimal digits that follow from the run and the step. */
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startedAt: Date;
  /** Null: it goes on. */
  readonly endedAt: Date | null;
  /** To the microsecond where it was pushed. */
  readonly durationMs: number | null;
  readonly attributes: JsonObject;
  readonly error: SpanError | null;
  /** Null for what uses no model. */
  readonly usage: SpanUsage | null;
}

export interface Trace {
  readonly id: string;
  /** Null for one that was pushed. */
  readonly runId: string | null;
  /** The id of the trace where it came from; of a run, the W3C trace id by which it is exported. */
  readonly externalId: string;
  readonly smithId: string | null;
  readonly appId: string | null;
  readonly name: string;
  readonly status: TraceStatus;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly spanCount: number;
  readonly totals: SpanUsage;
  readonly createdAt: Date;
}

export interface TraceWithSpans extends Trace {
  /** In the order in which they began. */
  readonly spans: readonly Span[];
}
