import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitDue } from './split-due.ts';

const now = new Date(10_000);
const at = (ms: number) => ({ at: new Date(ms) });
const split = (...times: number[]) => {
  const { due, nextInMs } = splitDue(times.map(at), (row) => row.at, now);
  return [due.map((row) => row.at.getTime()), nextInMs];
};

test('what is due by now is told from what is still to come', () => {
  assert.deepEqual(split(), [[], undefined]);
  assert.deepEqual(split(1, 10_000), [[1, 10_000], undefined]);
  assert.deepEqual(split(1, 10_001, 20_000), [[1], 1]);
  assert.deepEqual(split(12_500), [[], 2_500]);
});

test('what has no time is due', () => {
  assert.deepEqual(
    splitDue([{ at: null }], (row) => row.at, now),
    { due: [{ at: null }], nextInMs: undefined },
  );
});
