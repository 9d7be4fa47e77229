import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assignRolloutSlot } from './assign-rollout-slot.ts';

function slotsFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => assignRolloutSlot(first + index));
}

test('of any hundred smiths in a row exactly N follow a rollout to N percent', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), fc.integer({ min: 0, max: 100 }), (first, percent) => {
      assert.equal(slotsFrom(first, 100).filter((slot) => slot < percent).length, percent);
    }),
  );
});

test('of the first smiths, however many, the share is never off by more than two', () => {
  const slots = slotsFrom(1, 1_000);
  for (let percent = 0; percent <= 100; percent++) {
    let following = 0;
    for (const [index, slot] of slots.entries()) {
      if (slot < percent) following++;
      const share = ((index + 1) * percent) / 100;
      assert.ok(Math.abs(following - share) <= 2, `${following} of ${index + 1} at ${percent} %`);
    }
  }
});
