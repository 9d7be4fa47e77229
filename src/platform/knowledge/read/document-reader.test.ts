import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { constants, getPriority } from 'node:os';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import {
  assertRefused,
  inPieces,
  makePdf,
  makeZip,
  readAll,
  readText,
  xlsxParts,
} from '../../../../test/support/document-fixtures.ts';
import { poll } from '../../../../test/support/poll.ts';
import { ChildCrashedError } from '../../../kernel/child-process/child-errors.ts';
import { readProcessorMs } from '../../../kernel/child-process/spawn-child.ts';
import { createDocumentReader, type DocumentReaderOptions } from './index.ts';

const MEBIBYTE = 1_048_576;
const CHUNKING = { chunkTokens: 800, overlapTokens: 400 };
/** After which a test gives up. */
const TIMEOUT_MS = 120_000;
/** Valid, and takes a good part of a second: its elements nest. */
const SLOW_PAGE = '<div>'.repeat(40_000);
/** Takes several seconds. */
const ENDLESS_PAGE = '<div>'.repeat(400_000);

/**
 * One whose children take their share of a busy machine, as tests wait for them. To start a child takes far more processor time
 * than to read a small document: no child ends because the machine is slow.
 */
function openReader(options: DocumentReaderOptions = {}) {
  const reader = createDocumentReader({ givesWay: false, idleMs: 3_600_000, ...options });
  return Object.assign(reader, { [Symbol.asyncDispose]: () => reader.close() });
}

/** For documents that any reader takes the same way: starting a child takes far longer than reading one of them. */
const shared = openReader({ children: 2 });
after(() => shared.close());
/** Whose next document needs the child of the one before it. */
const single = openReader({ children: 1 });
after(() => single.close());

const capped = openReader({ children: 1, streamedBytes: MEBIBYTE, wholeBytes: 4 * MEBIBYTE, pdfPages: 3 });
after(() => capped.close());
/** Whose children may take a minute by the clock. */
const unhurried = openReader({ children: 1, processorMs: 60_000, processorMsPerMebibyte: 0, clockFactor: 1 });
after(() => unhurried.close());

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

/** One that says when it is asked for more than its first piece, and ends when it is told to. */
function hangingSource(first: string) {
  const asked = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<void>();
  async function* give(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(first);
    asked.resolve();
    await ending.promise;
  }
  return { asked, goOn: () => ending.resolve(), bytes: give() };
}

/** Processor time of other processes is known there. */
const HELD = { skip: process.platform !== 'linux' };
/** So that by the clock even a child that hardly gets a processor has time enough to use up what it may compute. */
const NO_CLOCK = { clockFactor: 1_000 };

const prose = Buffer.from('The quick brown fox jumps over the lazy dog, and back again.\n'.repeat(1_000));

describe('a document', () => {
  test('is taken from its source as its chunks are taken, and no faster', async () => {
    const source = countedSource(prose);
    const sent = { bytes: source.bytes, filename: 'a.txt', mediaType: 'text/plain' };
    let batches = 0;
    for await (const batch of shared.chunks('proj', sent, CHUNKING, new AbortController().signal)) {
      assert.ok(batch.length > 0 && batch.length <= 64);
      // A batch of 64 chunks with half of each overlapping is 100 KB of this text; a block of the shared has 256.
      assert.ok(
        source.taken <= (batches + 1) * 2 * 262_144 + prose.length,
        `${source.taken} bytes for ${batches} batches`,
      );
      if (++batches === 5) break;
    }
    assert.ok(source.closed, 'leaving early closes the source');
  });

  test('comes the same from pieces of any size', async () => {
    const text = Buffer.from('中文 and English 😀 – naïve.\n'.repeat(9_000));
    const whole = await readAll(shared, text, { chunking: CHUNKING });
    for (const size of [1_013, 300_007]) {
      assert.deepEqual(await readAll(shared, inPieces(text, size), { chunking: CHUNKING }), whole);
    }
  });

  test('waits its turn when more come than there are children', async () => {
    const texts = Array.from({ length: 8 }, (_, index) => `Document ${index}`);
    assert.deepEqual(await Promise.all(texts.map((text) => readText(shared, text))), texts);
  });

  test('whose source fails fails with the source’s error', async () => {
    const failure = new Error('the store is gone');
    async function* give(): AsyncGenerator<Uint8Array> {
      yield prose;
      throw failure;
    }
    await assert.rejects(readAll(single, give()), failure);
    assert.equal(await readText(single, 'next'), 'next');
  });

  test('needs sizes of chunks that can be', async () => {
    await assert.rejects(readAll(shared, 'text', { chunking: { chunkTokens: 100, overlapTokens: 100 } }), RangeError);
  });
});

