import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { computedMs, medianOfThree } from '../../../../test/support/computed-time.ts';
import { makeForeignRun } from '../../../../test/support/foreign-runs.ts';
import { startPlatform } from '../../../../test/support/platform.ts';

const platform = await startPlatform();
after(() => platform.close());

// With the 120 ms that the replica is given at most (cancel-turn.test.ts), it is 200 ms.
test('cancelling a run of a replica that does not answer takes less than 80 ms of computing', async (t) => {
  const ms = await medianOfThree(async () => {
    const { smith, key } = await makeForeignRun(platform, t, async () => {});
    const startMs = computedMs();
    const { status } = await smith.cancel(key.runId);
    assert.equal(status, 200);
    return computedMs() - startMs;
  });
  assert.ok(ms < 80, `${ms} ms`);
});
