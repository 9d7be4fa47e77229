import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkInstance, testGeneratedSchemas } from '../../../../test/support/checked-instances.ts';
import { doublingSchema, hostileSchemas } from '../../../../test/support/hostile-schemas.ts';
import type { JsonSchemaOrFlag } from './json-schema.ts';
import { makeInstance } from './schema-instance.ts';

async function assertInstance(schema: JsonSchemaOrFlag, text = 'What is the weather in Oslo?'): Promise<unknown> {
  const value: unknown = await makeInstance(schema, text);
  const problem = checkInstance(schema, value);
  assert.equal(problem, undefined, problem);
  return value;
}

const CASES: Record<string, JsonSchemaOrFlag> = {
  'nested objects': {
    type: 'object',
    properties: {
      name: { type: 'string' },
      address: {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      },
    },
    required: ['name', 'address'],
    additionalProperties: false,
  },
  'a required member that is not described': { type: 'object', required: ['x', 'y'] },
  'arrays with minItems': { type: 'array', items: { type: 'integer', minimum: 2 }, minItems: 4 },
  'unique items': { type: 'array', items: { type: 'string', maxLength: 3 }, minItems: 3, uniqueItems: true },
  'unique items of an enum': { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
  'unique booleans': { type: 'array', items: { type: 'boolean' }, minItems: 2, uniqueItems: true },
  'an empty array': { type: 'array', maxItems: 0 },
  'an array with contains': { type: 'array', items: { type: 'integer' }, contains: { type: 'integer', minimum: 10 } },
  tuples: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, minItems: 2 },
  enums: { enum: [3, 'x', null] },
  'enums with a type': { type: 'string', enum: ['red', 'green'] },
  constants: { type: 'object', properties: { kind: { const: 'circle' } }, required: ['kind'] },
  null: { type: 'null' },
  'a nullable type': { type: ['null', 'string'] },
  'number ranges': { type: 'number', exclusiveMinimum: 1, exclusiveMaximum: 1.5 },
  'integer ranges': { type: 'integer', exclusiveMinimum: -5, maximum: -4 },
  'a maximum alone': { type: 'integer', maximum: -17 },
  multiples: { type: 'number', multipleOf: 0.1, minimum: 0.25 },
  'integer multiples': { type: 'integer', multipleOf: 7, minimum: 8, maximum: 20 },
  'long strings': { type: 'string', minLength: 200 },
  'short strings': { type: 'string', maxLength: 2 },
  'exact strings': { type: 'string', minLength: 5, maxLength: 5 },
  patterns: { type: 'string', pattern: '^[A-Z]{3}-\\d{4}(?:-x+)?$' },
  'patterns with conditions at their beginning': {
    type: 'string',
    pattern: "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9-]*\\.)+[A-Za-z]{2,}$",
  },
  'repeated groups with a repetition in them': { type: 'string', pattern: '^([a-z]+-)+[0-9]+$' },
  'patterns with alternatives': { type: 'string', pattern: '^(low|high)\\.[a-f0-9]{8}$' },
  anyOf: { anyOf: [{ type: 'integer', minimum: 9 }, { type: 'string' }] },
  'anyOf with an impossible branch': { anyOf: [false, { type: 'boolean' }] },
  'oneOf that overlaps': { oneOf: [{ type: 'number' }, { type: 'integer' }, { type: 'string', maxLength: 1 }] },
  'anyOf beside properties': {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'integer' } },
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  allOf: {
    allOf: [
      { type: 'object', properties: { a: { type: 'integer', minimum: 1 } }, required: ['a'] },
      { properties: { a: { maximum: 1 }, b: { type: 'string' } }, required: ['b'] },
    ],
  },
  references: {
    $ref: '#/$defs/order',
    $defs: {
      order: { type: 'object', properties: { id: { $ref: '#/$defs/id' } }, required: ['id'] },
      id: { type: 'string', format: 'uuid' },
    },
  } as JsonSchemaOrFlag,
  'a recursive tree': {
    $ref: '#/definitions/node',
    definitions: {
      node: {
        type: 'object',
        properties: { value: { type: 'integer' }, children: { type: 'array', items: { $ref: '#/definitions/node' } } },
        required: ['value', 'children'],
        additionalProperties: false,
      },
    },
  } as JsonSchemaOrFlag,
  'a recursive list that ends in null': {
    type: 'object',
    properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
    required: ['next'],
  },
  'additional members': { type: 'object', minProperties: 3, additionalProperties: { type: 'integer' } },
  'named additional members': { type: 'object', minProperties: 2, propertyNames: { pattern: '^[a-z]{4}$' } },
  'pattern members': {
    type: 'object',
    minProperties: 1,
    patternProperties: { '^x_[a-z]+$': { type: 'boolean' } },
    additionalProperties: false,
  },
  'a limited number of members': {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } },
    required: ['c'],
    maxProperties: 2,
  },
  'dependent members': {
    type: 'object',
    properties: { card: { type: 'string' }, address: { type: 'string' } },
    dependentRequired: { card: ['address', 'zip'] },
  },
  'a negation': { not: { type: 'string' } } as JsonSchemaOrFlag,
  anything: true,
  'a member called __proto__': JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}',
  ),
};

describe('an instance is valid', () => {
  for (const [name, schema] of Object.entries(CASES)) {
    test(`by a schema of ${name}`, async () => {
      await assertInstance(schema);
    });
  }

  for (const format of [
    'date-time',
    'date',
    'time',
    'duration',
    'email',
    'hostname',
    'ipv4',
    'ipv6',
    'uri',
    'uuid',
    'uri-reference',
    'json-pointer',
    'regex',
  ]) {
    test(`by the format ${format}, three times over`, async () => {
      await assertInstance({ type: 'array', items: { type: 'string', format }, minItems: 3, uniqueItems: true });
    });
  }
});

test('free strings carry the text, and the same arguments make the same instance', async () => {
  const schema: JsonSchemaOrFlag = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };
  assert.deepEqual(await assertInstance(schema, 'rain?'), { query: 'rain?' });
  assert.deepEqual(await makeInstance(schema, 'rain?'), await makeInstance(schema, 'rain?'));
});

test('a schema that nothing satisfies ends without an error', async () => {
  const impossible: JsonSchemaOrFlag[] = [
    false,
    { type: 'integer', minimum: 3, maximum: 2 },
    { $ref: '#/nowhere' },
    { $ref: '#' },
    { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
    { type: 'string', pattern: '(?<=never)', minLength: 3 },
    { enum: [] },
  ];
  for (const schema of impossible) assert.notEqual(await makeInstance(schema, 'x'), undefined);
});

test('making an instance ends without an error when the schema is malformed, boundless or made to take for ever', async () => {
  for (const schema of hostileSchemas) {
    assert.notEqual(await makeInstance(Object(schema), `${'a'.repeat(80)}!`), undefined);
  }
});

test('making an instance that is not checked ends when references double at each of forty levels', () => {
  assert.notEqual(makeInstance(Object(doublingSchema), 'x', { isChecked: false }), undefined);
});

test('what is made has a bound, whatever the schema asks for', () => {
  for (const schema of [
    { type: 'array', minItems: 5_000, items: { type: 'string', minLength: 100_000 } },
    { type: 'array', minItems: 15_000, items: { const: 'x'.repeat(50_000) } },
    { type: 'array', minItems: 15_000, items: { type: 'string', pattern: 'x{999}' } },
  ]) {
    assert.ok(JSON.stringify(makeInstance(Object(schema), 'x')).length < 1_000_000);
  }
});

testGeneratedSchemas(40);