describe('a cap', () => {
  test('on bytes refuses a text that is too large, and reads no further', async () => {
    const source = countedSource(prose);
    await assertRefused(readAll(capped, source.bytes, { filename: 'a.txt' }), 'invalid_file', /1 MiB/);
    assert.ok(source.closed && source.taken < 2 * MEBIBYTE);
  });

  test('a document reader reads no further than the cap when a parser needs the whole of a file of 2 GB', async () => {
    const source = countedSource(Buffer.alloc(MEBIBYTE, '%PDF-1.7 '), 2_048);
    await assertRefused(readAll(capped, source.bytes, { filename: 'a.pdf' }), 'invalid_file', /4 MiB/);
    assert.ok(source.closed && source.taken < 6 * MEBIBYTE);
  });

  test('on the heap ends a sheet that fills it, and takes nothing else with it', async () => {
    await using reader = openReader({ children: 2, heapBytes: 96 * MEBIBYTE });
    const corner = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>';
    const other = hangingSource('unharmed');
    const reading = readText(reader, other.bytes, { project: 'other' });
    await other.asked.promise;
    const told = /memory than one document may have \(96 MiB\)/;
    await assertRefused(readAll(reader, makeZip(xlsxParts({ Sheet: corner }))), 'invalid_file', told);
    other.goOn();
    assert.equal(await reading, 'unharmed');
  });

  test('a document reader allows more processor time when a document has more bytes', HELD, async () => {
    const limits = { children: 1, processorMs: 200, processorMsPerMebibyte: 900_000, ...NO_CLOCK };
    await using reader = openReader(limits);
    await assertRefused(readAll(reader, SLOW_PAGE, { filename: 'a.html' }), 'invalid_file', /nested/);
  });

  test(
    'a document reader refuses a document that takes more processor time than the maximum, and counts anew for the next',
    HELD,
    async () => {
      const maxProcessorMs = 300;
      const limits = { children: 1, processorMs: 200, processorMsPerMebibyte: 900_000, maxProcessorMs, ...NO_CLOCK };
      await using reader = openReader(limits);
      const told = /more processor time .* \(0.2 seconds, and 900 for each MiB, 0.3 at most\)/;
      await assertRefused(readAll(reader, ENDLESS_PAGE, { filename: 'a.html' }), 'invalid_file', told);
      const before = await listChildren();
      assert.equal(await readText(reader, 'next'), 'next');
      const pid = await findNewChild(before);
      const readUsedMs = () => readProcessorMs(pid) ?? assert.fail('the child is gone');
      const startMs = readUsedMs();
      while (readUsedMs() - startMs < 1.25 * maxProcessorMs) await readAll(reader, prose);
    },
  );

  test('on the pages of a PDF is told with their number', async () => {
    const pages = (count: number) => makePdf(Array.from({ length: count }, (_, page) => [`Page ${page}`]));
    assert.match(await readText(capped, pages(3)), /Page 0\s+Page 1\s+Page 2/);
    await assertRefused(readAll(capped, pages(4)), 'invalid_file', /has 4 pages, and 3 are the most/);
  });

  test('on text ends a PDF in the middle of a page', async () => {
    // Lines with their ends, of which the page's last has two.
    await using reader = openReader({ children: 1, textCharacters: 40 * 51 + 1, textCharactersPerByte: 0 });
    const page = (lines: number) => makePdf([Array.from({ length: lines }, () => 'x'.repeat(50))]);
    assert.equal((await readText(reader, page(40))).length, 40 * 51 + 1);
    await assertRefused(readAll(reader, page(41)), 'invalid_file', /2041 characters/);
  });

  test('a document reader does not count the time when its consumer holds the chunks', async ({ mock }) => {
    const now = performance.now.bind(performance);
    // The consumer seems to take a minute for each batch.
    let consumedMs = 0;
    mock.method(performance, 'now', () => now() + consumedMs);
    const sent = { bytes: inPieces(Buffer.concat(Array(20).fill(prose))), filename: 'a.txt', mediaType: '' };
    for await (const _ of unhurried.chunks('proj', sent, CHUNKING, new AbortController().signal)) consumedMs += 60_000;
    assert.ok(consumedMs >= 120_000);
  });

  test('a document reader refuses a document when all its turns together take too long', async ({ mock }) => {
    // Each turn seems to take six seconds: none is too long, but there are more than ten.
    let turns = 0;
    mock.method(performance, 'now', () => 6_000 * turns++);
    await assertRefused(readAll(unhurried, Buffer.concat(Array(40).fill(prose))), 'invalid_file', /longer than/);
  });
});

describe('a file made to end the process', () => {
  test('by a cell beyond the last of a sheet is refused before it is read', async () => {
    const refused = ['<row r="1"><c r="ZZZZZZ99999999"><v>1</v></c></row>', '<row r="1048577"><c><v>1</v></c></row>'];
    for (const rows of [...refused, '<row r="1"><c r="XFE1"><v>1</v></c></row>']) {
      await assertRefused(
        readAll(shared, makeZip(xlsxParts({ Sheet: rows }))),
        'invalid_file',
        /XFD1048576 is the last/,
      );
    }
    const last = '<row r="1"><c r="XFD1"><v>16384</v></c></row>';
    assert.match(await readText(shared, makeZip(xlsxParts({ Sheet: last }))), /16384/);
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
    const before = await listChildren();
    const source = hangingSource('text');
    const reading = readAll(reader, source.bytes);
    await source.asked.promise;
    process.kill(await findNewChild(before), 'SIGSEGV');
    await assert.rejects(reading, ChildCrashedError);
    assert.equal(await readText(reader, 'next'), 'next');
  });
});

