import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { largestSchemas } from '../../../test/support/hostile-schemas.ts';
import type { JsonObject } from '../tables.ts';
import { admitSchema, type SchemaTotals } from './check-limits.ts';
import { requestLimits, schemaLimits } from './schema-limits.ts';

/** The problem and its place, as one text; undefined where the schema is admitted. */
function refusal(schema: JsonObject, totals?: SchemaTotals): string | undefined {
  const admitted = admitSchema(schema, totals);
  return 'problem' in admitted ? `${admitted.problem.problem}, ${admitted.problem.pointer}` : undefined;
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function members<T>(count: number, make: (index: number) => T): Record<string, T> {
  return Object.fromEntries(times(count, (index) => [`p${index}`, make(index)]));
}

function nest(levels: number): JsonObject {
  let schema: JsonObject = {};
  for (let level = 1; level < levels; level += 1) schema = { not: schema };
  return schema;
}

/** Each definition names the next twice: 2^levels of the last are applied to one value. */
function double(levels: number, keyword = 'allOf'): JsonObject {
  const next = (level: number) => ({ $ref: `#/$defs/a${level + 1}` });
  const $defs = Object.fromEntries(times(levels, (level) => [`a${level}`, { [keyword]: [next(level), next(level)] }]));
  return { $ref: '#/$defs/a0', $defs: { ...$defs, [`a${levels}`]: { type: 'object' } } };
}

const EMPTY = JSON.stringify({ description: '' }).length;
const states = (count: number) => `^[a-z]{${count - 2}}$`;

const limits: [name: string, at: JsonObject, above: JsonObject, said: RegExp][] = [
  [
    'bytes, of which a character of two is two',
    { description: `é${'x'.repeat(1_000_000 - EMPTY - 2)}` },
    { description: `éx${'x'.repeat(1_000_000 - EMPTY - 2)}` },
    /^of more than 1000000 bytes, $/,
  ],
  ['levels', nest(90), nest(91), /more than 90 levels of objects and lists, (?:\/not){89}$/],
  [
    'parts',
    { examples: times(29_998, () => ({})) },
    { examples: times(29_999, () => ({})) },
    /more than 30000 objects and lists, \/examples$/,
  ],
  [
    'values of enums in all',
    { properties: { a: { enum: times(2_500, String) }, b: { enum: times(2_500, String) } } },
    { properties: { a: { enum: times(2_500, String) }, b: { enum: times(2_501, String) } } },
    /more than 5000 values of `enum` in all, \/properties\/[ab]\/enum$/,
  ],
  ['alternatives', { anyOf: times(500, () => ({})) }, { anyOf: times(501, () => ({})) }, /500 members in one `anyOf`/],
  [
    'characters of a pattern',
    { items: { pattern: 'x'.repeat(2_000) } },
    { items: { pattern: 'x'.repeat(2_001) } },
    /pattern of more than 2000 characters, \/items\/pattern$/,
  ],
  [
    'states of a pattern',
    { patternProperties: { [states(10_000)]: {} } },
    { patternProperties: { [states(10_001)]: {} } },
    /more than 10000 states, \/patternProperties\/\^\[a-z\]/,
  ],
  [
    'states of all patterns',
    { allOf: times(5, () => ({ pattern: states(10_000) })) },
    { allOf: [...times(5, () => ({ pattern: states(10_000) })), { pattern: 'x' }] },
    /more than 50000 states in all, \/allOf\/\d\/pattern$/,
  ],
  ['applied subschemas', double(14), double(15), /applies more than 100000 subschemas to one value/],
];

for (const [name, at, above, said] of limits) {
  test(`${name}: the limit is admitted, one more is refused with the limit and the place`, () => {
    assert.equal(refusal(at), undefined);
    assert.match(refusal(above) ?? '', said);
  });
}

test('the schemas of one request have limits together', () => {
  const totals = { bytes: 0, parts: 0 };
  const half = { description: 'x'.repeat(1_000_000 - EMPTY) };
  assert.deepEqual([refusal(half, totals), refusal(half, totals)], [undefined, undefined]);
  assert.match(refusal({}, totals) ?? '', /all of the request to more than 2000000 bytes/);
  const many = { bytes: 0, parts: 0 };
  const third = { examples: times(29_998, () => 'x'.slice(1)).map(() => ({})) };
  assert.deepEqual([refusal(third, many), refusal(third, many)], [undefined, undefined]);
  assert.match(refusal({}, many) ?? '', /all of the request to more than 60000 objects and lists/);
});

test('what OpenAI takes is admitted: 5,000 properties, 10 levels of them, recursion', () => {
  const optional = () => ({
    anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }],
    title: 'x'.repeat(20),
  });
  assert.equal(
    refusal({ type: 'object', properties: members(5_000, optional), additionalProperties: false }),
    undefined,
  );
  let levels: JsonObject = { type: 'string' };
  for (let level = 0; level < 10; level += 1) {
    levels = { anyOf: [{ type: 'array', items: { type: 'object', properties: { next: levels } } }, { type: 'null' }] };
  }
  assert.equal(refusal(levels), undefined);
  const node = { type: 'object', properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } } };
  assert.equal(refusal(node), undefined);
  // The same model in many places: it is applied to another value in each.
  const shared = members(12, (level) => ({ properties: members(3, () => ({ $ref: `#/$defs/p${level + 1}` })) }));
  assert.equal(refusal({ $ref: '#/$defs/p0', $defs: { ...shared, p12: {} } }), undefined);
});

