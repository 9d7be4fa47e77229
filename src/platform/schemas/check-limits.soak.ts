import assert from 'node:assert/strict';
import { test } from 'node:test';
import { medianComputedMs } from '../../../test/support/computed-time.ts';
import { largestSchemas } from '../../../test/support/hostile-schemas.ts';
import { admitSchema } from './check-limits.ts';

test('admitting a schema of the largest size takes less than 100 ms of computing', async () => {
  for (const schema of largestSchemas) {
    const ms = await medianComputedMs(() => admitSchema(schema));
    assert.ok(ms < 100, `${JSON.stringify(schema).slice(0, 40)}: ${ms} ms`);
  }
});
