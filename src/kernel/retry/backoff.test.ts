import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Backoff, backoffMs } from './backoff.ts';

const failures = fc.integer({ min: 1, max: 100_000 });
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const delays = fc
  .tuple(fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 0, max: 86_400_000 }))
  .map(([firstMs, more]) => ({ firstMs, longestMs: firstMs + more }));

const exact = (count: number, backoff: Backoff) => backoffMs(count, { ...backoff, jitter: 'none' });

test('the wait doubles with each failure, up to the longest', () => {
  const backoff = { firstMs: 100, longestMs: 5_000 };
  const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((count) => backoffMs(count, backoff));
  assert.deepEqual(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
});

test('the first wait is as long as is asked for, the others lie between it and the longest', () => {
  fc.assert(
    fc.property(failures, delays, (count, backoff) => {
      assert.equal(exact(1, backoff), backoff.firstMs);
      const waitMs = exact(count, backoff);
      assert.ok(waitMs >= backoff.firstMs && waitMs <= backoff.longestMs, `${waitMs}`);
    }),
  );
});

test('a further failure never shortens the wait, and doubles it below the longest', () => {
  fc.assert(
    fc.property(failures, delays, (count, backoff) => {
      const waitMs = exact(count, backoff);
      assert.equal(exact(count + 1, backoff), Math.min(2 * waitMs, backoff.longestMs));
    }),
  );
});

test('half jitter takes away at most half, full jitter at most all; neither adds', () => {
  fc.assert(
    fc.property(failures, delays, random, (count, backoff, value) => {
      const waitMs = exact(count, backoff);
      const half = backoffMs(count, { ...backoff, jitter: 'half' }, () => value);
      const full = backoffMs(count, { ...backoff, jitter: 'full' }, () => value);
      assert.ok(half >= waitMs / 2 && half <= waitMs, `half: ${half} of ${waitMs}`);
      assert.ok(full >= 0 && full <= waitMs, `full: ${full} of ${waitMs}`);
    }),
  );
});

test('jitter spreads over its whole range', (t) => {
  const backoff = { firstMs: 1_000, longestMs: 8_000 };
  const at = (jitter: 'half' | 'full', value: number) => backoffMs(2, { ...backoff, jitter }, () => value);
  assert.deepEqual([at('half', 0), at('half', 0.5)], [1_000, 1_500]);
  assert.deepEqual([at('full', 0), at('full', 0.5)], [0, 1_000]);
  t.mock.method(Math, 'random', () => 0.25);
  assert.equal(
    backoffMs(1, { ...backoff, jitter: 'full' }),
    250,
    'without a source of its own it draws from Math.random',
  );
});

test('a cap below the first delay is the delay', () => {
  assert.equal(backoffMs(1, { firstMs: 500, longestMs: 100 }), 100);
});
