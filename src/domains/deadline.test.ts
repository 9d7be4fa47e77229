import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHANGE_MS, READ_MS, startDeadline } from './deadline.ts';

test('callers are kept less than two seconds by a read, and less than five by a change', () => {
  assert.ok(READ_MS < 2_000);
  assert.ok(CHANGE_MS < 5_000);
});

test('startDeadline counts down to 1 ms', (t) => {
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  const deadline = startDeadline(4_000);
  assert.equal(deadline.leftMs, 4_000);
  nowMs += 1_500;
  assert.equal(deadline.leftMs, 2_500);
  nowMs += 10_000;
  assert.equal(deadline.leftMs, 1);
});
