import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { deepAnswer as deep, doublingCheck as doubling } from '../../../test/support/hostile-schemas.ts';
import { eventually } from '../../../test/support/turns.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { createForeignSchemas, type ForeignSchemasOptions } from './foreign-schemas.ts';

const ordinary = createForeignSchemas();
after(() => ordinary.stop());

function members<T>(count: number, make: (index: number) => T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, make(index)]));
}

async function withLimits<T>(
  limits: ForeignSchemasOptions['limits'],
  use: (schemas: ReturnType<typeof createForeignSchemas>) => Promise<T>,
): Promise<T> {
  const schemas = createForeignSchemas(limits === undefined ? {} : { limits });
  try {
    return await use(schemas);
  } finally {
    await schemas.stop();
  }
}

test('a schema is refused by its limits, as no schema, or not at all', async () => {
  assert.equal(await ordinary.findProblem('prj_1', { type: 'string' }), undefined);
  const wrong = await ordinary.findProblem('prj_1', { properties: { a: { type: 'text' } } });
  assert.equal(wrong?.pointer, '/properties/a/type');
  const many = await ordinary.findProblem('prj_1', { enum: Array.from({ length: 5_001 }, String) });
  assert.match(many?.problem ?? '', /5000 values/);
});

test('an answer is checked, and told what is wrong with it', async () => {
  const schema = { type: 'object', required: ['a'] };
  assert.equal(await ordinary.findAnswerProblem('prj_1', schema, '{"a":1}'), undefined);
  const found = await ordinary.findAnswerProblem('prj_1', schema, '{}');
  assert.deepEqual(found, { problem: "answer must have required property 'a'", isFinal: false });
});

test('an instance is made by the schema', async () => {
  const make = ordinary.instanceMaker('prj_1');
  assert.deepEqual(await make({ properties: { a: { const: 7 } }, required: ['a'] }, 'x'), { a: 7 });
  assert.equal(await make({ type: 'null' }, 'x'), null);
});

test('a schema that takes longer to compile than it may is refused, and not tried again', async () => {
  const slow = { properties: members(5_000, () => ({ anyOf: [{ type: 'string' }, { type: 'null' }] })) };
  await withLimits({ compileMs: 100 }, async (schemas) => {
    // The child is there, so that the next task waits for nothing.
    await schemas.findAnswerProblem('prj_1', { type: 'null' }, 'null');
    const found = await schemas.findProblem('prj_1', slow);
    assert.deepEqual(found, { pointer: '', problem: 'that takes longer than 0.1 seconds to compile' });
    // Whoever asked a child again would hear that there are none any more.
    await schemas.stop();
    const kept = await schemas.findProblem('prj_1', slow);
    assert.deepEqual(kept, { pointer: '', problem: 'that takes longer than 0.1 seconds to compile' });
  });
});

test('an answer that takes longer to check than it may ends the check for good', async () => {
  await withLimits({ validateMs: 300 }, async (schemas) => {
    assert.equal(await schemas.findProblem('prj_1', doubling), undefined);
    const found = await schemas.findAnswerProblem('prj_1', doubling, deep);
    assert.deepEqual(found, {
      problem: 'it takes longer than 0.3 seconds to check against its schema',
      isFinal: true,
    });
    // The next child has to start first, which a busy machine may make longer than a check may take.
    await eventually(
      async () => (await schemas.findAnswerProblem('prj_1', doubling, '{"a":{"a":1}}')) === undefined || undefined,
      'another answer is checked',
    );
  });
});

test('an answer that takes more memory to check than there is ends its child alone', async () => {
  const megabytes = 1_048_576;
  await withLimits({ heapBytes: 48 * megabytes }, async (schemas) => {
    const answer = JSON.stringify(Array.from({ length: 3_000_000 }, () => []));
    const found = await schemas.findAnswerProblem('prj_1', { type: 'array' }, answer);
    assert.deepEqual(found, {
      problem: 'it takes more memory than there is to check against its schema',
      isFinal: true,
    });
    assert.equal(await schemas.findAnswerProblem('prj_1', { type: 'array' }, '[]'), undefined);
  });
});

test('an instance whose check does not end is made unchecked', async () => {
  const nested = { ...doubling, type: 'object', required: ['a'], properties: { a: { $ref: '#' } } };
  await withLimits({ instanceMs: 1_500 }, async (schemas) => {
    assert.notEqual(await schemas.instanceMaker('prj_1')({ ...nested, not: { const: 1 } }, 'x'), undefined);
  });
});

test('one project’s slow checks do not hold those of another', async () => {
  await withLimits({ validateMs: 60_000 }, async (schemas) => {
    for (const owner of ['prj_1', 'prj_2']) await schemas.findAnswerProblem(owner, { type: 'null' }, 'null');
    const slow = [1, 2, 3].map(() => schemas.findAnswerProblem('prj_1', doubling, deep));
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    void Promise.race(slow).then(over, over);
    assert.equal(await schemas.findAnswerProblem('prj_2', { type: 'null' }, 'null'), undefined);
    assert.equal(isOver, false);
    await schemas.stop();
    for (const outcome of await Promise.allSettled(slow)) assert.equal(outcome.status, 'rejected');
  });
});

test('a check is given up with the turn that it is for', async () => {
  const controller = new AbortController();
  const found = ordinary.findAnswerProblem('prj_1', doubling, deep, controller.signal);
  controller.abort(new Error('cancelled'));
  await assert.rejects(found, /cancelled/);
});

test('without a child a schema is not taken for a bad one', async () => {
  const schemas = createForeignSchemas();
  await schemas.stop();
  await assert.rejects(schemas.findProblem('prj_1', { title: 'after the end' }), (error) => {
    return error instanceof ApiError && error.code === 'service_overloaded';
  });
});
