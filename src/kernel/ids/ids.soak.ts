import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../test/support/computed-time.ts';
import { mintId } from './ids.ts';

const COUNT = 100_000;

test('mintId takes less than 2 µs of processor time', async () => {
  const ids: string[] = new Array(COUNT);
  const ms = await medianComputedMs(() => {
    for (let index = 0; index < COUNT; index += 1) ids[index] = mintId('obj');
  });
  const microsecondsEach = (ms * 1_000) / COUNT;
  assert.ok(microsecondsEach < 2, `${microsecondsEach} µs`);
});
