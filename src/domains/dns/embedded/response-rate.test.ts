import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import { ResponseRate } from './response-rate.ts';

function createRate(perSecond: number, networkLimit?: number) {
  const clock = createManualClock(new Date(0));
  const limit = networkLimit === undefined ? {} : { networkLimit };
  const rate = new ResponseRate({ clock, perSecond, ...limit });
  const judge = (address: string, times = 1) => Array.from({ length: times }, () => rate.judge(address));
  return { clock, judge };
}

test('a network gets its burst, then every other query gets a truncated answer', () => {
  const { judge } = createRate(2);
  assert.deepEqual(judge('192.0.2.1', 8), ['answer', 'answer', 'answer', 'answer', 'drop', 'slip', 'drop', 'slip']);
});

test('what it may ask comes back with time, up to the burst', () => {
  const { judge, clock } = createRate(2);
  judge('192.0.2.1', 5);
  clock.advance(500);
  assert.deepEqual(judge('192.0.2.1', 2), ['answer', 'slip']);
  clock.advance(-10_000);
  assert.deepEqual(judge('192.0.2.1'), ['drop'], 'a clock that steps back gives nothing');
  clock.advance(3_600_000);
  assert.equal(judge('192.0.2.1', 10).filter((verdict) => verdict === 'answer').length, 4);
});

test('addresses of one network share, those of another do not', () => {
  const pairs: [string, string, boolean][] = [
    ['192.0.2.1', '192.0.2.255', true],
    ['192.0.2.1', '192.0.3.1', false],
    ['::ffff:192.0.2.1', '192.0.2.9', true],
    ['2001:db8:0:1200::1', '2001:db8:0:12ff::1', true],
    ['2001:db8:0:1200::1', '2001:db8:0:1300::1', false],
    ['2001:db8::1', '2001:db8::2', true],
    ['2001:db8:0:12::1', '2001:db8:0:1200::1', false],
  ];
  for (const [first, second, isShared] of pairs) {
    const { judge } = createRate(1);
    judge(first, 2);
    assert.equal(judge(second)[0] !== 'answer', isShared, `${first} ${second}`);
  }
});

test('networks are remembered up to a number', () => {
  const { judge } = createRate(1, 2);
  judge('192.0.2.1', 3);
  judge('198.51.100.1');
  judge('203.0.113.1');
  assert.deepEqual(judge('192.0.2.1'), ['answer']);
});
