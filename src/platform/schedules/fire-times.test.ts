/** Times of schedules where clocks jump; against an oracle that watches the clock the soak compares more of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compute, show, testWatchedTimes } from '../../../test/support/watched-times.ts';
import { findNextFire } from './fire-times.ts';
import { isTimeZone } from './zone-time.ts';

testWatchedTimes({ zones: 2, years: 1, aroundJumps: 6, anyDay: 2, jumps: 1 });

describe('where the clock jumps', () => {
  const cases: readonly [what: string, cron: string, zone: string, after: string, times: readonly string[]][] = [
    [
      'a time that is left out comes when it jumps, once',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
    ],
    [
      'all that is left out comes together',
      '*/20 2,3 * * *',
      'Europe/Berlin',
      '2026-03-29T00:00Z',
      ['2026-03-29T01:00:00.000Z', '2026-03-29T01:20:00.000Z'],
    ],
    [
      'a time that is shown twice comes the first time',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
    ],
    [
      'between the two it has come already',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-25T01:10Z',
      ['2026-10-26T01:30:00.000Z'],
    ],
    [
      'half an hour',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T00:00Z',
      ['2026-10-03T15:30:00.000Z', '2026-10-04T15:15:00.000Z'],
    ],
    [
      'a whole day',
      '0 12 * * *',
      'Pacific/Apia',
      '2011-12-29T12:00Z',
      ['2011-12-29T22:00:00.000Z', '2011-12-30T10:00:00.000Z', '2011-12-30T22:00:00.000Z'],
    ],
  ];
  for (const [what, cron, zone, after, times] of cases) {
    test(what, () => {
      const last = Date.parse(times.at(-1) ?? '');
      assert.deepEqual(show(compute(cron, zone, Date.parse(after), last)), times);
    });
  }
});

test('findNextFire gives nothing when an expression names a time that never comes', () => {
  for (const cron of ['0 0 31 2 *', '0 0 30,31 2 *', '0 0 31 4,6,9,11 *', '0 0 31W 2 *', '0 0 30 2 +MON']) {
    assert.equal(findNextFire(cron, 'Europe/Berlin', new Date('2026-03-28T12:00Z')), undefined, cron);
  }
  assert.equal(findNextFire('0 0 29 2 *', 'UTC', new Date('2096-03-01'))?.toISOString(), '2104-02-29T00:00:00.000Z');
});

test('a zone is a name of the IANA database', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'Asia/Calcutta'])
    assert.ok(isTimeZone(zone));
  for (const zone of ['', 'Mars/Base', '+02:00', '-05', 'Europe', '../../etc/passwd', 'UTC\0'])
    assert.ok(!isTimeZone(zone), zone);
});
