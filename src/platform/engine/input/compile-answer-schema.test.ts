import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileAnswerSchema, findAnswerProblem } from './compile-answer-schema.ts';

const city = {
  type: 'json' as const,
  schema: { type: 'object', properties: { city: { type: 'string', pattern: '^[A-Z]' } }, required: ['city'] },
};

test('an answer of the schema has no problem; any other is told what is wrong', () => {
  assert.equal(findAnswerProblem('{"city":"Oslo"}', city), undefined);
  assert.match(findAnswerProblem('{"city":"oslo"}', city) ?? '', /answer\.city must match pattern/);
  assert.match(findAnswerProblem('{}', city) ?? '', /must have required property 'city'/);
  assert.equal(findAnswerProblem('Oslo', city), 'it is not JSON');
  assert.equal(findAnswerProblem('anything', { type: 'text' }), undefined);
  assert.equal(findAnswerProblem('[1]', { type: 'json' }), undefined);
});

test('a pattern made to backtrack takes no time', () => {
  const format = { type: 'json' as const, schema: { type: 'string', pattern: '^(a+)+$' } };
  const startedAt = performance.now();
  assert.ok(findAnswerProblem(JSON.stringify(`${'a'.repeat(50_000)}!`), format));
  assert.ok(performance.now() - startedAt < 2_000);
});

test('a pattern that only backtracking could match is refused when the schema is read', () => {
  assert.throws(() => compileAnswerSchema({ type: 'string', pattern: '(a)\\1' }));
});

test('schemas of draft 7 and of 2020-12 are read, whatever they call themselves', () => {
  const tuple = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'string' }] };
  assert.equal(findAnswerProblem('["a"]', { type: 'json', schema: tuple }), undefined);
  assert.ok(findAnswerProblem('[1]', { type: 'json', schema: tuple }));
  const modern = { $schema: 'https://example.com/own', prefixItems: [{ type: 'string' }] };
  assert.ok(findAnswerProblem('[1]', { type: 'json', schema: modern }));
});

test('a schema that would hold the process up is refused at once, and nothing is printed', (t) => {
  const printed = t.mock.method(console, 'error');
  const wide = Array.from({ length: 2_500 }, (_, n) => ({ required: [`a${n}`] }));
  const deep = (levels: number): Record<string, unknown> => (levels === 0 ? {} : { not: deep(levels - 1) });
  const many = Object.fromEntries(wide.map((each, n) => [`p${n}`, each]));
  const startedAt = performance.now();
  assert.throws(() => compileAnswerSchema({ oneOf: wide }), /oneOf has more than/);
  assert.throws(() => compileAnswerSchema({ properties: many }), /more than 1000 parts/);
  assert.throws(() => compileAnswerSchema(deep(3_000)), /nested/);
  assert.ok(performance.now() - startedAt < 500);
  assert.throws(() => compileAnswerSchema({ type: 'nonsense' }));
  assert.equal(printed.mock.callCount(), 0);
});

test('a schema that comes again is not compiled again', () => {
  assert.equal(compileAnswerSchema({ type: 'integer' }), compileAnswerSchema({ type: 'integer' }));
  const first = compileAnswerSchema({ const: 'first' });
  for (let n = 0; n < 100; n += 1) compileAnswerSchema({ const: n });
  assert.notEqual(compileAnswerSchema({ const: 'first' }), first);
});

test('schemas that share an id do not see each other', () => {
  assert.ok(compileAnswerSchema({ $id: 'https://example.com/a', type: 'string' })('text'));
  assert.ok(compileAnswerSchema({ $id: 'https://example.com/a', type: 'integer' })(1));
  assert.throws(() => compileAnswerSchema({ $ref: 'https://example.com/a' }));
});
