/** Spans as they are pushed, whatever they came as, and the checks that need nothing but the span. */
import { jsonBytes } from '../../../kernel/http/json-size.ts';
import type { JsonObject } from '../../tables.ts';
import type { SpanError, SpanKind, SpanUsage } from '../trace.ts';
import {
  MAX_ATTRIBUTES,
  MAX_ATTRIBUTES_BYTES,
  MAX_FUTURE_SECONDS,
  MAX_SPAN_ID_CHARS,
  MAX_SPAN_NAME_CHARS,
  MAX_TRACE_BYTES,
  OLDEST_YEAR,
} from './limits.ts';

export interface PushedSpan {
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: SpanKind;
  readonly error: SpanError | null;
  /** Microseconds since 1970. */
  readonly startedUs: number;
  readonly endedUs: number;
  readonly attributes: JsonObject;
  /** Null for what uses no model, or sums up what others use. */
  readonly usage: SpanUsage | null;
}

/** Spans of one trace. */
export interface PushedTrace {
  /** Among the names that whoever pushes gives. */
  readonly externalId: string;
  /** Where it is known: the trace that they belong to. */
  readonly id?: string;
  readonly smithId: string | null;
  readonly appId: string | null;
  readonly spans: readonly PushedSpan[];
}

/** What is wrong with a span, and with which member of it. */
export interface SpanProblem {
  readonly member: string;
  readonly message: string;
}

const OLDEST_US = Date.UTC(OLDEST_YEAR, 0) * 1_000;

/** The first thing that is wrong with the span by itself. */
export function findSpanProblem(span: PushedSpan, now: Date): SpanProblem | undefined {
  const { spanId, name, startedUs, endedUs, attributes } = span;
  const label = `The span ${spanId.slice(0, MAX_SPAN_ID_CHARS)}`;
  if (name === '' || name.length > MAX_SPAN_NAME_CHARS) {
    return { member: 'name', message: `${label} needs a name of 1 to ${MAX_SPAN_NAME_CHARS} characters.` };
  }
  if (endedUs < startedUs) return { member: 'ended_at', message: `${label} ends before it begins.` };
  if (startedUs < OLDEST_US) {
    return {
      member: 'started_at',
      message: `${label} began before the year ${OLDEST_YEAR}. Check the unit of its times.`,
    };
  }
  if (endedUs > (now.getTime() + MAX_FUTURE_SECONDS * 1_000) * 1_000) {
    return { member: 'ended_at', message: `${label} ends more than ${MAX_FUTURE_SECONDS} seconds in the future.` };
  }
  if (Object.keys(attributes).length > MAX_ATTRIBUTES) {
    return { member: 'attributes', message: `${label} has more than ${MAX_ATTRIBUTES} attributes.` };
  }
  if (jsonBytes(attributes, MAX_ATTRIBUTES_BYTES) > MAX_ATTRIBUTES_BYTES) {
    return {
      member: 'attributes',
      message: `The attributes of ${label.slice(4)} have more than ${MAX_ATTRIBUTES_BYTES} bytes of JSON.`,
    };
  }
  return undefined;
}

/** What the span takes of its trace's bytes. */
export function bytesOf({ name, attributes, error }: PushedSpan): number {
  return Buffer.byteLength(name) + jsonBytes(attributes, MAX_TRACE_BYTES) + jsonBytes(error, MAX_TRACE_BYTES);
}
