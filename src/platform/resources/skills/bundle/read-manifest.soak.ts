import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../../../test/support/computed-time.ts';
import { longTexts } from '../../../../../test/support/long-yaml.ts';
import { readManifest } from './read-manifest.ts';

test('reading a manifest of the largest size takes less than 100 ms of computing, whatever it repeats', async () => {
  for (const yaml of longTexts) {
    const content = Buffer.from(`---\n${yaml}\n---\nText`);
    const ms = await medianComputedMs(() => assert.throws(() => readManifest(content)));
    assert.ok(ms < 100, `${JSON.stringify(yaml.slice(0, 10))}: ${ms} ms`);
  }
});
