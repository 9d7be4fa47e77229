import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  closedObject,
  component,
  componentOf,
  failsWith,
  jsonObject,
  missingFailsWith,
  nullable,
  oneOf,
  propertiesOf,
  readTimestamp,
  timestamp,
} from './schema.ts';
import { Type } from './type-builder.ts';

const asJson = (schema: unknown) => JSON.parse(JSON.stringify(schema)) as unknown;

describe('a component', () => {
  const Point = component('Point', Type.Object({ x: Type.Integer(), y: Type.Integer() }));

  test('shows JSON its name only, and knows its definition', () => {
    assert.deepEqual(asJson(Point), { $ref: 'Point#' });
    assert.deepEqual(Object.keys(Point), ['$ref']);
    const definition = componentOf(Point);
    assert.equal(definition?.name, 'Point');
    assert.deepEqual(asJson(definition?.schema), asJson(Type.Object({ x: Type.Integer(), y: Type.Integer() })));
  });

  test('lends its properties to another', () => {
    assert.deepEqual(Object.keys(propertiesOf(Point)), ['x', 'y']);
  });

  test('keeps its definition inside of a larger schema', () => {
    const line = Type.Object({ from: Point, to: Type.Optional(Point) });
    assert.equal(componentOf(line.properties.from)?.name, 'Point');
  });

  test('is not what an ordinary schema is', () => {
    assert.equal(componentOf(Type.String()), undefined);
    assert.equal(componentOf({ $ref: 'Point#' }), undefined);
  });
});

describe('nullable', () => {
  test('adds null to the type, keeping every rule', () => {
    assert.deepEqual(asJson(nullable(Type.String({ minLength: 1, ...failsWith('invalid_name') }))), {
      type: ['string', 'null'],
      minLength: 1,
      'x-error-code': 'invalid_name',
    });
  });

  test('adds null to an enumeration too', () => {
    assert.deepEqual(asJson(nullable(oneOf(['a', 'b']))), { type: ['string', 'null'], enum: ['a', 'b', null] });
  });

  test('offers a component or null as alternatives', () => {
    const Point = component('Point', Type.Object({}));
    assert.deepEqual(asJson(nullable(Point)), { anyOf: [{ $ref: 'Point#' }, { type: 'null' }] });
  });

  test('takes its own description over the schema’s', () => {
    const schema = nullable(Type.String({ description: 'inner' }), { description: 'outer' });
    assert.deepEqual(asJson(schema), { type: ['string', 'null'], description: 'outer' });
  });
});

test('a closed object refuses members that it does not list; an open one takes any', () => {
  assert.deepEqual(asJson(closedObject({ a: Type.Optional(Type.Null()) })), {
    type: 'object',
    properties: { a: { type: 'null' } },
    additionalProperties: false,
  });
  assert.deepEqual(asJson(jsonObject({ maxProperties: 2 })), {
    type: 'object',
    additionalProperties: true,
    maxProperties: 2,
  });
});

test('a time is a string in the format of RFC 3339, and its description stays', () => {
  assert.deepEqual(asJson(timestamp({ description: 'When.' })), {
    type: 'string',
    format: 'date-time',
    description: 'When.',
  });
});

test('codes are annotations, which JSON Schema ignores', () => {
  assert.deepEqual(asJson(Type.String({ ...failsWith('invalid_name'), ...missingFailsWith('name_required') })), {
    type: 'string',
    'x-error-code': 'invalid_name',
    'x-required-code': 'name_required',
  });
});

test('a leap second is the second after it', () => {
  assert.equal(readTimestamp('2016-12-31T23:59:60.5Z').toISOString(), '2017-01-01T00:00:00.500Z');
  assert.equal(readTimestamp('2016-12-31').toISOString(), '2016-12-31T00:00:00.000Z');
  assert.equal(readTimestamp('1483228800').toISOString(), '2017-01-01T00:00:00.000Z');
  assert.equal(readTimestamp('2016-12-31T23:59:59+00:00').toISOString(), '2016-12-31T23:59:59.000Z');
});
