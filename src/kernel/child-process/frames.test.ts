import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encodeFrame, FrameReader, FrameTooLargeError } from './frames.ts';

const values = [
  null,
  'text',
  { a: [1, undefined], b: Float32Array.of(1, 2) },
  new Map([['k', 1n]]),
  'x'.repeat(70_000),
];
const stream = Buffer.concat(values.flatMap((value) => encodeFrame(value, 1_000_000)));

describe('frames', () => {
  test('are put together from pieces of any size', () => {
    for (const size of [1, 3, 5, 1_000, stream.length]) {
      const reader = new FrameReader(1_000_000);
      const read: unknown[] = [];
      for (let at = 0; at < stream.length; at += size) read.push(...reader.push(stream.subarray(at, at + size)));
      assert.deepEqual(read, values);
    }
  });

  test('of the largest size are written and read, those a byte larger are not', () => {
    const [header, body] = encodeFrame('x'.repeat(1_000), 10_000);
    const frame = Buffer.concat([header, body]);
    assert.doesNotThrow(() => encodeFrame('x'.repeat(1_000), body.length));
    assert.throws(() => encodeFrame('x'.repeat(1_000), body.length - 1), FrameTooLargeError);
    assert.deepEqual([...new FrameReader(body.length).push(frame)], ['x'.repeat(1_000)]);
    assert.throws(() => [...new FrameReader(body.length - 1).push(frame)], FrameTooLargeError);
  });

  test('are refused by their header, before anything of them is held', () => {
    const reader = new FrameReader(1_000);
    assert.throws(() => [...reader.push(Buffer.from([0xff, 0xff, 0xff, 0xff]))], FrameTooLargeError);
  });
});
