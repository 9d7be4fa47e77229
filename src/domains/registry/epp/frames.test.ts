import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeFrame, FrameError, FrameReader, MAX_FRAME_BYTES } from './frames.ts';

test('a length counts itself, and bytes instead of characters', () => {
  assert.deepEqual(encodeFrame('<ä/>'), Buffer.from([0, 0, 0, 9, 0x3c, 0xc3, 0xa4, 0x2f, 0x3e]));
});

test('frames come out whole, however the bytes are cut', () => {
  const texts = fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(texts, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sent, sizes) => {
      const reader = new FrameReader();
      const bytes = Buffer.concat(sent.map(encodeFrame));
      const received: string[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const end = at + (sizes[turn % sizes.length] ?? 1);
        received.push(...reader.push(bytes.subarray(at, end)).map((frame) => frame.toString()));
        at = end;
      }
      assert.deepEqual(received, sent);
      assert.equal(reader.isPartial, false);
    }),
  );
});

test('lengths that no frame has are refused before anything is kept', () => {
  const header = (length: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(length);
    return bytes;
  };
  for (const length of [0, 1, 3, 4, MAX_FRAME_BYTES + 1, 0xffff_ffff]) {
    assert.throws(() => new FrameReader().push(header(length)), FrameError, String(length));
  }
  assert.throws(() => new FrameReader().push(Buffer.from('GET / HTTP/1.1\r\n')), FrameError);
  assert.deepEqual(new FrameReader().push(header(MAX_FRAME_BYTES)), []);
  assert.throws(() => encodeFrame('x'.repeat(MAX_FRAME_BYTES)), FrameError);
});

const LONG = 20_000;

test('FrameReader copies each byte at most twice when a frame comes byte by byte', (t) => {
  const frame = encodeFrame('x'.repeat(LONG));
  const reader = new FrameReader();
  const concat = t.mock.method(Buffer, 'concat');
  const found: Buffer[] = [];
  for (const byte of frame) found.push(...reader.push(Buffer.from([byte])));
  assert.deepEqual(
    found.map((each) => each.toString()),
    ['x'.repeat(LONG)],
  );
  const copied = concat.mock.calls.reduce((sum, { result }) => sum + (result?.length ?? 0), 0);
  assert.ok(copied <= 2 * frame.length, `${copied} bytes are copied`);
});
