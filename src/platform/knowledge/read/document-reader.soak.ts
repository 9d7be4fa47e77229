/** Memory that documents take: of this process, however long they are, and of the child that reads one made to fill it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertRefused,
  makePdf,
  makePdfBomb,
  makePdfOfRange,
  readAll,
  readText,
} from '../../../../test/support/document-fixtures.ts';
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

test('a PDF whose character map has 16 million codes ends the child that reads it, and no other', async () => {
  const reader = createDocumentReader({ givesWay: false, children: 2, heapBytes: 96 * MEBIBYTE });
  try {
    const other = readText(reader, makePdf([['Unharmed']]), { project: 'other' });
    const map = makePdfOfRange('<7f000000> <7fffffff> <0041>');
    assert.ok(map.length < 1_000);
    const told = /memory than one document may have \(96 MiB\)/;
    await assertRefused(readAll(reader, map), 'invalid_file', told);
    assert.match(await other, /Unharmed/);
    assert.equal(await readText(reader, 'next'), 'next');
  } finally {
    await reader.close();
  }
});

test('a PDF that unpacks without end into memory outside of the heap ends the child that reads it', async () => {
  const reader = createDocumentReader({ givesWay: false, children: 1, residentBytes: 256 * MEBIBYTE });
  try {
    await assertRefused(readAll(reader, makePdfBomb(200 * MEBIBYTE)), 'invalid_file', /memory/);
    assert.equal(await readText(reader, 'next'), 'next');
  } finally {
    await reader.close();
  }
});

test('a page of HTML of more than 16 million characters is read to its end', async () => {
  const reader = createDocumentReader({ givesWay: false });
  try {
    const page = `<html><p>${'word '.repeat(3_400_000)}last</p></html>`;
    assert.match(await readText(reader, page, { filename: 'a.html' }), /last$/);
  } finally {
    await reader.close();
  }
});
