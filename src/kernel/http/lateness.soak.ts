/** On the event loop of this very process, which the tests hold up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createLatenessMonitor, SAMPLE_MS, WINDOW_MS } from './lateness.ts';

/** Beyond what a busy machine adds by itself. */
const LIMIT_MS = 240;

test('the monitor finds a real event loop overloaded while blocks follow one upon the other, and not after free time', async () => {
  const monitor = createLatenessMonitor(LIMIT_MS);
  monitor.start();
  try {
    await sleep(WINDOW_MS);
    assert.equal(monitor.isOverloaded(), false);
    for (const endMs = performance.now() + WINDOW_MS; performance.now() < endMs; ) {
      block(LIMIT_MS + 2 * SAMPLE_MS);
      // Timers that are due fire between two turns.
      await nextTurn();
      await nextTurn();
    }
    assert.equal(monitor.isOverloaded(), true);
    await sleep(WINDOW_MS);
    assert.equal(monitor.isOverloaded(), false);
    block(2 * WINDOW_MS);
    assert.equal(monitor.isOverloaded(), false);
  } finally {
    monitor.stop();
  }
});

/** Lets nothing else run. */
function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}
