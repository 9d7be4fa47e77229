import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TSchema } from 'typebox';
import type { ApiError } from './errors.ts';
import { closedObject, component, componentOf, failsWith, missingFailsWith, nullable, oneOf } from './schema.ts';
import { Type } from './type-builder.ts';
import { createValidators, type RequestPart, refusalOf } from './validation.ts';

const Message = component('Message', closedObject({ role: oneOf(['user', 'system']), text: Type.String() }));
const validators = createValidators(new Map([['Message', componentOf(Message)?.schema as TSchema]]));

const Body = closedObject({
  name: Type.String({ minLength: 1, maxLength: 5, ...failsWith('invalid_name'), ...missingFailsWith('name_required') }),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
  kind: Type.Optional(oneOf(['a', 'b'])),
  note: Type.Optional(nullable(Type.String({ minLength: 2 }))),
  slug: Type.Optional(Type.String({ pattern: '^[a-z]+$', ...failsWith('invalid_slug') })),
  messages: Type.Optional(Type.Array(Message, { maxItems: 2 })),
  'a/b~c': Type.Optional(Type.Boolean()),
});

describe('a refusal names the member, says what would be right, and has the code that the schema gives', () => {
  const cases: readonly (readonly [body: unknown, code: string, param: string | undefined, message: RegExp])[] = [
    [{}, 'name_required', 'name', /^`name` is required\.$/],
    [{ name: '' }, 'invalid_name', 'name', /^`name` must not be empty\.$/],
    [{ name: 'longer' }, 'invalid_name', 'name', /^`name` must have at most 5 characters\.$/],
    [{ name: 5 }, 'invalid_name', 'name', /^`name` must be string\.$/],
    [{ name: 'a', count: '5' }, 'invalid_request', 'count', /^`count` must be integer\.$/],
    [{ name: 'a', count: 1.5 }, 'invalid_request', 'count', /^`count` must be integer\.$/],
    [{ name: 'a', count: 10 }, 'invalid_request', 'count', /^`count` must be <= 9\.$/],
    [{ name: 'a', kind: 'c' }, 'invalid_request', 'kind', /^`kind` must be one of "a", "b"\.$/],
    [{ name: 'a', note: 'x' }, 'invalid_request', 'note', /^`note` must have at least 2 characters\.$/],
    [{ name: 'a', note: 5 }, 'invalid_request', 'note', /^`note` must be string or null\.$/],
    [{ name: 'a', slug: 'A!' }, 'invalid_slug', 'slug', /^`slug` must match pattern/],
    [
      { name: 'a', nmae: 'b' },
      'invalid_request',
      'nmae',
      /^`nmae` is not a known member\. Known here: name, count, kind/,
    ],
    [
      { name: 'a', messages: [{ role: 'user' }] },
      'invalid_request',
      'messages.0.text',
      /^`messages\.0\.text` is required/,
    ],
    [
      { name: 'a', messages: [{ role: 'user', text: 'x', to: 1 }] },
      'invalid_request',
      'messages.0.to',
      /not a known member/,
    ],
    [
      { name: 'a', messages: [{ role: 'robot', text: '' }] },
      'invalid_request',
      'messages.0.role',
      /one of "user", "system"/,
    ],
    [{ name: 'a', messages: [[], [], []] }, 'invalid_request', 'messages', /must NOT have more than 2 items/],
    [{ name: 'a', 'a/b~c': 1 }, 'invalid_request', 'a/b~c', /^`a\/b~c` must be boolean\.$/],
    [[], 'invalid_request', undefined, /^The request body must be object\.$/],
    [null, 'invalid_request', undefined, /^The request body must be object\.$/],
  ];
  for (const [body, code, param, message] of cases) {
    test(JSON.stringify(body), () => {
      const refusal = refuse('body', Body, body);
      assert.deepEqual([refusal.code, refusal.detail.param], [code, param]);
      assert.match(refusal.message, message);
    });
  }
});

describe('text of paths and queries becomes what the schema names', () => {
  const Query = Type.Object({
    limit: Type.Optional(Type.Integer({ maximum: 100, default: 20, ...failsWith('invalid_limit') })),
    all: Type.Optional(Type.Boolean()),
    text: Type.Optional(Type.String()),
  });

  test('numbers, booleans and text', () => {
    const query = { limit: '7', all: 'true', text: '7' };
    assert.equal(validators.compile('querystring', Query)(query), true);
    assert.deepEqual(query, { limit: 7, all: true, text: '7' });
  });

  test('what is left out gets its default', () => {
    const query = {};
    assert.equal(validators.compile('querystring', Query)(query), true);
    assert.deepEqual(query, { limit: 20 });
  });

  for (const limit of ['', 'x', '1.5', '101', 'Infinity', '-Infinity', '1e400', 'NaN', '0x', ['1', '2']]) {
    test(`${JSON.stringify(limit)} is no number within the bounds`, () => {
      const refusal = refuse('querystring', Query, { limit });
      assert.deepEqual([refusal.code, refusal.detail.param], ['invalid_limit', 'limit']);
    });
  }

  test('Infinity is text where text is wanted', () => {
    const query = { text: 'Infinity' };
    assert.equal(validators.compile('querystring', Query)(query), true);
    assert.equal(query.text, 'Infinity');
  });
});

describe('a body is taken as it is', () => {
  test('text is no number, and a number no text', () => {
    for (const body of [{ name: 'a', count: '5' }, { name: 5 }, { name: 'a', 'a/b~c': 'true' }]) {
      assert.equal(validators.compile('body', Body)(body), false);
    }
  });

  test('a number that JSON cannot hold is refused', () => {
    const refusal = refuse('body', Body, JSON.parse('{"name": "a", "count": 1e400}'));
    assert.equal(refusal.detail.param, 'count');
  });
});

test('without a violation at hand the refusal is still one', () => {
  for (const errors of [undefined, null, []]) assert.equal(refusalOf(errors, 'body').code, 'invalid_request');
});

function refuse(part: RequestPart, schema: TSchema, data: unknown): ApiError {
  const validate = validators.compile(part, schema);
  assert.equal(validate(data), false, 'it was taken');
  return refusalOf(validate.errors, part);
}