describe('projects', () => {
  test('take turns: slow files of one do not keep another from being read', async () => {
    const controller = new AbortController();
    const slow = Array.from({ length: 20 }, () => hangingSource('text'));
    const reading = slow.map(({ bytes }) => readAll(shared, bytes, { project: 'slow', signal: controller.signal }));
    const over = Promise.all(reading.map((each) => assert.rejects(each, /enough/)));
    await slow[0]?.asked.promise;
    assert.equal(await readText(shared, 'prompt', { project: 'other' }), 'prompt');
    controller.abort(new Error('enough'));
    await over;
  });
});

/** The process ids of the children of this process that read documents. */
async function listChildren(): Promise<ReadonlySet<number>> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  const processes = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  const parents = new Map(processes.map(([pid, parent]) => [pid, parent]));
  const isOwn = (pid: string | undefined): boolean =>
    pid !== undefined && (pid === String(process.pid) || isOwn(parents.get(pid)));
  const own = processes.filter(([pid, , ...args]) => args.join(' ').includes('read-program.ts') && isOwn(pid));
  return new Set(own.map(([pid]) => Number(pid)));
}

/** The only one that was not there before. */
async function findNewChild(before: ReadonlySet<number>): Promise<number> {
  const [pid, ...others] = [...(await listChildren())].filter((child) => !before.has(child));
  assert.deepEqual(others, []);
  return pid ?? assert.fail('there is no new child');
}

describe('the child of a document reader', () => {
  test('a document reader lowers the priority of its child when nothing else is asked for', async () => {
    const reader = createDocumentReader({ children: 1 });
    try {
      const before = await listChildren();
      await readText(reader, 'text');
      assert.equal(getPriority(await findNewChild(before)), constants.priority.PRIORITY_BELOW_NORMAL);
    } finally {
      await reader.close();
    }
  });
});

describe('an abort', () => {
  const reason = new Error('enough');

  test('before the start takes nothing from the source', async () => {
    const source = countedSource(prose);
    await assert.rejects(readAll(shared, source.bytes, { signal: AbortSignal.abort(reason) }), reason);
    assert.equal(source.taken, 0);
  });

  test('ends a document whose source hangs, and frees its child', async () => {
    const controller = new AbortController();
    const source = hangingSource('text');
    const reading = readAll(single, source.bytes, { signal: controller.signal });
    await source.asked.promise;
    controller.abort(reason);
    await assert.rejects(reading, reason);
    assert.equal(await readText(single, 'next'), 'next');
  });

  test('an abort ends the child that parses the document, and the next document is read', async () => {
    await using reader = openReader({ children: 1 });
    const before = await listChildren();
    await readText(reader, 'first');
    const pid = await findNewChild(before);
    const controller = new AbortController();
    const source = countedSource(Buffer.from(ENDLESS_PAGE), 1);
    const reading = readAll(reader, source.bytes, { filename: 'a.html', signal: controller.signal });
    while (!source.closed) await new Promise(setImmediate);
    controller.abort('any value');
    await assert.rejects(reading, (error) => error === 'any value');
    const hasGone = async () => ((await listChildren()).has(pid) ? undefined : true);
    assert.ok(await poll(hasGone, TIMEOUT_MS), 'the child has ended');
    assert.equal(await readText(reader, 'next'), 'next');
  });

  test('ends a document that waits for a child, and leaves the one that has it', async () => {
    const controller = new AbortController();
    const first = hangingSource('text');
    const other = new AbortController();
    const reading = readAll(single, first.bytes, { signal: other.signal });
    await first.asked.promise;
    const waiting = readAll(single, 'text', { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(waiting, reason);
    other.abort(reason);
    await assert.rejects(reading, reason);
  });

  test('frees the child of a consumer that never comes back', async () => {
    const controller = new AbortController();
    const sent = { bytes: countedSource(prose).bytes, filename: 'a.txt', mediaType: '' };
    const batches = single.chunks('proj', sent, CHUNKING, controller.signal)[Symbol.asyncIterator]();
    await batches.next();
    controller.abort(reason);
    assert.equal(await readText(single, 'next'), 'next');
    await assert.rejects(batches.next(), reason);
  });
});

describe('closing the reader', () => {
  test('breaks off what is being read, and what waits', async () => {
    const reader = openReader({ children: 1 });
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

  test('a process ends when nobody closes its document reader, whose idle child would live for a day', async () => {
    const program = `
      import { createDocumentReader } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};
      const bytes = (async function* () { yield Buffer.from('some text'); })();
      const source = { bytes, filename: 'a.txt', mediaType: '' };
      const chunking = { chunkTokens: 100, overlapTokens: 0 };
      const reader = createDocumentReader({ givesWay: false, idleMs: 86_400_000 });
      for await (const batch of reader.chunks('proj', source, chunking, new AbortController().signal)) {
        console.log(batch[0].text);
      }`;
    const args = ['--input-type=module', '-e', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: TIMEOUT_MS });
    assert.equal(stdout, 'some text\n');
  });
});
