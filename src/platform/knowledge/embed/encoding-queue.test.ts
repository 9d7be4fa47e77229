import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EncodingJob } from './encoding-job.ts';
import { EncodingQueue } from './encoding-queue.ts';

const WORDS_MAX = 128;

/** A queue whose model is counted: a token a word, and a vector that tells its text. */
function openQueue() {
  const passes: (readonly string[])[] = [];
  const finished: number[] = [];
  const jobs = new Map<number, EncodingJob>();
  const countTokens = (text: string) => text.split(' ').length;
  const encoder = {
    countTokens,
    async encode(texts: readonly string[]) {
      passes.push(texts);
      return texts.map((text) => vectorOf(text));
    },
  };
  const queue = new EncodingQueue(encoder, (id, job) => {
    finished.push(id);
    jobs.set(id, job);
  });
  const runAll = async () => {
    while (!queue.empty) await queue.runPass();
  };
  return { queue, passes, finished, jobs, runAll };
}

function vectorOf(text: string): Float32Array {
  const vector = new Float32Array(512);
  vector[[...text].reduce((sum, char) => (sum * 31 + (char.codePointAt(0) ?? 0)) % 512, 0)] = 1;
  return vector;
}

const text = (name: string, words: number) => Array.from({ length: words }, (_, index) => `${name}${index}`).join(' ');
const library = (size: number, words = 20) => Array.from({ length: size }, (_, index) => text(`l${index}x`, words));

describe('a pass', () => {
  test('holds pieces of one length, no more than the model takes well', async () => {
    const { queue, passes, runAll } = openQueue();
    queue.add({
      id: 1,
      project: 'p',
      texts: Array.from({ length: 400 }, (_, index) => text(`t${index}x`, 1 + (index % 50))),
    });
    queue.add({ id: 2, project: 'q', texts: library(200, 1) });
    await runAll();
    for (const pass of passes) {
      const lengths = new Set(pass.map((each) => each.split(' ').length));
      assert.equal(lengths.size, 1);
      const [length = 0] = lengths;
      assert.ok(pass.length <= 64 && pass.length * length <= 512, `${pass.length} of ${length}`);
    }
    assert.equal(passes.flat().length, 600);
  });

  test('takes what is the same once, in a request and among requests', async () => {
    const { queue, passes, jobs, runAll } = openQueue();
    queue.add({ id: 1, project: 'p', texts: ['same', 'other', 'same'] });
    queue.add({ id: 2, project: 'q', texts: ['same'] });
    await runAll();
    assert.deepEqual(passes.flat().toSorted(), ['other', 'same']);
    const vectors = jobs.get(1)?.vectors ?? new Float32Array();
    assert.deepEqual(vectors.subarray(0, 512), vectorOf('same'));
    assert.deepEqual(vectors.subarray(512, 1024), vectorOf('other'));
    assert.deepEqual(vectors.subarray(1024), vectorOf('same'));
    assert.deepEqual(jobs.get(2)?.vectors, vectorOf('same'));
  });

  test('encodes the sentences that overlapping chunks share once', async () => {
    const { queue, passes, jobs, runAll } = openQueue();
    const sentences = library(40, 30).map((each) => `S${each}.`);
    const chunks = [0, 10, 20].map((from) => sentences.slice(from, from + 20).join(' '));
    queue.add({ id: 1, project: 'p', texts: chunks });
    await runAll();
    assert.equal(passes.flat().length, 40);
    const first = jobs.get(1)?.vectors.subarray(0, 512) ?? new Float32Array();
    assert.ok(Math.abs(Math.hypot(...first) - 1) < 1e-6);
  });
});

describe('turns', () => {
  test('are taken by projects, so that a question does not wait for a library, nor for thirty of them', async () => {
    const { queue, finished } = openQueue();
    for (let id = 1; id <= 30; id++)
      queue.add({ id, project: 'big', texts: library(500, 20).map((each) => `${id} ${each}`) });
    await queue.runPass();
    queue.add({ id: 99, project: 'small', texts: [text('q', 7)] });
    await queue.runPass();
    await queue.runPass();
    assert.deepEqual(finished, [99]);
  });

  test('are taken by the requests of one project as well', async () => {
    const { queue, finished } = openQueue();
    queue.add({ id: 1, project: 'p', texts: library(500) });
    await queue.runPass();
    queue.add({ id: 2, project: 'p', texts: [text('q', 7)] });
    await queue.runPass();
    await queue.runPass();
    assert.deepEqual(finished, [2]);
  });

  test('are not taken by a request that was cancelled', async () => {
    const { queue, passes, finished } = openQueue();
    queue.add({ id: 1, project: 'p', texts: library(500) });
    await queue.runPass();
    queue.remove(1);
    assert.ok(queue.empty);
    await queue.runPass();
    assert.equal(passes.length, 1);
    assert.deepEqual(finished, []);
  });
});

test('a text of blanks, and one without end, are finished too', async () => {
  const { queue, finished, runAll } = openQueue();
  queue.add({ id: 1, project: 'p', texts: [' ', text('w', WORDS_MAX * 100)] });
  queue.add({ id: 2, project: 'p', texts: [] });
  await runAll();
  assert.deepEqual(finished.toSorted(), [1, 2]);
});
