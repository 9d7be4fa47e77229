/** OTLP's messages as protobufjs encodes and decodes them, by a descriptor of opentelemetry-proto 1.x. */
import protobuf from 'protobufjs';

const field = (type: string, id: number, rule?: 'repeated') => ({ type, id, ...(rule === undefined ? {} : { rule }) });

const root = protobuf.Root.fromJSON({
  nested: {
    ExportTraceServiceRequest: { fields: { resourceSpans: field('ResourceSpans', 1, 'repeated') } },
    ExportTraceServiceResponse: { fields: { partialSuccess: field('PartialSuccess', 1) } },
    PartialSuccess: { fields: { rejectedSpans: field('int64', 1), errorMessage: field('string', 2) } },
    Status: { fields: { code: field('int32', 1), message: field('string', 2) } },
    ResourceSpans: { fields: { resource: field('Resource', 1), scopeSpans: field('ScopeSpans', 2, 'repeated') } },
    Resource: { fields: { attributes: field('KeyValue', 1, 'repeated') } },
    ScopeSpans: { fields: { scope: field('Scope', 1), spans: field('Span', 2, 'repeated') } },
    Scope: { fields: { name: field('string', 1), version: field('string', 2) } },
    Span: {
      fields: {
        traceId: field('bytes', 1),
        spanId: field('bytes', 2),
        parentSpanId: field('bytes', 4),
        name: field('string', 5),
        kind: field('int32', 6),
        startTimeUnixNano: field('fixed64', 7),
        endTimeUnixNano: field('fixed64', 8),
        attributes: field('KeyValue', 9, 'repeated'),
        events: field('Event', 11, 'repeated'),
        status: field('SpanStatus', 15),
      },
    },
    Event: { fields: { name: field('string', 2), attributes: field('KeyValue', 3, 'repeated') } },
    SpanStatus: { fields: { message: field('string', 2), code: field('int32', 3) } },
    KeyValue: { fields: { key: field('string', 1), value: field('AnyValue', 2) } },
    AnyValue: {
      oneofs: {
        value: {
          oneof: ['stringValue', 'boolValue', 'intValue', 'doubleValue', 'arrayValue', 'kvlistValue', 'bytesValue'],
        },
      },
      fields: {
        stringValue: field('string', 1),
        boolValue: field('bool', 2),
        intValue: field('int64', 3),
        doubleValue: field('double', 4),
        arrayValue: field('ArrayValue', 5),
        kvlistValue: field('KeyValueList', 6),
        bytesValue: field('bytes', 7),
      },
    },
    ArrayValue: { fields: { values: field('AnyValue', 1, 'repeated') } },
    KeyValueList: { fields: { values: field('KeyValue', 1, 'repeated') } },
  },
});

type MessageName = 'ExportTraceServiceRequest' | 'ExportTraceServiceResponse' | 'Status';

export function encodeMessage(name: MessageName, message: object): Buffer {
  const type = root.lookupType(name);
  return Buffer.from(type.encode(type.fromObject(message)).finish());
}

/** 64-bit integers as texts, bytes as hexadecimal digits, enumerations as numbers. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape.
export function decodeMessage(name: MessageName, bytes: Uint8Array): any {
  const type = root.lookupType(name);
  return hexed(type.toObject(type.decode(bytes), { longs: String, defaults: false }));
}

function hexed(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(hexed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, hexed(member)]));
}
