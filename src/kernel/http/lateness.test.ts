/** On an event loop whose clock and timer are the test's. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { createLatenessMonitor, type LatenessMonitor, SAMPLE_MS, WINDOW_MS } from './lateness.ts';

const LIMIT_MS = 240;
const PAUSE_MS = 350;

let nowMs: number;
let monitor: LatenessMonitor;
beforeEach(() => {
  nowMs = 0;
  mock.timers.enable({ apis: ['setInterval'] });
  mock.method(performance, 'now', () => nowMs);
  monitor = createLatenessMonitor(LIMIT_MS);
  monitor.start();
});
afterEach(() => {
  monitor.stop();
  mock.restoreAll();
  mock.timers.reset();
});

describe('the monitor finds the loop overloaded', () => {
  test('when blocks longer than the limit follow one upon the other', () => {
    holdUp(WINDOW_MS, LIMIT_MS + 2 * SAMPLE_MS);
    assert.equal(monitor.isOverloaded(), true);
  });

  test('when blocks longer than the limit leave the loop less than half of the time', () => {
    for (const endMs = nowMs + 2 * WINDOW_MS; nowMs < endMs; ) {
      block(LIMIT_MS + 3 * SAMPLE_MS);
      fireTimer();
      runFree(2 * SAMPLE_MS);
    }
    assert.equal(monitor.isOverloaded(), true);
  });

  test('while a second block lasts and the timer has not fired', () => {
    holdUp(1, WINDOW_MS / 2);
    assert.equal(monitor.isOverloaded(), false);
    block(LIMIT_MS + 2 * SAMPLE_MS);
    assert.equal(monitor.isOverloaded(), true);
  });

  test('when blocks are longer than a limit of a whole window', () => {
    const lenient = createLatenessMonitor(WINDOW_MS);
    lenient.start();
    holdUp(2 * WINDOW_MS, WINDOW_MS + 3 * SAMPLE_MS);
    assert.equal(lenient.isOverloaded(), true);
    lenient.stop();
  });

  test('until the loop has run freely for half of the window', () => {
    holdUp(WINDOW_MS, LIMIT_MS + 2 * SAMPLE_MS);
    assert.equal(monitor.isOverloaded(), true);
    runFree(WINDOW_MS / 4);
    assert.equal(monitor.isOverloaded(), true);
    runFree(WINDOW_MS / 2);
    assert.equal(monitor.isOverloaded(), false);
  });

  test('for no longer than that after blocks that were longer than the window', () => {
    holdUp(2 * WINDOW_MS, (3 * WINDOW_MS) / 2);
    assert.equal(monitor.isOverloaded(), true);
    runFree((3 * WINDOW_MS) / 4);
    assert.equal(monitor.isOverloaded(), false);
  });
});

describe('the monitor does not find the loop overloaded', () => {
  test('while the loop runs freely', () => {
    runFree(WINDOW_MS);
    assert.equal(monitor.isOverloaded(), false);
  });

  for (const pauseMs of [PAUSE_MS, 2 * WINDOW_MS]) {
    test(`after one pause of ${pauseMs} ms`, () => {
      block(pauseMs);
      assert.equal(monitor.isOverloaded(), false);
      fireTimer();
      assert.equal(monitor.isOverloaded(), false);
    });
  }

  test('when pauses are rare', () => {
    for (let pauses = 0; pauses < 2; pauses += 1) {
      runFree(0.6 * WINDOW_MS);
      block(PAUSE_MS);
      assert.equal(monitor.isOverloaded(), false);
      fireTimer();
    }
  });

  test('when all blocks are below its limit', () => {
    const lenient = createLatenessMonitor(4 * PAUSE_MS);
    lenient.start();
    holdUp(WINDOW_MS, PAUSE_MS);
    assert.equal(monitor.isOverloaded(), true);
    assert.equal(lenient.isOverloaded(), false);
    lenient.stop();
  });

  test('when the blocks came before it was started or after it was stopped', () => {
    monitor.stop();
    holdUp(WINDOW_MS, PAUSE_MS);
    assert.equal(monitor.isOverloaded(), false);
    monitor.start();
    assert.equal(monitor.isOverloaded(), false);
    holdUp(WINDOW_MS, PAUSE_MS);
    assert.equal(monitor.isOverloaded(), true);
    monitor.stop();
    monitor.start();
    assert.equal(monitor.isOverloaded(), false);
  });
});

/** Time in which nothing else runs. */
function block(ms: number): void {
  nowMs += ms;
}

/** A timer that is due fires once, however late it is. */
function fireTimer(): void {
  mock.timers.tick(SAMPLE_MS);
}

/** One block after the other for this long. */
function holdUp(ms: number, blockMs: number): void {
  for (const endMs = nowMs + ms; nowMs < endMs; ) {
    block(blockMs);
    fireTimer();
  }
}

/** Time in which the loop has nothing to do. */
function runFree(ms: number): void {
  for (const endMs = nowMs + ms; nowMs < endMs; ) {
    nowMs += SAMPLE_MS;
    fireTimer();
  }
}
