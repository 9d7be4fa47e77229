import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { releaseMemoryNowAndThen } from './release-memory.ts';

const LOOK_EVERY_MS = 100;
const MEBIBYTE = 1_048_576;

/** By what the thread computes: where others have the processors, that takes longer. */
function keepBusy(forMs: number): void {
  const before = process.threadCpuUsage();
  for (let computedMs = 0; computedMs < forMs; ) {
    const { user, system } = process.threadCpuUsage(before);
    computedMs = (user + system) / 1_000;
  }
}

test('releaseMemoryNowAndThen finds by itself when this process is busy and when it rests', async (t) => {
  const done: string[] = [];
  const memory = releaseMemoryNowAndThen({
    afterStart: () => done.push('after the start'),
    atFirstRest: () => done.push('first rest'),
    atRest: () => done.push('rest'),
    lookEveryMs: LOOK_EVERY_MS,
  });
  t.after(() => memory.stop());
  while (done.length === 0) await work();
  for (let looks = 0; looks < 5; looks += 1) await work();
  assert.deepEqual(done, ['after the start'], 'what starting left goes from a process that is busy, too');
  const grown = Buffer.alloc(64 * MEBIBYTE, 'x');
  for (let looks = 0; looks < 5; looks += 1) await work();
  assert.deepEqual(done, ['after the start'], 'it was busy');
  while (done.length < 4) await wait(LOOK_EVERY_MS);
  await wait(5 * LOOK_EVERY_MS);
  const expected = ['after the start', 'first rest', 'rest', 'rest'];
  assert.deepEqual(done, expected, 'it came to rest, once more where that did not help, and grew no more');
  assert.equal(grown.at(-1), 'x'.charCodeAt(0));
});

/** Half of the time between two looks. */
async function work(): Promise<void> {
  keepBusy(LOOK_EVERY_MS / 2);
  await wait(LOOK_EVERY_MS / 2);
}
