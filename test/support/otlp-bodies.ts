/** What tests push over OTLP/HTTP: spans, and bodies that cost the most to read. */
import { randomBytes } from 'node:crypto';

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
export type Json = any;

export const START = BigInt(Date.UTC(2026, 4, 1, 12)) * 1_000_000n;
export const id = (bytes: number) => randomBytes(bytes).toString('hex');

export function span(more: Json = {}): Json {
  return {
    traceId: id(16),
    spanId: id(8),
    name: 'chat gpt-5',
    startTimeUnixNano: String(START),
    endTimeUnixNano: String(START + 1_500_000n),
    ...more,
  };
}

export const attribute = (key: string, value: Json) => ({ key, value });

export function request(spans: readonly Json[], resource: readonly Json[] = []): Json {
  return { resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope: { name: 'test' }, spans }] }] };
}

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
const message = (field: number, content: Buffer) =>
  Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(content.length)]), content]);
const inSpan = (content: Buffer) => message(1, message(2, message(2, content)));
const many = (unit: Buffer, bytes: number) => Buffer.alloc(bytes - (bytes % unit.length), unit);
const nest = (levels: number) => {
  let value = Buffer.alloc(0);
  for (let n = 0; n < levels; n += 1) value = message(5, message(1, value));
  return value;
};
const BYTES = 4_000_000;
/** Each as large as may be at 1, or as small a share of it. */
export const HOSTILE_BODIES: Readonly<Record<string, (share: number) => Buffer>> = {
  'empty resources': (share) => many(Buffer.from([0x0a, 0]), BYTES * share),
  'empty spans': (share) => message(1, message(2, many(Buffer.from([0x12, 0]), BYTES * share))),
  'empty attributes of one span': (share) => inSpan(many(Buffer.from([0x4a, 0]), BYTES * share)),
  'fields that nobody knows': (share) => many(Buffer.from([0xf8, 0x01, 0]), BYTES * share),
  'a value that nests as deep as it can': (share) => inSpan(message(9, message(2, nest(5_000 * share)))),
  groups: (share) => many(Buffer.from([0xfb, 0x01]), BYTES * share),
  'a length beyond the end': () => Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07]),
  'many spans of large attributes': (share) =>
    message(
      1,
      message(
        2,
        Buffer.concat(
          Array.from({ length: 3_000 * share }, (_, n) =>
            message(
              2,
              Buffer.concat([
                message(1, Buffer.alloc(16, 1 + (n % 200))),
                message(2, Buffer.from(id(8), 'hex')),
                message(5, Buffer.from('a span')),
                Buffer.from([0x39]),
                u64(START),
                Buffer.from([0x41]),
                u64(START),
                ...Array.from({ length: 20 }, (_, k) =>
                  message(
                    9,
                    Buffer.concat([
                      message(1, Buffer.from(`key ${k}`)),
                      message(2, message(1, Buffer.from('a value of some length'))),
                    ]),
                  ),
                ),
              ]),
            ),
          ),
        ),
      ),
    ),
  'json of many values': (share) =>
    Buffer.from(
      JSON.stringify(
        request(
          Array.from({ length: 4_000 * share }, () => span({ attributes: [attribute('a', { stringValue: 'b' })] })),
        ),
      ),
    ),
};
const u64 = (value: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};
