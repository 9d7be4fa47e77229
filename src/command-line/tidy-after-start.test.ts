import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { releaseMemory, tidyAfterStart } from './tidy-after-start.ts';

const LOOK_EVERY_MS = 100;
const MEBIBYTE = 1_048_576;

function keepBusy(forMs: number): void {
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs);
}

test('memory is released once, soon after the start; the rest waits until the process has come to rest', async (t) => {
  const done: string[] = [];
  const tidying = tidyAfterStart({
    release: () => done.push('release'),
    atFirstRest: () => done.push('rest'),
    lookEveryMs: LOOK_EVERY_MS,
  });
  t.after(() => tidying.stop());
  while (done.length === 0) await work();
  for (let looks = 0; looks < 5; looks += 1) await work();
  assert.deepEqual(done, ['release'], 'what starting left goes from a process that is busy, too');
  while (done.length === 1) await wait(LOOK_EVERY_MS);
  await wait(3 * LOOK_EVERY_MS);
  assert.deepEqual(done, ['release', 'rest']);
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