test('references that double the work are counted wherever they lead', () => {
  for (const keyword of ['allOf', 'anyOf', 'oneOf'])
    assert.match(refusal(double(60, keyword)) ?? '', /100000 subschemas/);
  assert.match(refusal({ ...double(60), $id: 'https://example.com/a' }) ?? '', /100000 subschemas/);
  const anchors = members(60, (n) => ({ $anchor: `n${n}`, allOf: [{ $ref: `#n${n + 1}` }, { $ref: `#n${n + 1}` }] }));
  assert.match(refusal({ $ref: '#n0', $defs: anchors }) ?? '', /100000 subschemas/);
  const dynamic = members(60, (n) => ({
    $dynamicAnchor: `n${n}`,
    allOf: [{ $dynamicRef: `#n${n + 1}` }, { $dynamicRef: `#n${n + 1}` }],
  }));
  assert.match(refusal({ $dynamicRef: '#n0', $defs: dynamic }) ?? '', /100000 subschemas/);
  const ids = members(60, (n) => ({
    $id: `https://example.com/${n}`,
    allOf: [{ $ref: `${n + 1}` }, { $ref: `https://example.com/${n + 1}` }],
  }));
  assert.match(refusal({ $ref: 'https://example.com/0', $defs: ids }) ?? '', /100000 subschemas/);
  // Behind a keyword that nobody knows.
  const hidden = members(60, (n) => ({ allOf: [{ $ref: `#/x/p${n + 1}` }, { $ref: `#/x/p${n + 1}` }] }));
  assert.match(refusal({ $ref: '#/x/p0', x: hidden }) ?? '', /100000 subschemas/);
});

test('a schema that applies itself to the same value is refused', () => {
  const endless: JsonObject[] = [
    { $ref: '#' },
    { allOf: [{ $ref: '#' }] },
    { $dynamicAnchor: 'a', $dynamicRef: '#a' },
    { $recursiveRef: '#' },
    { $ref: '#/$defs/a', $defs: { a: { not: { $ref: '#/$defs/b' } }, b: { if: { $ref: '#/$defs/a' } } } },
    { dependentSchemas: { a: { $ref: '#' } } },
  ];
  for (const schema of endless)
    assert.match(refusal(schema) ?? '', /applies itself to the same value/, JSON.stringify(schema));
});

test('names of members are no keywords, and values of enums are no schemas', () => {
  const properties = { enum: { type: 'array' }, allOf: { type: 'string' }, $ref: { type: 'string' }, pattern: {} };
  assert.equal(refusal({ properties }), undefined);
  assert.equal(refusal({ const: { $ref: '#' }, default: { pattern: 'x'.repeat(9_000) } }), undefined);
  assert.equal(
    refusal({ properties: 5, items: 'x', allOf: {}, enum: 'x', pattern: 3, $ref: 7 } as JsonObject),
    undefined,
  );
  assert.match(
    refusal(JSON.parse(`{"properties":{"__proto__":${JSON.stringify({ $ref: '#/properties/__proto__' })}}}`)) ?? '',
    /itself/,
  );
});

test('a place is shown as a JSON pointer', () => {
  const schema = { properties: { 'a/b': { properties: { 'm~n': { pattern: 'x'.repeat(3_000) } } } } };
  assert.match(refusal(schema) ?? '', /, \/properties\/a~1b\/properties\/m~0n\/pattern$/);
});

test('the largest schemas are admitted or refused for the first limit that they exceed', () => {
  const found = largestSchemas.map((schema) => refusal(schema));
  assert.deepEqual(found, [
    undefined,
    undefined,
    'with a pattern whose repetitions, written out, come to more than 10000 states, /allOf/0/pattern',
    'with more than 5000 values of `enum` in all, /enum',
    'with more than 30000 objects and lists, /examples',
    'of more than 1000000 bytes, ',
    'of more than 1000000 bytes, ',
  ]);
});

test('every limit stands in the documentation', async () => {
  const text = await readFile(new URL('../../../docs/operating.md', import.meta.url), 'utf8');
  const section = text.slice(text.indexOf('### Schemas of callers'), text.indexOf('## Troubleshooting'));
  for (const limit of [...Object.values(schemaLimits), ...Object.values(requestLimits)]) {
    assert.ok(section.includes(limit.toLocaleString('en-US')), String(limit));
  }
});
