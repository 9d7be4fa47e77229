import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { COMPRESSION_THRESHOLD_BYTES, CompressedText } from './compression.ts';

test('a text is compressed once for each encoding that is taken, and left as it is for others', async () => {
  const text = 'ä record\n'.repeat(400);
  const compressed = new CompressedText(text);
  for (const [accepted, encoding, read] of [
    ['gzip, br', 'br', brotliDecompressSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
    ['deflate', undefined, (bytes: Buffer) => bytes],
  ] as const) {
    const [first, second] = [await compressed.bytesFor(accepted), await compressed.bytesFor(accepted)];
    assert.equal(first.encoding, encoding);
    assert.equal(read(first.bytes).toString(), text);
    assert.equal(second.bytes, first.bytes);
  }
});

test('a text that fits into a packet or two is not compressed', async () => {
  const small = new CompressedText('a'.repeat(COMPRESSION_THRESHOLD_BYTES - 1));
  assert.equal((await small.bytesFor('br')).encoding, undefined);
  assert.equal((await new CompressedText('a'.repeat(COMPRESSION_THRESHOLD_BYTES)).bytesFor('br')).encoding, 'br');
});
