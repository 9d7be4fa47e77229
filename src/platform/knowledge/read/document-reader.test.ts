import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import {
  assertRefused,
  inPieces,
  makePdf,
  makePdfBomb,
  makePdfOfRange,
  makeZip,
  readAll,
  readText,
  xlsxParts,
} from '../../../../test/support/document-fixtures.ts';
import { ChildCrashedError } from '../../../kernel/child-process/child-errors.ts';
import { readProcessorMs } from '../../../kernel/child-process/spawn-child.ts';
import { createDocumentReader, type DocumentReaderOptions } from './index.ts';

const MEBIBYTE = 1_048_576;
const CHUNKING = { chunkTokens: 800, overlapTokens: 400 };
/** Valid, and takes longer than a second: its elements nest. */
const SLOW_PAGE = '<div>'.repeat(150_000);

function openReader(options: DocumentReaderOptions = {}) {
  const reader = createDocumentReader(options);
  return Object.assign(reader, { [Symbol.asyncDispose]: () => reader.close() });
}

/** A source that says how much was taken from it and whether it was closed. */
function countedSource(piece: Uint8Array, pieces = Number.POSITIVE_INFINITY) {
  const source = { taken: 0, closed: false };
  async function* give(): AsyncGenerator<Uint8Array> {
    try {
      for (let index = 0; index < pieces; index++) {
        source.taken += piece.length;
        yield piece;
      }
    } finally {
      source.closed = true;
    }
  }
  return Object.assign(source, { bytes: give() });
}

function hangingSource(first: string) {
  const state = { asked: Promise.withResolvers<void>() };
  async function* give(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(first);
    state.asked.resolve();
    await new Promise(() => undefined);
  }
  return Object.assign(state, { bytes: give() });
}

/** Processor time of other processes is known there. */
const HELD = { skip: process.platform !== 'linux' };
/** So that by the clock even a child that hardly gets a processor has time enough to use up what it may compute. */
const NO_CLOCK = { clockFactor: 1_000 };

const prose = Buffer.from('The quick brown fox jumps over the lazy dog, and back again.\n'.repeat(1_000));

describe('a document', () => {
  test('is taken from its source as its chunks are taken, and no faster', async () => {
    await using reader = openReader();
    const source = countedSource(prose);
    const sent = { bytes: source.bytes, filename: 'a.txt', mediaType: 'text/plain' };
    let batches = 0;
    for await (const batch of reader.chunks('proj', sent, CHUNKING, new AbortController().signal)) {
      assert.ok(batch.length > 0 && batch.length <= 64);
      // A batch of 64 chunks with half of each overlapping is 100 KB of this text; a block of the reader has 256.
      assert.ok(
        source.taken <= (batches + 1) * 2 * 262_144 + prose.length,
        `${source.taken} bytes for ${batches} batches`,
      );
      if (++batches === 5) break;
    }
    assert.ok(source.closed, 'leaving early closes the source');
  });

  test('comes the same from pieces of any size', async () => {
    await using reader = openReader();
    const text = Buffer.from('中文 and English 😀 – naïve.\n'.repeat(20_000));
    const whole = await readAll(reader, text, { chunking: CHUNKING });
    for (const size of [1_013, 300_007]) {
      assert.deepEqual(await readAll(reader, inPieces(text, size), { chunking: CHUNKING }), whole);
    }
  });

  test('waits its turn when more come than there are children', async () => {
    await using reader = openReader({ children: 2 });
    const texts = Array.from({ length: 8 }, (_, index) => `Document ${index}`);
    assert.deepEqual(await Promise.all(texts.map((text) => readText(reader, text))), texts);
  });

  test('whose source fails fails with the source’s error', async () => {
    await using reader = openReader({ children: 1 });
    const failure = new Error('the store is gone');
    async function* give(): AsyncGenerator<Uint8Array> {
      yield prose;
      throw failure;
    }
    await assert.rejects(readAll(reader, give()), failure);
    assert.equal(await readText(reader, 'next'), 'next');
  });

  test('needs sizes of chunks that can be', async () => {
    await using reader = openReader();
    await assert.rejects(readAll(reader, 'text', { chunking: { chunkTokens: 100, overlapTokens: 100 } }), RangeError);
  });
});

