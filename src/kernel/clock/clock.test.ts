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
