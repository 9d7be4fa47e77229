import assert from 'node:assert/strict';
import { it } from 'node:test';
import { summarize } from './statistics.ts';

it('percentiles are durations that were seen', () => {
  const durations = Array.from({ length: 200 }, (_, index) => 200 - index);
  assert.deepEqual(summarize(durations), { count: 200, mean: 100.5, p50: 100, p95: 190, p99: 198, max: 200 });
  assert.equal(summarize([7]).p99, 7);
});

it('nothing measured is an error, not a zero', () => {
  assert.throws(() => summarize([]), /nothing was measured/);
});