describe('a cap', () => {
  test('on bytes refuses a text that is too large, and reads no further', async () => {
    await using reader = openReader({ streamedBytes: 4 * MEBIBYTE });
    const source = countedSource(prose);
    await assertRefused(readAll(reader, source.bytes, { filename: 'a.txt' }), 'invalid_file', /4 MiB/);
    assert.ok(source.closed && source.taken < 5 * MEBIBYTE);
  });

  test('on bytes refuses a file of 2 GB that a parser would need whole, in bounded memory', async () => {
    await using reader = openReader();
    await readText(reader, 'warm');
    const before = process.memoryUsage.rss();
    const noise = Buffer.alloc(MEBIBYTE, '%PDF-1.7 ');
    const source = countedSource(noise, 2_048);
    await assertRefused(readAll(reader, source.bytes, { filename: 'a.pdf' }), 'invalid_file', /128 MiB/);
    assert.ok(source.closed && source.taken < 130 * MEBIBYTE);
    assert.ok(process.memoryUsage.rss() - before < 300 * MEBIBYTE);
  });

  test('on memory outside of the heap ends a PDF that unpacks without end', async () => {
    await using reader = openReader({ children: 1, residentBytes: 320 * MEBIBYTE });
    await assertRefused(readAll(reader, makePdfBomb(400 * MEBIBYTE)), 'invalid_file', /memory/);
    assert.equal(await readText(reader, 'next'), 'next');
  });

  test('on the heap ends a sheet that fills it, and takes nothing else with it', async () => {
    await using reader = openReader({ children: 2, heapBytes: 128 * MEBIBYTE });
    const corner = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>';
    const other = readText(reader, makePdf([['Unharmed']]));
    await assertRefused(readAll(reader, makeZip(xlsxParts({ Sheet: corner }))), 'invalid_file', /memory/);
    assert.match(await other, /Unharmed/);
    assert.equal(await readText(reader, 'next'), 'next');
  });

  test('on processor time ends a document that takes too much, and takes nothing else with it', HELD, async () => {
    await using reader = openReader({ children: 1, processorMs: 500, processorMsPerMebibyte: 0, ...NO_CLOCK });
    const told = /more processor time .* \(0.5 seconds, and 0 for each MiB, 900 at most\)/;
    await assertRefused(readAll(reader, SLOW_PAGE, { filename: 'a.html' }), 'invalid_file', told);
    assert.equal(await readText(reader, 'next'), 'next');
  });

  test('on processor time grows with the bytes that are read, and only so far', HELD, async () => {
    const limits = { children: 1, processorMs: 200, processorMsPerMebibyte: 60_000, ...NO_CLOCK };
    await using reader = openReader(limits);
    await assertRefused(readAll(reader, SLOW_PAGE, { filename: 'a.html' }), 'invalid_file', /nested/);
    await using strict = openReader({ ...limits, maxProcessorMs: 300 });
    const told = /\(0.2 seconds, and 60 for each MiB, 0.3 at most\)/;
    await assertRefused(readAll(strict, SLOW_PAGE, { filename: 'a.html' }), 'invalid_file', told);
  });

  test('on processor time counts each document by itself', HELD, async () => {
    await using reader = openReader({ children: 1, processorMs: 1_000, processorMsPerMebibyte: 0, ...NO_CLOCK });
    const text = Buffer.concat(Array(10).fill(prose));
    const usedMs: number[] = [];
    while ((usedMs.at(-1) ?? 0) < 1_250) {
      await readAll(reader, text);
      usedMs.push(await measureChild());
    }
    assert.ok(usedMs.length > 1);
  });

  test('on the pages of a PDF is told with their number', async () => {
    await using reader = openReader({ children: 1, pdfPages: 3 });
    const pages = (count: number) => makePdf(Array.from({ length: count }, (_, page) => [`Page ${page}`]));
    assert.match(await readText(reader, pages(3)), /Page 0\s+Page 1\s+Page 2/);
    await assertRefused(readAll(reader, pages(4)), 'invalid_file', /has 4 pages, and 3 are the most/);
  });

  test('on text ends a PDF in the middle of a page', async () => {
    // Lines with their ends, of which the page's last has two.
    await using reader = openReader({ children: 1, textCharacters: 40 * 51 + 1, textCharactersPerByte: 0 });
    const page = (lines: number) => makePdf([Array.from({ length: lines }, () => 'x'.repeat(50))]);
    assert.equal((await readText(reader, page(40))).length, 40 * 51 + 1);
    await assertRefused(readAll(reader, page(41)), 'invalid_file', /2041 characters/);
    assert.equal(await readText(reader, 'next'), 'next');
  });

  test('on time counts all turns of a document together', async ({ mock }) => {
    await using reader = openReader({ children: 1, processorMs: 10_000, processorMsPerMebibyte: 0, clockFactor: 1 });
    // Each turn seems to take a second: none is too long, but there are more than ten.
    let seconds = 0;
    mock.method(performance, 'now', () => 1_000 * seconds++);
    await assertRefused(readAll(reader, Buffer.concat(Array(40).fill(prose))), 'invalid_file', /longer than/);
  });

  test('on time does not count the time of the consumer', async ({ mock }) => {
    await using reader = openReader({ children: 1, processorMs: 10_000, processorMsPerMebibyte: 0, clockFactor: 1 });
    const now = performance.now.bind(performance);
    // The consumer seems to take a minute for each batch.
    let consumedMs = 0;
    mock.method(performance, 'now', () => now() + consumedMs);
    const sent = { bytes: inPieces(Buffer.concat(Array(20).fill(prose))), filename: 'a.txt', mediaType: '' };
    for await (const _ of reader.chunks('proj', sent, CHUNKING, new AbortController().signal)) consumedMs += 60_000;
    assert.ok(consumedMs >= 120_000);
  });

  test('on memory holds for a long text: what the process grows by does not depend on its length', async () => {
    await using reader = openReader();
    const grow = async (mebibytes: number): Promise<number> => {
      const source = countedSource(Buffer.concat(Array(17).fill(prose)).subarray(0, MEBIBYTE), mebibytes);
      let peak = 0;
      const sent = { bytes: source.bytes, filename: 'a.txt', mediaType: '' };
      for await (const _ of reader.chunks('proj', sent, CHUNKING, new AbortController().signal)) {
        peak = Math.max(peak, process.memoryUsage.rss());
      }
      return peak;
    };
    const short = await grow(8);
    assert.ok((await grow(48)) - short < 128 * MEBIBYTE);
  });
});

