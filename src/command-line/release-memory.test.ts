import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { releaseMemory, releaseMemoryNowAndThen } from './release-memory.ts';

const LOOK_EVERY_MS = 100;
const MEBIBYTE = 1_048_576;

function keepBusy(forMs: number): void {
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs);
}

test('memory is released once after the start, and again when a process that grew has come to rest', async (t) => {
  let released = 0;
  let rests = 0;
  const release = () => {
    released += 1;
  };
  const atFirstRest = () => {
    rests += 1;
  };
  const memory = releaseMemoryNowAndThen(release, { atFirstRest, lookEveryMs: LOOK_EVERY_MS });
  t.after(() => memory.stop());
  while (released === 0) await work();
  assert.deepEqual([released, rests], [1, 0], 'what starting left goes from a process that is busy, too');
  const grown = Buffer.alloc(64 * MEBIBYTE, 'x');
  for (let looks = 0; looks < 5; looks += 1) await work();
  assert.deepEqual([released, rests], [1, 0], 'it was busy');
  while (released === 1) await wait(LOOK_EVERY_MS);
  assert.equal(rests, 1);
  await wait(3 * LOOK_EVERY_MS);
  assert.deepEqual([released, rests], [2, 1], 'it came to rest, and grew no more');
  assert.equal(grown.at(-1), 'x'.charCodeAt(0));
});

/** Half of the time between two looks. */
async function work(): Promise<void> {
  keepBusy(LOOK_EVERY_MS / 2);
  await wait(LOOK_EVERY_MS / 2);
}

test('what nothing refers to any more is given back to the system', () => {
  let garbage: object[] | undefined = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  assert.ok(garbage.length > 0);
  const grown = process.memoryUsage.rss();
  garbage = undefined;
  releaseMemory();
  assert.ok(grown - process.memoryUsage.rss() > 24 * MEBIBYTE, `${grown - process.memoryUsage.rss()} bytes`);
});
