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
