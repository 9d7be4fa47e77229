import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../test/support/computed-time.ts';
import { scrubText } from './redact.ts';

test('scrubText takes less than 1 s of processor time for 400,000 characters that nearly are credentials', async () => {
  const text = `${'eyJ'.repeat(20_000)}${'sk-'.repeat(20_000)}${'://a:'.repeat(20_000)}${'authorization'.repeat(10_000)}`;
  const ms = await medianComputedMs(() => scrubText(text));
  assert.ok(ms < 1_000, `${ms} ms`);
});
