/** A span of an OTLP request, as both of its encodings give it. */
import type { JsonObject } from '../../tables.ts';

export interface OtlpSpan {
  /** Hexadecimal, lower case; of any length. */
  readonly traceId: string;
  readonly spanId: string;
  /** '' for none. */
  readonly parentSpanId: string;
  readonly name: string;
  /** Nanoseconds since 1970. */
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: JsonObject;
  /** 2 is an error. */
  readonly statusCode: number;
  readonly statusMessage: string;
  /** Attributes of its first event named `exception`. */
  readonly exception: JsonObject | undefined;
  readonly resource: JsonObject;
}

/** The request is none, or larger than is read: the exporter must not send it again. */
export class OtlpDecodeError extends Error {}

/** Levels of lists and maps in one value. */
export const MAX_VALUE_DEPTH = 16;
/** Fields of one span, resource or scope, whatever is in it. */
export const MAX_FIELDS_PER_MESSAGE = 20_000;
/** Fields of a whole request. */
export const MAX_FIELDS = 1_500_000;
export const MAX_OTLP_SPANS = 10_000;

export function tooDeep(): OtlpDecodeError {
  return new OtlpDecodeError(`A value nests deeper than ${MAX_VALUE_DEPTH} levels.`);
}

/** What JSON has no number for is a text. */
export function numberOrText(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

/** An integer of 64 bits: a number where it is exact, else a text. */
export function integerOrText(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
