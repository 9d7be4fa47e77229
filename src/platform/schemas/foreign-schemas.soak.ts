/** While a child works at a hostile schema, this process never computes for long without a pause. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computedMs, medianOfThree } from '../../../test/support/computed-time.ts';
import { deepAnswer, doublingCheck } from '../../../test/support/hostile-schemas.ts';
import { createForeignSchemas, type ForeignSchemas } from './foreign-schemas.ts';

const LIMIT_MS = 1_000;

/** Does the work and tells the longest that this process computed meanwhile without a pause. */
async function longestPauseMs(work: () => Promise<unknown>): Promise<number> {
  let lastMs = computedMs();
  let longestMs = 0;
  const look = () => {
    longestMs = Math.max(longestMs, computedMs() - lastMs);
    lastMs = computedMs();
  };
  const probe = setInterval(look, 5);
  await work().finally(() => clearInterval(probe));
  look();
  return longestMs;
}

async function assertNeverBlocks(work: (schemas: ForeignSchemas) => Promise<unknown>): Promise<void> {
  const ms = await medianOfThree(async () => {
    // A schema of its own each time: what took too long is kept.
    const schemas = createForeignSchemas({ limits: { compileMs: 100, validateMs: 300, instanceMs: 1_500 } });
    try {
      return await longestPauseMs(() => work(schemas));
    } finally {
      await schemas.stop();
    }
  });
  assert.ok(ms < LIMIT_MS, `${ms} ms`);
}

test('compiling a schema that takes too long never blocks the process for 1 s', async () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `p${index}`);
  const properties = Object.fromEntries(names.map((name) => [name, { anyOf: [{ type: 'string' }, { type: 'null' }] }]));
  await assertNeverBlocks((schemas) => schemas.findProblem('prj_1', { properties }));
});

test('checking an answer that takes too long never blocks the process for 1 s', async () => {
  await assertNeverBlocks((schemas) => schemas.findAnswerProblem('prj_1', doublingCheck, deepAnswer));
});

test('making an instance whose check does not end never blocks the process for 1 s', async () => {
  const nested = { ...doublingCheck, type: 'object', required: ['a'], properties: { a: { $ref: '#' } } };
  await assertNeverBlocks((schemas) => schemas.instanceMaker('prj_1')({ ...nested, not: { const: 1 } }, 'x'));
});