describe('a file made to end the process', () => {
  test('by a character map of 16 million codes ends its child alone', async () => {
    await using reader = openReader({ heapBytes: 128 * MEBIBYTE });
    const other = readText(reader, makePdf([['Unharmed']]), { project: 'other' });
    const map = makePdfOfRange('<7f000000> <7fffffff> <0041>');
    assert.ok(map.length < 1_000);
    await assertRefused(readAll(reader, map), 'invalid_file', /memory than one document may have \(128 MiB\)/);
    assert.match(await other, /Unharmed/);
    assert.equal(await readText(reader, 'next'), 'next');
  });

  test('by a cell beyond the last of a sheet is refused before it is read', async () => {
    await using reader = openReader();
    const refused = ['<row r="1"><c r="ZZZZZZ99999999"><v>1</v></c></row>', '<row r="1048577"><c><v>1</v></c></row>'];
    for (const rows of [...refused, '<row r="1"><c r="XFE1"><v>1</v></c></row>']) {
      await assertRefused(
        readAll(reader, makeZip(xlsxParts({ Sheet: rows }))),
        'invalid_file',
        /XFD1048576 is the last/,
      );
    }
    const last = '<row r="1"><c r="XFD1"><v>16384</v></c></row>';
    assert.match(await readText(reader, makeZip(xlsxParts({ Sheet: last }))), /16384/);
  });

  test('by text without end from few bytes is refused with the limit', async () => {
    await using reader = openReader({ textCharacters: 100_000, textCharactersPerByte: 2 });
    // Every row repeats the name of its column.
    const rows = (count: number) => `${'n'.repeat(1_000)}\n${'1\n'.repeat(count)}`;
    const most = { filename: 'a.csv' };
    assert.ok((await readText(reader, rows(100), most)).length > 100_000);
    await assertRefused(
      readAll(reader, rows(200), most),
      'invalid_file',
      /100000 characters, and 2 more for each byte/,
    );
  });

  test('whose child crashes fails with that, and leaves room for the next', async () => {
    await using reader = openReader({ children: 1 });
    const source = hangingSource('text');
    const reading = readAll(reader, source.bytes);
    await source.asked.promise;
    process.kill(await findChild(), 'SIGSEGV');
    await assert.rejects(reading, ChildCrashedError);
    assert.equal(await readText(reader, 'next'), 'next');
  });
});

describe('projects', () => {
  test('take turns: slow files of one do not keep another from being read', async () => {
    await using reader = openReader({ children: 2 });
    const controller = new AbortController();
    const slow = Array.from({ length: 20 }, () => hangingSource('text'));
    const reading = slow.map(({ bytes }) => readAll(reader, bytes, { project: 'slow', signal: controller.signal }));
    const over = Promise.all(reading.map((each) => assert.rejects(each, /enough/)));
    await slow[0]?.asked.promise;
    assert.equal(await readText(reader, 'prompt', { project: 'other' }), 'prompt');
    controller.abort(new Error('enough'));
    await over;
  });
});

