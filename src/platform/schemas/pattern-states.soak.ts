import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../test/support/computed-time.ts';
import { estimateStates } from './pattern-states.ts';

test('an estimate of states takes linear time', async () => {
  const ms = await medianComputedMs(() => {
    for (const part of ['(', '(a{9}', '[', '{9', '\\', 'a{1,2}', 'a|']) estimateStates(part.repeat(20_000));
  });
  assert.ok(ms < 500, `${ms} ms`);
});
