/** Reads an ExportTraceServiceRequest that came as JSON: ids are hexadecimal, integers of 64 bits may be texts. */
import type { JsonObject } from '../../tables.ts';
import { integerOrText, MAX_VALUE_DEPTH, numberOrText, OtlpDecodeError, type OtlpSpan, tooDeep } from './otlp-span.ts';

/** Of the parsed body. Yields undefined for what is no span. Throws OtlpDecodeError. */
export function* decodeJson(body: unknown): Generator<OtlpSpan | undefined> {
  for (const resourceSpans of objects(member(body, 'resourceSpans'))) {
    const resource = readAttributes(member(resourceSpans.resource, 'attributes'));
    for (const scopeSpans of objects(resourceSpans.scopeSpans)) {
      for (const span of objects(scopeSpans.spans)) yield readSpan(span, resource);
      yield undefined;
    }
    yield undefined;
  }
}

function readSpan(span: JsonObject, resource: JsonObject): OtlpSpan {
  const exception = objects(span.events).find(({ name }) => name === 'exception');
  return {
    traceId: text(span.traceId).toLowerCase(),
    spanId: text(span.spanId).toLowerCase(),
    parentSpanId: text(span.parentSpanId).toLowerCase(),
    name: text(span.name),
    startNanos: integer(span.startTimeUnixNano),
    endNanos: integer(span.endTimeUnixNano),
    attributes: readAttributes(span.attributes),
    statusCode: statusCode(member(span.status, 'code')),
    statusMessage: text(member(span.status, 'message')),
    exception: exception === undefined ? undefined : readAttributes(exception.attributes),
    resource,
  };
}

function readAttributes(list: unknown, depth = 0): JsonObject {
  return Object.fromEntries(objects(list).map(({ key, value }) => [text(key), readValue(value, depth)]));
}

function readValue(value: unknown, depth: number): unknown {
  if (depth > MAX_VALUE_DEPTH) throw tooDeep();
  const [kind, given] = Object.entries(asObject(value) ?? {})[0] ?? [];
  switch (kind) {
    case 'stringValue':
    case 'bytesValue':
      return text(given);
    case 'boolValue':
      return given === true;
    case 'intValue':
      return integerOrText(integer(given));
    case 'doubleValue':
      return typeof given === 'number' ? numberOrText(given) : text(given);
    case 'arrayValue':
      return objects(member(given, 'values')).map((item) => readValue(item, depth + 1));
    case 'kvlistValue':
      return readAttributes(member(given, 'values'), depth + 1);
    default:
      return null;
  }
}

function statusCode(code: unknown): number {
  if (code === 'STATUS_CODE_ERROR') return 2;
  return typeof code === 'number' ? code : 0;
}

/** Absent is empty, as with protobuf; what is of another type is no request. */
function objects(list: unknown): JsonObject[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw new OtlpDecodeError('The body is no ExportTraceServiceRequest: a list is missing.');
  return list.map((item) => {
    const object = asObject(item);
    if (object === undefined) {
      throw new OtlpDecodeError('The body is no ExportTraceServiceRequest: a list holds something else than objects.');
    }
    return object;
  });
}

function member(value: unknown, name: string): unknown {
  if (value === undefined || value === null) return undefined;
  const object = asObject(value);
  if (object === undefined)
    throw new OtlpDecodeError(`The body is no ExportTraceServiceRequest: \`${name}\` is in no object.`);
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function integer(value: unknown): bigint {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  return typeof value === 'string' && /^-?\d{1,20}$/.test(value) ? BigInt(value) : 0n;
}
