/**
 * Decodes an ExportTraceServiceRequest, message by message, with the field numbers of opentelemetry-proto 1.x:
 *
 *   ExportTraceServiceRequest { resource_spans = 1 }
 *   ResourceSpans { resource = 1, scope_spans = 2 }   Resource { attributes = 1 }   ScopeSpans { spans = 2 }
 *   Span { trace_id = 1, span_id = 2, parent_span_id = 4, name = 5, start = 7, end = 8, attributes = 9, events = 11, status = 15 }
 *   Event { name = 2, attributes = 3 }   Status { message = 2, code = 3 }
 *   KeyValue { key = 1, value = 2 }   AnyValue { string = 1, bool = 2, int = 3, double = 4, array = 5, kvlist = 6, bytes = 7 }
 *
 * It yields after each message, so that whoever asks for the next one can let others have their turn, and counts fields:
 * millions of empty messages fit into a body.
 */
import type { Reader } from 'protobufjs/minimal.js';
import type { JsonObject } from '../../tables.ts';
import {
  integerOrText,
  MAX_FIELDS,
  MAX_FIELDS_PER_MESSAGE,
  MAX_VALUE_DEPTH,
  numberOrText,
  OtlpDecodeError,
  type OtlpSpan,
  tooDeep,
} from './otlp-span.ts';

/** Yields undefined for what is no span. Throws OtlpDecodeError. */
export function* decodeProtobuf(reader: Reader): Generator<OtlpSpan | undefined> {
  const decoder = new Decoder(reader);
  try {
    yield* decoder.request();
  } catch (error) {
    if (error instanceof OtlpDecodeError) throw error;
    // protobufjs tells of a body that ends early, or is no message, by errors of several classes.
    throw new OtlpDecodeError(`The body is no ExportTraceServiceRequest: ${(error as Error).message}.`);
  }
}

const LENGTH_DELIMITED = 2;

