import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock, runWithClock, systemClock } from './clock.ts';

test('the system clock tells the time', () => {
  const before = Date.now();
  const now = systemClock.now().getTime();
  assert.ok(before <= now && now <= Date.now());
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

test('a manual clock counts what has elapsed up to where it was latest', () => {
  const clock = createManualClock(new Date(1_000));
  clock.advance(500);
  clock.advance(-200);
  assert.equal(clock.elapsedMs(), 500);
  clock.advance(300);
  assert.equal(clock.elapsedMs(), 600);
});

test('the system clock tells the time of the clock that its async context was given', async () => {
  const clock = createManualClock(new Date(1_000));
  await runWithClock(clock, async () => {
    assert.equal(systemClock.now().getTime(), 1_000);
    await new Promise(setImmediate);
    assert.equal(systemClock.now().getTime(), 1_000, 'after an await');
  });
  assert.ok(systemClock.now().getTime() > 1_000);
});
