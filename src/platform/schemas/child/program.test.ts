import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer } from './program.ts';

function problemOf(schema: object): string | undefined {
  const result = answer({ kind: 'compile', schema: JSON.stringify(schema) });
  assert.equal(result.kind, 'compiled');
  return 'problem' in result && typeof result.problem === 'object' ? result.problem.problem : undefined;
}

function check(schema: object, text: string): string | undefined {
  const result = answer({ kind: 'validate', schema: JSON.stringify(schema), answer: text });
  assert.equal(result.kind, 'validated');
  return 'problem' in result && typeof result.problem === 'string' ? result.problem : undefined;
}

const city = { type: 'object', properties: { city: { type: 'string', pattern: '^[A-Z]' } }, required: ['city'] };

test('an answer of the schema has no problem; any other is told what is wrong', () => {
  assert.equal(check(city, '{"city":"Oslo"}'), undefined);
  assert.match(check(city, '{"city":"oslo"}') ?? '', /answer\.city must match pattern/);
  assert.match(check(city, '{}') ?? '', /must have required property 'city'/);
  assert.equal(check(city, 'Oslo'), 'it is not JSON');
});

test('a check by a pattern that is made to backtrack finds that a long answer does not match', () => {
  const answer = JSON.stringify(`${'a'.repeat(50_000)}!`);
  assert.match(check({ type: 'string', pattern: '^(a+)+$' }, answer) ?? '', /must match pattern/);
});

test('a pattern that only backtracking could match is refused, with its place', () => {
  const schema = { properties: { a: { type: 'string', pattern: '(a)\\1' } } };
  const result = answer({ kind: 'compile', schema: JSON.stringify(schema) });
  assert.deepEqual(result, {
    kind: 'compiled',
    problem: {
      pointer: '/properties/a/pattern',
      problem: 'with a pattern that cannot be used: it refers back to a group, which takes backtracking',
    },
  });
});

test('schemas of draft 7 and of 2020-12 are read, whatever they call themselves', () => {
  const tuple = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'string' }] };
  assert.equal(check(tuple, '["a"]'), undefined);
  assert.ok(check(tuple, '[1]'));
  assert.ok(check({ $schema: 'https://example.com/own', prefixItems: [{ type: 'string' }] }, '[1]'));
});

test('what is no schema is refused, and nothing is printed', (t) => {
  const printed = t.mock.method(console, 'error');
  assert.match(
    problemOf({ type: 'nonsense' }) ?? '',
    /no JSON Schema: the value there must be equal to one of the allowed values/,
  );
  assert.match(problemOf({ $ref: 'https://example.com/other' }) ?? '', /no JSON Schema.*other/);
  assert.match(problemOf({ $ref: '#/$defs/none' }) ?? '', /no JSON Schema/);
  assert.equal(printed.mock.callCount(), 0);
});

test('schemas that share an id do not see each other', () => {
  assert.equal(check({ $id: 'https://example.com/a', type: 'string' }, '"text"'), undefined);
  assert.equal(check({ $id: 'https://example.com/a', type: 'integer' }, '1'), undefined);
  assert.ok(problemOf({ $ref: 'https://example.com/a' }));
  const draft = 'https://json-schema.org/draft/2020-12/schema';
  assert.match(check({ $id: draft, type: 'integer' }, '"text"') ?? '', /must be integer/);
  assert.match(problemOf({ type: 'none of them' }) ?? '', /no JSON Schema/);
  assert.match(check({ type: 'string' }, '1') ?? '', /must be string/);
});

test('a schema cannot have its answers checked later than they are used', () => {
  assert.match(check({ $async: true, type: 'integer' }, '"text"') ?? '', /must be integer/);
  assert.match(problemOf({ $ref: '#/$defs/a', $defs: { a: { $async: true, type: 'integer' } } }) ?? '', /async/);
});

test('members that every object inherits are not taken for the answer’s own', () => {
  assert.ok(check({ type: 'object', required: ['toString'] }, '{}'));
  assert.ok(check(JSON.parse('{"type":"object","required":["__proto__"]}'), '{}'));
  assert.equal(check({ type: 'object', properties: { constructor: { type: 'string' } } }, '{}'), undefined);
});

test('a format is a hint: answers are not checked by it', () => {
  assert.equal(check({ type: 'string', format: 'email' }, '"nobody"'), undefined);
});

test('an answer that nests deeper than the stack has no match, and no crash', () => {
  const list = { type: 'array', items: { $ref: '#' } };
  assert.equal(check(list, `${'['.repeat(500)}${']'.repeat(500)}`), undefined);
  assert.match(check(list, `${'['.repeat(200_000)}${']'.repeat(200_000)}`) ?? '', /nests too deeply|not JSON/);
});
