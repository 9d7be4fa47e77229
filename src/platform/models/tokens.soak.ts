import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computedMs, medianOfThree } from '../../../test/support/computed-time.ts';
import { TokenCounter } from './tokens.ts';

test('counting the tokens of a hundred characters takes about a microsecond of computing', async () => {
  const text = 'The quick brown fox jumps over the lazy dog, {"and": [1, 22, 333]} '.repeat(30_000);
  const us = await medianOfThree(() => {
    const start = computedMs();
    new TokenCounter().add(text);
    return ((computedMs() - start) * 1_000) / (text.length / 100);
  });
  // A tokenizer takes a hundred times as long.
  assert.ok(us < 5, `${us.toFixed(2)} µs`);
});
