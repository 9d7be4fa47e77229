import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testGeneratedSchemas } from '../../../../test/support/checked-instances.ts';
import { computedMs, medianComputedMs, medianOfThree } from '../../../../test/support/computed-time.ts';
import { doublingSchema, hostileSchemas } from '../../../../test/support/hostile-schemas.ts';
import { makeInstance } from './schema-instance.ts';

test('making instances of hostile schemas takes less than 3 s of computing in all', async () => {
  const ms = await medianOfThree(async () => {
    const startMs = computedMs();
    for (const schema of hostileSchemas) await makeInstance(Object(schema), `${'a'.repeat(80)}!`);
    return computedMs() - startMs;
  });
  assert.ok(ms < 3_000, `${ms} ms`);
});

test('making an instance that is not checked takes less than 2 s of computing when references double', async () => {
  const ms = await medianComputedMs(() => makeInstance(Object(doublingSchema), 'x', { isChecked: false }));
  assert.ok(ms < 2_000, `${ms} ms`);
});

testGeneratedSchemas(150);
