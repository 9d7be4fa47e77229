/** On the event loop of this very process, which the tests hold up. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createLatenessMonitor, type LatenessMonitor, SAMPLE_MS, WINDOW_MS } from './lateness.ts';

/** Beyond what a busy machine adds by itself. */
const LIMIT_MS = 240;
const PAUSE_MS = 350;

let monitor: LatenessMonitor;
beforeEach(() => {
  monitor = createLatenessMonitor(LIMIT_MS);
  monitor.start();
});
afterEach(() => monitor.stop());

describe('the loop is overloaded', () => {
  test('when one block longer than the limit follows upon the other', async () => {
    await holdUp(WINDOW_MS, LIMIT_MS + 2 * SAMPLE_MS);
    assert.equal(monitor.isOverloaded(), true);
  });

  test('when such blocks leave it less than half of the time', async () => {
    const end = performance.now() + 2 * WINDOW_MS;
    while (performance.now() < end) {
      block(LIMIT_MS + 3 * SAMPLE_MS);
      await runFree(2 * SAMPLE_MS);
    }
    assert.equal(monitor.isOverloaded(), true);
  });

  test('while a second block lasts, before the timer fires', async () => {
    await holdUp(1, WINDOW_MS / 2);
    assert.equal(monitor.isOverloaded(), false);
    block(LIMIT_MS + 2 * SAMPLE_MS);
    assert.equal(monitor.isOverloaded(), true);
  });

  test('by blocks beyond a limit that is longer than a second', async () => {
    const lenient = createLatenessMonitor(WINDOW_MS);
    lenient.start();
    try {
      await holdUp(2 * WINDOW_MS, WINDOW_MS + 3 * SAMPLE_MS);
      assert.equal(lenient.isOverloaded(), true);
    } finally {
      lenient.stop();
    }
  });

  test('until it has run freely for half of the window', async () => {
    await holdUp(WINDOW_MS, LIMIT_MS + 2 * SAMPLE_MS);
    assert.equal(monitor.isOverloaded(), true);
    await runFree(WINDOW_MS / 4);
    assert.equal(monitor.isOverloaded(), true);
    await runFree(WINDOW_MS / 2);
    assert.equal(monitor.isOverloaded(), false);
  });

  test('as soon after blocks that were longer than the window', async () => {
    await holdUp(2 * WINDOW_MS, (3 * WINDOW_MS) / 2);
    assert.equal(monitor.isOverloaded(), true);
    await runFree((3 * WINDOW_MS) / 4);
    assert.equal(monitor.isOverloaded(), false);
  });
});

describe('the loop is not overloaded', () => {
  test('while it runs freely', async () => {
    await runFree(WINDOW_MS);
    assert.equal(monitor.isOverloaded(), false);
  });

  for (const pauseMs of [PAUSE_MS, 2 * WINDOW_MS]) {
    test(`by one pause of ${pauseMs} ms`, async () => {
      block(pauseMs);
      assert.equal(monitor.isOverloaded(), false);
      await letTimersFire();
      assert.equal(monitor.isOverloaded(), false);
    });
  }

  test('by a pause now and again', async () => {
    for (let pauses = 0; pauses < 2; pauses += 1) {
      await runFree(0.6 * WINDOW_MS);
      block(PAUSE_MS);
      assert.equal(monitor.isOverloaded(), false);
    }
  });

  test('by blocks below the limit, however many', async () => {
    const lenient = createLatenessMonitor(4 * PAUSE_MS);
    lenient.start();
    try {
      await holdUp(WINDOW_MS, PAUSE_MS);
      assert.equal(monitor.isOverloaded(), true);
      assert.equal(lenient.isOverloaded(), false);
    } finally {
      lenient.stop();
    }
  });

  test('by what happened before the monitor was started, or after it was stopped', async () => {
    monitor.stop();
    await holdUp(WINDOW_MS, PAUSE_MS);
    assert.equal(monitor.isOverloaded(), false);
    monitor.start();
    assert.equal(monitor.isOverloaded(), false);
    await holdUp(WINDOW_MS, PAUSE_MS);
    assert.equal(monitor.isOverloaded(), true);
    monitor.stop();
    monitor.start();
    assert.equal(monitor.isOverloaded(), false);
  });
});

/** Lets nothing else run. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** One block after the other for this long. */
async function holdUp(ms: number, blockMs: number): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    block(blockMs);
    await letTimersFire();
  }
}

/** Timers that are due fire between two turns. */
async function letTimersFire(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

/** Time in which the loop has nothing to do. */
function runFree(ms: number): Promise<void> {
  return sleep(ms);
}
