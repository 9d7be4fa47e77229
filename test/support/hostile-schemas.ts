/** Schemas that are as large as they may be, or made to take long. */
import type { JsonObject } from '../../src/platform/tables.ts';

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function members<T>(count: number, make: (index: number) => T): Record<string, T> {
  return Object.fromEntries(times(count, (index) => [`p${index}`, make(index)]));
}

/** Two are admitted; the others exceed one limit after the other. */
export const largestSchemas: readonly JsonObject[] = [
  { properties: members(7_400, () => ({ anyOf: [{ type: 'string' }, { type: 'null' }] })) },
  { $ref: '#/$defs/p0', $defs: members(14_000, (n) => ({ $ref: `#/$defs/p${n + 1}` })) },
  { allOf: times(200, () => ({ pattern: '(((a{9}){9}){3})'.repeat(100) })) },
  { enum: times(300_000, () => 1) },
  { examples: times(200_000, () => []) },
  Object.fromEntries(times(200_000, (n) => [`a${n}`, n])),
  { description: 'x'.repeat(9_000_000) },
];

/** Malformed, boundless, or made to take for ever. */
export const hostileSchemas: readonly unknown[] = [
  { type: 'object', required: 5 },
  { type: 'string', pattern: '[' },
  { type: 'string', minLength: 1e15 },
  { type: 'array', items: { type: 'string' }, minItems: 1e12 },
  { type: 'object', minProperties: 1e9 },
  { $defs: { a: { type: 'array', minItems: 99, items: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/a' },
  { anyOf: Array.from({ length: 9 }, () => ({ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] })) },
  { type: 'string', pattern: '^(a+)+$x', minLength: 500 },
  { type: 'object', patternProperties: { '^(a+)+$': true }, required: [`${'a'.repeat(60)}!`], minProperties: 3 },
  { allOf: [{ $ref: '#' }] },
  { type: 'nothing', enum: 7, properties: 'x', items: 3 },
  { multipleOf: 0, type: 'integer' },
  {
    type: 'object',
    patternProperties: { [`^${'a?'.repeat(28)}${'a'.repeat(14)}$`]: true },
    required: [`${'a'.repeat(28)}!`],
  },
  { type: 'array', minItems: 5_000, items: { type: 'string', minLength: 100_000 } },
  { type: 'string', pattern: '((a{1000}){1000}){1000}' },
  { type: 'array', minItems: 15_000, items: { const: 'x'.repeat(50_000) } },
];

/** Whoever follows each reference comes to 2^40 of them. */
export const doublingSchema: JsonObject = {
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries(
    times(40, (level) => {
      const next = { $ref: `#/$defs/a${level + 1}` };
      return [`a${level}`, { allOf: [next, next] }];
    }),
  ),
};

/** A check by it takes 2^depth of the answer's depth, which no limit on the schema can see. */
export const doublingCheck: JsonObject = {
  allOf: [{ properties: { a: { $ref: '#' } } }, { properties: { a: { $ref: '#' } } }],
};
/** An answer whose check by it takes for ever. */
export const deepAnswer = `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`;
