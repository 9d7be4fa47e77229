import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WakeUps } from './wake-ups.ts';

test('wake-ups of one channel leave at once and together when many are asked for within 40 ms', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent: string[] = [];
  const wakeUps = new WakeUps(async (channel) => void sent.push(channel));
  for (let n = 0; n < 50; n += 1) wakeUps.wake('feed');
  wakeUps.wake('other');
  assert.deepEqual(sent, ['feed', 'other']);
  t.mock.timers.tick(40);
  assert.deepEqual(sent, ['feed', 'other', 'feed']);
  t.mock.timers.tick(1_000);
  assert.deepEqual(sent, ['feed', 'other', 'feed']);
  wakeUps.close();
});
