import assert from 'node:assert/strict';
import { it } from 'node:test';
import { measureLag } from './measure-lag.ts';

const PERIOD_MS = 20;

it('a stream that is always on time has no lag, whenever it began', () => {
  const { lags } = measureLag([arrive(0, 0, 0, 0), arrive(500, 500, 500, 500)], PERIOD_MS);
  assert.deepEqual([...lags], [0, 0, 0, 0, 0, 0, 0, 0]);
});

it('lateness counts for the words that are late, also when the first one is', () => {
  assert.deepEqual([...measureLag([arrive(0, 7, 0, 30)], PERIOD_MS).lags], [0, 7, 0, 30]);
  assert.deepEqual([...measureLag([arrive(15, 0, 0, 15)], PERIOD_MS).lags], [15, 0, 0, 15]);
});

it('a rate that is not held shows as growing lag', () => {
  assert.deepEqual([...measureLag([arrive(0, 1, 2, 3)], PERIOD_MS).lags], [0, 1, 2, 3]);
});

it('tells apart the words that were due while every stream was open', () => {
  const { lagsAllOpen, openMs } = measureLag([arrive(0, 1, 2, 3), arrive(40, 40, 45, 40)], PERIOD_MS);
  // The second stream opens at 40 and the first closes at 63.
  assert.equal(openMs, 23);
  assert.deepEqual([...lagsAllOpen], [2, 3, 0, 0]);
});

/** The arrival of each word: its due time and so many milliseconds. */
function arrive(...offsets: number[]): Float64Array {
  return Float64Array.from(offsets, (offset, word) => word * PERIOD_MS + offset);
}
