import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { readSlowly } from '../../../../test/support/slow-readers.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

test('the server keeps less than one reader needs for four slow readers of a run of 100,000 words', async () => {
  const { grown, wireBytes } = await readSlowly(platform, 100_000);
  // All of it for one reader alone would be 17 MB.
  assert.ok(grown < wireBytes, `${Math.round(grown / 1e6)} MB more for four readers that do not read`);
});
