import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../../test/support/computed-time.ts';
import { Chunker } from './chunker.ts';

test('Chunker computes less than 20 s when a megabyte has no break', async () => {
  const tookMs = await medianComputedMs(() => {
    const chunker = new Chunker({ chunkTokens: 800, overlapTokens: 0 });
    const chunks = [...chunker.push('ab'.repeat(500_000)), ...chunker.finish()];
    assert.ok(chunks.length > 1);
  });
  assert.ok(tookMs < 20_000, `${Math.round(tookMs)} ms of processor time`);
});
