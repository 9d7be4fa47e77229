/** Schemas and patterns near what callers write and far from what is good for a validator. */
import { NAUGHTY_STRINGS } from '../conformance/naughty-strings.ts';
import type { Dice } from '../conformance/schema-values.ts';
import { patterns } from '../hostile/patterns.ts';

type Json = Record<string, unknown>;

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const FORMATS = ['date-time', 'email', 'uri', 'uuid', 'ipv6', 'regex', 'nonsense', 'json-pointer', 'duration'];
const REFERENCES = [
  '#',
  '#/$defs/a',
  '#/$defs/b',
  '#/$defs/none',
  '#/properties/a',
  '#/a%2fb',
  'http://127.0.0.1:9/s',
  'a',
  '#a',
];
const SIZES = [0, 1, 2, 10, 1_000, 2 ** 31, 2 ** 53, -1, 1.5, 1e308];
const PIECES = [
  'a',
  '[a-z]',
  '\\d',
  '.',
  '(a|b)',
  '(a|aa)',
  '(?:x+)',
  '\\p{L}',
  '(?=a)',
  '\\1',
  '[^"]',
  '(?<n>a)',
  '\\u{1F600}',
  '^',
  '$',
  '(',
];
const REPEATS = ['', '*', '+', '?', '{2}', '{0,30}', '{1000}', '{1,}', '*?', '{99999}', '+*'];

/** Now and then it is no schema at all. */
export function makeSchema(dice: Dice): Json {
  const root = subschema(dice, 1 + dice.below(6), 1 + dice.below(8));
  const definitions = { a: subschema(dice, 2, 3), b: subschema(dice, 2, 3) };
  return dice.chance(0.6) ? { ...root, $defs: definitions } : { type: 'object', ...root };
}

export function makePattern(dice: Dice): string {
  const base = dice.chance(0.3) && patterns.length > 0 ? dice.pick(patterns).pattern : '';
  let pattern = base;
  for (let pieces = 1 + dice.below(6); pieces > 0; pieces -= 1) {
    const piece = dice.pick(PIECES) + dice.pick(REPEATS);
    pattern = dice.chance(0.3) ? `(${pattern}${piece})${dice.pick(REPEATS)}` : pattern + piece;
  }
  return dice.chance(0.3) ? `^${pattern}$` : pattern;
}

function subschema(dice: Dice, depth: number, width: number): Json {
  const schema: Json = {};
  for (let keywords = 1 + dice.below(3); keywords > 0; keywords -= 1) addKeyword(dice, schema, depth, width);
  return schema;
}

function addKeyword(dice: Dice, schema: Json, depth: number, width: number): void {
  const inner = (): Json => (depth > 0 ? subschema(dice, depth - 1, width) : { type: dice.pick(TYPES) });
  const some = <T>(make: () => T): T[] => Array.from({ length: 1 + dice.below(width) }, make);
  const named = (): Json => Object.fromEntries(some(() => [nameOf(dice), inner()]));
  switch (dice.below(18)) {
    case 0:
    case 1:
      Object.assign(schema, { type: 'object', properties: named(), required: some(() => nameOf(dice)) });
      return;
    case 2:
      Object.assign(schema, {
        type: 'array',
        items: inner(),
        minItems: dice.pick(SIZES),
        uniqueItems: dice.chance(0.3),
      });
      return;
    case 3:
      Object.assign(schema, { type: 'string', pattern: makePattern(dice), maxLength: dice.pick(SIZES) });
      return;
    case 4:
      Object.assign(schema, {
        type: dice.pick(['number', 'integer']),
        multipleOf: dice.pick(SIZES),
        minimum: dice.pick(SIZES),
      });
      return;
    case 5:
    case 6:
      schema.$ref = dice.pick(REFERENCES);
      return;
    case 7:
      schema[dice.pick(['allOf', 'anyOf', 'oneOf'])] = some(inner);
      return;
    case 8:
      schema.not = inner();
      return;
    case 9:
      for (const keyword of ['if', 'then', 'else']) schema[keyword] = inner();
      return;
    case 10:
      schema.enum = Array.from({ length: dice.pick([1, 3, 2_000]) }, () => dice.pick(NAUGHTY_STRINGS));
      return;
    case 11:
      schema.patternProperties = { [makePattern(dice)]: inner() };
      return;
    case 12:
      schema[
        dice.pick(['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'contains', 'dependentSchemas'])
      ] = inner();
      return;
    case 13:
      Object.assign(schema, { type: 'string', format: dice.pick(FORMATS), minLength: dice.pick(SIZES) });
      return;
    case 14:
      schema.prefixItems = some(inner);
      return;
    case 15:
      schema[dice.pick(['$id', '$anchor', '$dynamicRef', '$schema', '$comment', 'title'])] = dice.pick([
        ...REFERENCES,
        ...NAUGHTY_STRINGS,
      ]);
      return;
    case 16:
      schema.const = dice.pick([...NAUGHTY_STRINGS, null, 0, [], {}]);
      return;
    default:
      schema[nameOf(dice)] = dice.pick([null, 1, 'x', [], inner()]);
  }
}

function nameOf(dice: Dice): string {
  return dice.chance(0.85)
    ? dice.pick(['a', 'b', 'c', 'name', 'a/b', 'x~y'])
    : dice.pick(NAUGHTY_STRINGS).slice(0, 200);
}
