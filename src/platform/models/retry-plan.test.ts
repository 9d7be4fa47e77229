import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sleep } from './retry-plan.ts';

function startSleep(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const state = { isOver: false };
  const slept = sleep(1_000, undefined).then(() => {
    state.isOver = true;
  });
  return { state, slept };
}

test('a pause between attempts is over at its last millisecond and not before', async (t) => {
  const { state, slept } = startSleep(t);
  t.mock.timers.tick(999);
  await new Promise(setImmediate);
  assert.equal(state.isOver, false);
  t.mock.timers.tick(1);
  await slept;
  assert.equal(state.isOver, true);
});