class Decoder {
  readonly #reader: Reader;
  #fieldsInAll = 0;
  #fields = 0;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  *request(): Generator<OtlpSpan | undefined> {
    const end = this.#reader.len;
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      if (field === 1) yield* this.#resourceSpans(this.#enter());
      else this.#skip();
      this.#fields = 0;
      yield undefined;
    }
  }

  /** Encoders write fields in the order of their numbers: the resource comes before its spans. */
  *#resourceSpans(end: number): Generator<OtlpSpan | undefined> {
    let resource: JsonObject = {};
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      if (field === 1) resource = this.#attributesOf(this.#enter(), 1);
      else if (field === 2) yield* this.#scopeSpans(this.#enter(), resource);
      else this.#skip();
    }
  }

  *#scopeSpans(end: number, resource: JsonObject): Generator<OtlpSpan | undefined> {
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      if (field !== 2) {
        this.#skip();
        continue;
      }
      this.#fields = 0;
      yield this.#span(this.#enter(), resource);
      this.#fields = 0;
    }
  }

  #span(end: number, resource: JsonObject): OtlpSpan {
    const span = { traceId: '', spanId: '', parentSpanId: '', name: '', statusCode: 0, statusMessage: '' };
    let [startNanos, endNanos] = [0n, 0n];
    let exception: JsonObject | undefined;
    const attributes: [string, unknown][] = [];
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      switch (field) {
        case 1:
          span.traceId = this.#hex();
          break;
        case 2:
          span.spanId = this.#hex();
          break;
        case 4:
          span.parentSpanId = this.#hex();
          break;
        case 5:
          span.name = this.#reader.string();
          break;
        case 7:
          startNanos = this.#fixed64();
          break;
        case 8:
          endNanos = this.#fixed64();
          break;
        case 9:
          attributes.push(this.#keyValue(this.#enter(), 0));
          break;
        case 11:
          exception = this.#exception(this.#enter()) ?? exception;
          break;
        case 15:
          Object.assign(span, this.#status(this.#enter()));
          break;
        default:
          this.#skip();
      }
    }
    return { ...span, startNanos, endNanos, exception, attributes: Object.fromEntries(attributes), resource };
  }

  #status(end: number): { statusCode?: number; statusMessage?: string } {
    const status: { statusCode?: number; statusMessage?: string } = {};
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      if (field === 2) status.statusMessage = this.#reader.string();
      else if (field === 3) status.statusCode = this.#reader.int32();
      else this.#skip();
    }
    return status;
  }

  #exception(end: number): JsonObject | undefined {
    let name = '';
    const attributes: [string, unknown][] = [];
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      if (field === 2) name = this.#reader.string();
      else if (field === 3) attributes.push(this.#keyValue(this.#enter(), 0));
      else this.#skip();
    }
    return name === 'exception' ? Object.fromEntries(attributes) : undefined;
  }

  /** The key-value pairs that the message has in this field. */
  #attributesOf(end: number, wanted: number): JsonObject {
    const attributes: [string, unknown][] = [];
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      if (field === wanted) attributes.push(this.#keyValue(this.#enter(), 0));
      else this.#skip();
    }
    return Object.fromEntries(attributes);
  }

  #keyValue(end: number, depth: number): [string, unknown] {
    let key = '';
    let value: unknown = null;
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      if (field === 1) key = this.#reader.string();
      else if (field === 2) value = this.#anyValue(this.#enter(), depth);
      else this.#skip();
    }
    return [key, value];
  }

  #anyValue(end: number, depth: number): unknown {
    if (depth > MAX_VALUE_DEPTH) throw tooDeep();
    let value: unknown = null;
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      switch (field) {
        case 1:
          value = this.#reader.string();
          break;
        case 2:
          value = this.#reader.bool();
          break;
        case 3:
          value = integerOrText(this.#varint64());
          break;
        case 4:
          value = numberOrText(this.#reader.double());
          break;
        case 5:
          value = this.#list(this.#enter(), depth + 1);
          break;
        case 6:
          value = this.#map(this.#enter(), depth + 1);
          break;
        case 7:
          value = Buffer.from(this.#reader.bytes()).toString('base64');
          break;
        default:
          this.#skip();
      }
    }
    return value;
  }

  #list(end: number, depth: number): unknown[] {
    const values: unknown[] = [];
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      if (field === 1) values.push(this.#anyValue(this.#enter(), depth));
      else this.#skip();
    }
    return values;
  }

  #map(end: number, depth: number): JsonObject {
    const members: [string, unknown][] = [];
    for (let field = this.#next(end); field !== 0; field = this.#next(end)) {
      if (field === 1) members.push(this.#keyValue(this.#enter(), depth));
      else this.#skip();
    }
    return Object.fromEntries(members);
  }

  #wireType = 0;

  /** The number of the message's next field; 0 at its end. */
  #next(end: number): number {
    const { pos } = this.#reader;
    if (pos > end)
      throw new OtlpDecodeError('The body is no ExportTraceServiceRequest: a message is longer than it says.');
    if (pos === end) return 0;
    this.#count();
    const tag = this.#reader.uint32();
    this.#wireType = tag & 7;
    return tag >>> 3;
  }

  #count(): void {
    this.#fields += 1;
    this.#fieldsInAll += 1;
    if (this.#fields > MAX_FIELDS_PER_MESSAGE) {
      throw new OtlpDecodeError(`A span or a resource has more than ${MAX_FIELDS_PER_MESSAGE} fields.`);
    }
    if (this.#fieldsInAll > MAX_FIELDS) throw new OtlpDecodeError(`The request has more than ${MAX_FIELDS} fields.`);
  }

  /** Where the message that begins here ends. */
  #enter(): number {
    if (this.#wireType !== LENGTH_DELIMITED) {
      throw new OtlpDecodeError('The body is no ExportTraceServiceRequest: a field is of another type.');
    }
    const length = this.#reader.uint32();
    const end = this.#reader.pos + length;
    if (end > this.#reader.len) throw new OtlpDecodeError('The body is no ExportTraceServiceRequest: it ends early.');
    return end;
  }

  #skip(): void {
    // A group nests without a length, which nothing here counts; OTLP has none.
    if (this.#wireType === 3 || this.#wireType === 4) {
      throw new OtlpDecodeError('The body is no ExportTraceServiceRequest: it has a group.');
    }
    this.#reader.skipType(this.#wireType);
  }

  #hex(): string {
    return Buffer.from(this.#reader.bytes()).toString('hex');
  }

  #fixed64(): bigint {
    const low = BigInt(this.#reader.fixed32());
    return (BigInt(this.#reader.fixed32()) << 32n) | low;
  }

  /** As a bigint, which protobufjs does not give. */
  #varint64(): bigint {
    const { buf } = this.#reader;
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = buf[this.#reader.pos];
      if (byte === undefined) break;
      this.#reader.pos += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new OtlpDecodeError('The body is no ExportTraceServiceRequest: a number does not end.');
  }
}