/** Processor time of the only child that reads documents. */
async function measureChild(): Promise<number> {
  return readProcessorMs(await findChild()) ?? assert.fail('the child is gone');
}

/** The process id of the only child that reads documents. */
async function findChild(): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  const processes = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  const parents = new Map(processes.map(([pid, parent]) => [pid, parent]));
  const isOwn = (pid: string | undefined): boolean =>
    pid !== undefined && (pid === String(process.pid) || isOwn(parents.get(pid)));
  const own = processes.filter(([pid, , ...args]) => args.join(' ').includes('read-program.ts') && isOwn(pid));
  assert.equal(own.length, 1);
  return Number(own[0]?.[0]);
}

describe('an abort', () => {
  const reason = new Error('enough');

  test('before the start takes nothing from the source', async () => {
    await using reader = openReader();
    const source = countedSource(prose);
    await assert.rejects(readAll(reader, source.bytes, { signal: AbortSignal.abort(reason) }), reason);
    assert.equal(source.taken, 0);
  });

  test('ends a document whose source hangs, and frees its child', async () => {
    await using reader = openReader({ children: 1 });
    const controller = new AbortController();
    const source = hangingSource('text');
    const reading = readAll(reader, source.bytes, { signal: controller.signal });
    await source.asked.promise;
    controller.abort(reason);
    await assert.rejects(reading, reason);
    assert.equal(await readText(reader, 'next'), 'next');
  });

  test('ends a document in the middle of its parsing, and frees its child', async () => {
    await using reader = openReader({ children: 1 });
    await readText(reader, 'warm');
    const controller = new AbortController();
    const source = countedSource(Buffer.from(SLOW_PAGE), 1);
    const reading = readAll(reader, source.bytes, { filename: 'a.html', signal: controller.signal });
    const started = performance.now();
    while (!source.closed) await new Promise(setImmediate);
    controller.abort('any value');
    await assert.rejects(reading, (error) => error === 'any value');
    assert.equal(await readText(reader, 'next'), 'next');
    assert.ok(performance.now() - started < 20_000);
  });

  test('ends a document that waits for a child, and leaves the one that has it', async () => {
    await using reader = openReader({ children: 1 });
    const controller = new AbortController();
    const first = hangingSource('text');
    const other = new AbortController();
    const reading = readAll(reader, first.bytes, { signal: other.signal });
    await first.asked.promise;
    const waiting = readAll(reader, 'text', { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(waiting, reason);
    other.abort(reason);
    await assert.rejects(reading, reason);
  });

  test('frees the child of a consumer that never comes back', async () => {
    await using reader = openReader({ children: 1 });
    const controller = new AbortController();
    const sent = { bytes: countedSource(prose).bytes, filename: 'a.txt', mediaType: '' };
    const batches = reader.chunks('proj', sent, CHUNKING, controller.signal)[Symbol.asyncIterator]();
    await batches.next();
    controller.abort(reason);
    assert.equal(await readText(reader, 'next'), 'next');
    await assert.rejects(batches.next(), reason);
  });
});

describe('closing the reader', () => {
  test('breaks off what is being read, and what waits', async () => {
    const reader = createDocumentReader({ children: 1 });
    const source = hangingSource('text');
    const reading = readAll(reader, source.bytes);
    await source.asked.promise;
    const waiting = readAll(reader, 'text');
    const both = Promise.all([assert.rejects(reading, /closed/), assert.rejects(waiting, /closed/)]);
    await reader.close();
    await both;
    await assert.rejects(readAll(reader, 'text'), /closed/);
    await reader.close();
  });

  test('is not needed for the process to end', async () => {
    const program = `
      import { createDocumentReader } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};
      const bytes = (async function* () { yield Buffer.from('some text'); })();
      const source = { bytes, filename: 'a.txt', mediaType: '' };
      const chunking = { chunkTokens: 100, overlapTokens: 0 };
      for await (const batch of createDocumentReader().chunks('proj', source, chunking, new AbortController().signal)) {
        console.log(batch[0].text);
      }`;
    const started = performance.now();
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    assert.equal(stdout, 'some text\n');
    assert.ok(performance.now() - started < 20_000, 'sooner than its idle child would');
  });
});
