import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../../test/support/computed-time.ts';
import { answer } from './program.ts';

test('a check by a pattern that is made to backtrack takes linear time', async () => {
  const schema = JSON.stringify({ type: 'string', pattern: '^(a+)+$' });
  const long = JSON.stringify(`${'a'.repeat(50_000)}!`);
  const ms = await medianComputedMs(() => answer({ kind: 'validate', schema, answer: long }));
  assert.ok(ms < 2_000, `${ms} ms`);
});
