import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../../test/support/computed-time.ts';
import { splitMarkdown } from './split-markdown.ts';

test('splitMarkdown computes less than 3 s when a text has a megabyte', async () => {
  const text = 'Some words of a long text. '.repeat(40_000);
  const tookMs = await medianComputedMs(() => assert.ok([...splitMarkdown(text, { limit: 4_096 })].length > 200));
  assert.ok(tookMs < 3_000, `${Math.round(tookMs)} ms of processor time`);
});
