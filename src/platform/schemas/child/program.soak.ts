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

test('as many properties as OpenAI takes are compiled and checked', () => {
  const names = Array.from({ length: 5_000 }, (_, n) => `property_${n}`);
  const schema = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { anyOf: [{ type: 'string' }, { type: 'null' }] }])),
    required: names,
    additionalProperties: false,
  };
  const value = Object.fromEntries(names.map((name) => [name, null]));
  const check = (checked: object) =>
    answer({ kind: 'validate', schema: JSON.stringify(schema), answer: JSON.stringify(checked) });
  assert.deepEqual(check(value), { kind: 'validated' });
  assert.match(JSON.stringify(check({ ...value, property_4999: 1 })), /answer\.property_4999 must be/);
});
