/** From an OTLP span to one as it is stored. */
import * as names from '../conventions.ts';
import { MAX_APP_ID_CHARS, MAX_ERROR_MESSAGE_CHARS, MAX_ERROR_TYPE_CHARS } from '../ingest/limits.ts';
import type { PushedSpan } from '../ingest/pushed-span.ts';
import { readUsage } from '../ingest/read-usage.ts';
import type { SpanError } from '../trace.ts';
import type { OtlpSpan } from './otlp-span.ts';

export interface ReadSpan {
  readonly traceId: string;
  /** Of the span or its resource. */
  readonly smithId: string | null;
  readonly appId: string | null;
  readonly span: PushedSpan;
}

const SERVICE_NAME = 'service.name';
/** What an SDK calls a service that was given no name. */
const NO_SERVICE = /^unknown_service/;
const STATUS_ERROR = 2;

/** A text instead: what is wrong with it. */
export function readOtlpSpan(otlp: OtlpSpan): ReadSpan | string {
  const { traceId, spanId, parentSpanId, attributes, resource } = otlp;
  if (!isId(traceId, 32)) return 'A trace id is not 16 bytes, or zero.';
  if (!isId(spanId, 16)) return 'A span id is not 8 bytes, or zero.';
  // Zeros stand for no parent, in some exporters.
  const parent = /^0*$/.test(parentSpanId) ? null : parentSpanId;
  if (parent !== null && !isId(parent, 16)) return 'The id of a parent span is not 8 bytes.';
  const service = resource[SERVICE_NAME];
  return {
    traceId,
    smithId: textOf(attributes[names.SMITH_ID] ?? resource[names.SMITH_ID]),
    appId: appOf(attributes[names.APP_ID] ?? resource[names.APP_ID] ?? service),
    span: {
      spanId,
      parentSpanId: parent,
      name: otlp.name,
      kind: names.kindOf(attributes),
      error: readError(otlp),
      startedUs: Number(otlp.startNanos / 1_000n),
      endedUs: Number(otlp.endNanos / 1_000n),
      attributes: service === undefined ? attributes : { [SERVICE_NAME]: service, ...attributes },
      usage: readUsage(attributes),
    },
  };
}

function readError({ statusCode, statusMessage, exception, attributes }: OtlpSpan): SpanError | null {
  if (statusCode !== STATUS_ERROR) return null;
  const type = textOf(attributes[names.ERROR_TYPE]) ?? textOf(exception?.['exception.type']) ?? 'error';
  const message = statusMessage === '' ? (textOf(exception?.['exception.message']) ?? '') : statusMessage;
  return {
    type: type.slice(0, MAX_ERROR_TYPE_CHARS).toWellFormed(),
    message: message.slice(0, MAX_ERROR_MESSAGE_CHARS).toWellFormed(),
  };
}

function isId(hex: string, digits: number): boolean {
  return hex.length === digits && /^[0-9a-f]+$/.test(hex) && !/^0+$/.test(hex);
}

function appOf(value: unknown): string | null {
  const name = textOf(value);
  return name === null || NO_SERVICE.test(name) ? null : name.slice(0, MAX_APP_ID_CHARS).toWellFormed();
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
