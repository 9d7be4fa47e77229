import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TimerWheel } from './timer-wheel.ts';

/** Far from the real clock's pace, so that the wheel's own timer changes nothing between two steps of a test. */
function makeWheel() {
  const clock = { now: 1000 };
  const wheel = new TimerWheel(() => clock.now);
  const stepTo = (now: number) => {
    clock.now = now;
    wheel.advance();
  };
  return { wheel, clock, stepTo };
}

test('a timer fires once, at the first tick at or after its time', () => {
  const { wheel, stepTo } = makeWheel();
  const fired: string[] = [];
  wheel.setTimer(1012, () => fired.push('a'));
  wheel.setTimer(1015, () => fired.push('b'));
  wheel.setTimer(1016, () => fired.push('c'));
  stepTo(1010);
  assert.deepEqual(fired, []);
  stepTo(1015);
  assert.deepEqual(fired, ['a', 'b']);
  stepTo(1020);
  stepTo(1100);
  assert.deepEqual(fired, ['a', 'b', 'c']);
});

test('a timer for a time gone by fires at the next tick, and a cancelled one never', () => {
  const { wheel, stepTo } = makeWheel();
  const fired: string[] = [];
  wheel.setTimer(500, () => fired.push('late'));
  const cancel = wheel.setTimer(1005, () => fired.push('never'));
  cancel();
  cancel();
  stepTo(1010);
  assert.deepEqual(fired, ['late']);
});

test('a timer set by a firing one fires in its turn', () => {
  const { wheel, stepTo } = makeWheel();
  const fired: number[] = [];
  const again = (at: number) => {
    fired.push(at);
    if (at < 1100) wheel.setTimer(at + 20, () => again(at + 20));
  };
  wheel.setTimer(1020, () => again(1020));
  for (let now = 1005; now <= 1200; now += 5) stepTo(now);
  assert.deepEqual(fired, [1020, 1040, 1060, 1080, 1100]);
});

test('timers of any distance fire in time and once each, also after a long stall', () => {
  const distances = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 40 });
  const strides = fc.array(fc.integer({ min: 1, max: 6000 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(distances, strides, (timers, steps) => {
      const { wheel, clock, stepTo } = makeWheel();
      const firedAt = new Map<number, number>();
      for (const [index, distance] of timers.entries()) {
        wheel.setTimer(1000 + distance, () => {
          assert.ok(!firedAt.has(index));
          firedAt.set(index, clock.now);
        });
      }
      let previous = 1000;
      for (const stride of [...steps, 30_000]) {
        const now = previous + stride;
        stepTo(now);
        for (const [index, distance] of timers.entries()) {
          const due = 1000 + distance;
          const at = firedAt.get(index);
          if (at === now) assert.ok(due <= now);
          // A tick may lie up to 5 ms after the time asked for.
          else if (at === undefined) assert.ok(due > now - 5 || due > now, `due ${due}, now ${now}`);
        }
        previous = now;
      }
      assert.equal(firedAt.size, timers.length);
    }),
    { numRuns: 200 },
  );
});
