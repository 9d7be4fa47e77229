import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../test/support/computed-time.ts';
import { testWatchedTimes } from '../../../test/support/watched-times.ts';
import { findNextFire } from './fire-times.ts';

testWatchedTimes({ zones: 5, years: 10, aroundJumps: 150, anyDay: 60, jumps: Number.POSITIVE_INFINITY });

for (const cron of ['0 0 31 2 *', '0 0 30,31 2 *', '0 0 31 4,6,9,11 *', '0 0 31W 2 *', '0 0 30 2 +MON']) {
  test(`findNextFire computes less than 200 ms when ${cron} never comes`, async () => {
    const tookMs = await medianComputedMs(() => findNextFire(cron, 'Europe/Berlin', new Date('2026-03-28T12:00Z')));
    assert.ok(tookMs < 200, `${Math.round(tookMs)} ms of processor time`);
  });
}
