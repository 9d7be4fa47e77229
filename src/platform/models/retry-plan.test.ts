import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pause } from './retry-plan.ts';

function startPause(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const state = { isOver: false };
  const paused = pause(1_000, undefined).then(() => {
    state.isOver = true;
  });
  return { state, paused };
}

test('a pause between attempts is over at its last millisecond and not before', async (t) => {
  const { state, paused } = startPause(t);
  t.mock.timers.tick(999);
  await new Promise(setImmediate);
  assert.equal(state.isOver, false);
  t.mock.timers.tick(1);
  await paused;
  assert.equal(state.isOver, true);
});
