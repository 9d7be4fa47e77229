import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { medianOfThree } from '../../../../test/support/computed-time.ts';
import { makeForeignRun } from '../../../../test/support/foreign-runs.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { timed } from '../../../../test/support/timed.ts';

const platform = await startPlatform();
after(() => platform.close());

test('cancelling a run of a replica that does not answer takes less than 200 ms', async (t) => {
  const ms = await medianOfThree(async () => {
    const { smith, key } = await makeForeignRun(platform, t, async () => {});
    const [answer, tookMs] = await timed(() => smith.cancel(key.runId));
    assert.equal(answer.status, 200);
    return tookMs;
  });
  assert.ok(ms < 200, `took ${ms} ms`);
});
