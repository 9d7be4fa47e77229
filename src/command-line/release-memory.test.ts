import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { releaseMemory, releaseMemoryAtRest } from './release-memory.ts';

const LOOK_EVERY_MS = 100;
const MEBIBYTE = 1_048_576;

function keepBusy(forMs: number): void {
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs);
}

test('memory is released at the first rest, and once more when a process that grew has come to rest', async (t) => {
  let released = 0;
  const atRest = releaseMemoryAtRest(() => {
    released += 1;
  }, LOOK_EVERY_MS);
  t.after(() => atRest.stop());
  keepBusy(2 * LOOK_EVERY_MS);
  assert.equal(released, 0, 'it was busy from the start');
  while (released === 0) await wait(LOOK_EVERY_MS);
  await wait(3 * LOOK_EVERY_MS);
  assert.equal(released, 1, 'it came to rest, and did not grow');
  const grown = Buffer.alloc(64 * MEBIBYTE, 'x');
  for (let looks = 0; looks < 5; looks += 1) {
    keepBusy(LOOK_EVERY_MS / 2);
    await wait(LOOK_EVERY_MS / 2);
  }
  assert.equal(released, 1, 'it was busy');
  while (released === 1) await wait(LOOK_EVERY_MS);
  await wait(3 * LOOK_EVERY_MS);
  assert.equal(released, 2, 'it came to rest, and grew no more');
  assert.equal(grown.at(-1), 'x'.charCodeAt(0));
});

test('what nothing refers to any more is given back to the system', () => {
  let garbage: object[] | undefined = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  assert.ok(garbage.length > 0);
  const grown = process.memoryUsage.rss();
  garbage = undefined;
  releaseMemory();
  assert.ok(grown - process.memoryUsage.rss() > 24 * MEBIBYTE, `${grown - process.memoryUsage.rss()} bytes`);
});
