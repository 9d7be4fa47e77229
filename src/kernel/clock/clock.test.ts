import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock, systemClock } from './clock.ts';

test('the system clock tells the time', () => {
  assert.ok(Math.abs(systemClock.now().getTime() - Date.now()) < 1000);
});

test('a manual clock moves only when told, and hands out dates that nobody else can change', () => {
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'));
  clock.now().setFullYear(1999);
  assert.equal(clock.now().toISOString(), '2026-01-01T00:00:00.000Z');
  clock.advance(1500);
  assert.equal(clock.now().toISOString(), '2026-01-01T00:00:01.500Z');
  clock.set(new Date(0));
  assert.equal(clock.now().getTime(), 0);
});

test('a manual clock fires timers as it passes them, earliest first, also those that are set meanwhile', () => {
  const clock = createManualClock(new Date(0));
  const fired: string[] = [];
  const note = (name: string) => fired.push(`${name} at ${clock.now().getTime()}`);
  clock.setTimer(() => note('late'), 3_000);
  clock.setTimer(() => {
    note('early');
    clock.setTimer(() => note('chained'), 1_000);
  }, 1_000);
  clock.setTimer(() => note('cancelled'), 1_500).cancel();
  clock.advance(999);
  assert.deepEqual(fired, []);
  clock.advance(1_501);
  assert.deepEqual(fired, ['early at 1000', 'chained at 2000']);
  clock.advance(-2_000);
  clock.set(new Date(3_000));
  assert.deepEqual(fired.slice(2), ['late at 3000']);
  assert.equal(clock.now().getTime(), 3_000);
});

test('a timer of the system fires once, unless it is cancelled', async () => {
  const fired: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  // The timers under test keep no process alive.
  const alive = setTimeout(() => undefined, 60_000);
  systemClock.setTimer(() => fired.push('cancelled'), 1).cancel();
  systemClock.setTimer(() => fired.push('kept'), 1);
  systemClock.setTimer(resolve, 20);
  await promise;
  clearTimeout(alive);
  assert.deepEqual(fired, ['kept']);
});
