import { readTimestamp } from '../../../kernel/http/schema.ts';
import { kindOf, microsOf, type PushedSpan, readUsage } from '../../traces/index.ts';
import type { SpanIn } from './schema.ts';

export function readSpan(span: SpanIn): PushedSpan {
  const attributes = span.attributes ?? {};
  return {
    spanId: span.span_id,
    parentSpanId: span.parent_span_id ?? null,
    name: span.name,
    kind: span.kind ?? kindOf(attributes),
    error: readError(span),
    startedUs: readMicros(span.started_at),
    endedUs: readMicros(span.ended_at),
    attributes,
    usage: readGivenUsage(span) ?? readUsage(attributes),
  };
}

function readError({ error, status }: SpanIn): PushedSpan['error'] {
  if (error != null) return { type: error.type ?? 'error', message: error.message };
  return status === 'error' ? { type: 'error', message: '' } : null;
}

function readGivenUsage({ usage }: SpanIn): PushedSpan['usage'] {
  if (usage == null) return null;
  const { input_tokens = 0, output_tokens = 0, cost } = usage;
  return { input_tokens, output_tokens, cost_micros: cost == null ? null : microsOf(cost) };
}

/** A Date holds milliseconds; what the text has beyond them is added. */
function readMicros(text: string): number {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? '';
  return readTimestamp(text).getTime() * 1_000 + Number(fraction.padEnd(6, '0').slice(3, 6));
}
