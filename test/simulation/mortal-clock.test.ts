import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMortalClock } from './mortal-clock.ts';

test('a mortal clock fires its timers until it ends, and tells the time of its end after that', () => {
  const clock = createMortalClock(new Date(1_000));
  const fired: string[] = [];
  clock.setTimer(() => fired.push('before'), 10);
  clock.setTimer(() => fired.push('after'), 30);
  clock.set(new Date(1_020));
  clock.end();
  clock.setTimer(() => fired.push('late'), 1);
  clock.set(new Date(2_000));
  assert.deepEqual([fired, clock.now().getTime(), clock.elapsedMs()], [['before'], 1_020, 20]);
});
