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

test('an alarm rings once, at the first tick at or after its time', () => {
  const { wheel, stepTo } = makeWheel();
  const rung: string[] = [];
  wheel.setAlarm(1012, () => rung.push('a'));
  wheel.setAlarm(1015, () => rung.push('b'));
  wheel.setAlarm(1016, () => rung.push('c'));
  stepTo(1010);
  assert.deepEqual(rung, []);
  stepTo(1015);
  assert.deepEqual(rung, ['a', 'b']);
  stepTo(1020);
  stepTo(1100);
  assert.deepEqual(rung, ['a', 'b', 'c']);
});

test('an alarm for a time gone by rings at the next tick, and one taken back never', () => {
  const { wheel, stepTo } = makeWheel();
  const rung: string[] = [];
  wheel.setAlarm(500, () => rung.push('late'));
  const takeBack = wheel.setAlarm(1005, () => rung.push('never'));
  takeBack();
  takeBack();
  stepTo(1010);
  assert.deepEqual(rung, ['late']);
});

test('an alarm set by a ringing one rings in its turn', () => {
  const { wheel, stepTo } = makeWheel();
  const rung: number[] = [];
  const again = (at: number) => {
    rung.push(at);
    if (at < 1100) wheel.setAlarm(at + 20, () => again(at + 20));
  };
  wheel.setAlarm(1020, () => again(1020));
  for (let now = 1005; now <= 1200; now += 5) stepTo(now);
  assert.deepEqual(rung, [1020, 1040, 1060, 1080, 1100]);
});

test('alarms of any distance ring in time and once each, also after a long stall', () => {
  const distances = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 40 });
  const strides = fc.array(fc.integer({ min: 1, max: 6000 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(distances, strides, (alarms, steps) => {
      const { wheel, clock, stepTo } = makeWheel();
      const rungAt = new Map<number, number>();
      for (const [index, distance] of alarms.entries()) {
        wheel.setAlarm(1000 + distance, () => {
          assert.ok(!rungAt.has(index));
          rungAt.set(index, clock.now);
        });
      }
      let previous = 1000;
      for (const stride of [...steps, 30_000]) {
        const now = previous + stride;
        stepTo(now);
        for (const [index, distance] of alarms.entries()) {
          const due = 1000 + distance;
          const at = rungAt.get(index);
          if (at === now) assert.ok(due <= now);
          // A tick may lie up to 5 ms after the time asked for.
          else if (at === undefined) assert.ok(due > now - 5 || due > now, `due ${due}, now ${now}`);
        }
        previous = now;
      }
      assert.equal(rungAt.size, alarms.length);
    }),
    { numRuns: 200 },
  );
});
