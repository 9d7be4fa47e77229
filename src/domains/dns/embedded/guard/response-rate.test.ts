import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../../../kernel/clock/clock.ts';
import { readNetwork } from './client-address.ts';
import { answerClasses, ResponseRate, type ResponseRateOptions } from './response-rate.ts';

function createRate(options: Partial<ResponseRateOptions>) {
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'));
  const rate = new ResponseRate({ clock, perSecond: 0, perSecondOfClass: 0, slip: 2, exempt: [], ...options });
  const times = (count: number, judge: () => string) => Array.from({ length: count }, judge);
  return {
    clock,
    rate,
    network: (address: string, count = 1) => times(count, () => rate.judgeNetwork(address)),
    answers: (name: string, count = 1, type = 1) =>
      times(count, () => rate.judgeAnswer('192.0.2.1', answerClasses.positive, name, type)),
  };
}

test('a network gets its burst, then every other query gets a truncated answer', () => {
  const { network } = createRate({ perSecond: 2 });
  assert.deepEqual(network('192.0.2.1', 8), ['answer', 'answer', 'answer', 'answer', 'drop', 'slip', 'drop', 'slip']);
});

test('each, each third or none of the answers beyond the limit is truncated, as the operator says', () => {
  for (const [slip, expected] of [
    [1, ['slip', 'slip', 'slip', 'slip']],
    [3, ['drop', 'drop', 'slip', 'drop']],
    [0, ['drop', 'drop', 'drop', 'drop']],
  ] as const) {
    assert.deepEqual(createRate({ perSecond: 1, slip }).network('192.0.2.1', 6).slice(2), expected);
  }
});

test('what it may ask comes back with time, up to the burst', () => {
  const { network, clock } = createRate({ perSecond: 2 });
  network('192.0.2.1', 5);
  clock.advance(500);
  assert.deepEqual(network('192.0.2.1', 2), ['answer', 'slip']);
  clock.advance(-10_000);
  assert.deepEqual(network('192.0.2.1'), ['drop'], 'a clock that steps back gives nothing');
  clock.advance(500);
  assert.deepEqual(network('192.0.2.1'), ['answer'], 'and takes no more than a burst');
  clock.advance(3_600_000);
  assert.equal(network('192.0.2.1', 10).filter((verdict) => verdict === 'answer').length, 4);
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
    const { network } = createRate({ perSecond: 1 });
    network(first, 2);
    assert.equal(network(second)[0] !== 'answer', isShared, `${first} ${second}`);
  }
});

test('answers are counted by what they have in common', () => {
  const { answers, rate } = createRate({ perSecondOfClass: 1 });
  assert.deepEqual(answers('www.example.test', 3), ['answer', 'answer', 'drop']);
  assert.deepEqual(answers('www.example.test', 1, 28), ['answer'], 'another type');
  assert.deepEqual(answers('mail.example.test'), ['answer'], 'another name');
  const missing = () => rate.judgeAnswer('192.0.2.1', answerClasses.noName, 'www.example.test', 0);
  assert.deepEqual([missing(), missing(), missing()], ['answer', 'answer', 'drop'], 'another class');
});

test('what is exempt is not limited, and neither is anybody where there is no limit', () => {
  const exempt = [readNetwork('192.0.2.0/25'), readNetwork('2001:db8::/32')].filter((network) => network !== undefined);
  const { network } = createRate({ perSecond: 1, exempt });
  assert.ok(network('192.0.2.1', 5).every((verdict) => verdict === 'answer'));
  assert.ok(network('2001:db8::1', 5).every((verdict) => verdict === 'answer'));
  assert.equal(network('192.0.2.200', 3)[2], 'drop');
  assert.ok(
    createRate({})
      .network('192.0.2.200', 9)
      .every((verdict) => verdict === 'answer'),
  );
});

test('the table keeps its size: those that asked least long make room last', () => {
  const { network, clock } = createRate({ perSecond: 1, tableSize: 4 });
  network('192.0.2.1', 3);
  for (let at = 0; at < 3; at += 1) network(`198.51.${at}.1`);
  assert.deepEqual(network('192.0.2.1'), ['slip'], 'it is still counted');
  clock.advance(10_000);
  for (let at = 3; at < 40; at += 1) network(`198.51.${at}.1`, 2);
  assert.deepEqual(network('192.0.2.1'), ['answer']);
});
