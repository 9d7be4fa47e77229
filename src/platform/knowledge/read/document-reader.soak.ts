/** Memory that this process takes for documents, however long they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, readAll } from '../../../../test/support/document-fixtures.ts';
import { createDocumentReader } from './index.ts';

const MEBIBYTE = 1_048_576;
const CHUNKING = { chunkTokens: 800, overlapTokens: 400 };

async function* repeat(piece: Uint8Array, count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) yield piece;
}

test('a document reader takes less than 300 MiB for a file of 2 GB that a parser would need whole', async () => {
  const reader = createDocumentReader();
  try {
    const before = process.memoryUsage.rss();
    const bytes = repeat(Buffer.alloc(MEBIBYTE, '%PDF-1.7 '), 2_048);
    await assertRefused(readAll(reader, bytes, { filename: 'a.pdf' }), 'invalid_file', /128 MiB/);
    assert.ok(process.memoryUsage.rss() - before < 300 * MEBIBYTE);
  } finally {
    await reader.close();
  }
});

test('a document reader takes no more memory when a text is six times as long', async () => {
  const reader = createDocumentReader();
  const prose = Buffer.alloc(MEBIBYTE, 'The quick brown fox jumps over the lazy dog, and back again.\n');
  const measurePeak = async (mebibytes: number): Promise<number> => {
    let peak = 0;
    const sent = { bytes: repeat(prose, mebibytes), filename: 'a.txt', mediaType: '' };
    for await (const _ of reader.chunks('proj', sent, CHUNKING, new AbortController().signal)) {
      peak = Math.max(peak, process.memoryUsage.rss());
    }
    return peak;
  };
  try {
    const short = await measurePeak(8);
    assert.ok((await measurePeak(48)) - short < 128 * MEBIBYTE);
  } finally {
    await reader.close();
  }
});
