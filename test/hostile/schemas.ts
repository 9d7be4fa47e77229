/** Schemas of callers that take a validator's time or memory, or mislead it; and large ones that are meant. */
import type { SchemaCase, SchemaPlace } from './cases.ts';

type Schema = Record<string, unknown>;

/** What a tool's parameters may be although no answer can be checked by it: they are not compiled. */
const FORMATS: readonly SchemaPlace[] = ['response_format', 'text.format'];
const TOOLS: readonly SchemaPlace[] = ['tool parameters'];

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function members<T>(count: number, make: (index: number) => T, name = 'p'): Record<string, T> {
  return Object.fromEntries(times(count, (index) => [`${name}${index}`, make(index)]));
}

function object(properties: Record<string, unknown>): Schema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

const optional = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });

/** Puts the schema into itself so many times. */
function wrap(levels: number, schema: Schema, around: (inner: Schema) => Schema): Schema {
  return times(levels, () => undefined).reduce<Schema>((inner) => around(inner), schema);
}

/** Definitions each of which names the next by two references: 2^levels of the last. */
function double(levels: number, apply: (one: Schema, other: Schema) => Schema): Schema {
  const next = (level: number) => ({ $ref: `#/$defs/p${level + 1}` });
  const $defs = members<Schema>(levels, (level) => apply(next(level), next(level)));
  return { $ref: '#/$defs/p0', $defs: { ...$defs, [`p${levels}`]: { type: 'object' } } };
}

const doubling: readonly (readonly [name: string, apply: (one: Schema, other: Schema) => Schema])[] = [
  ['allOf', (one, other) => ({ allOf: [one, other] })],
  ['anyOf', (one, other) => ({ anyOf: [one, other] })],
  ['oneOf', (one, other) => ({ oneOf: [one, other] })],
  ['not', (one, other) => ({ not: one, allOf: [{ not: other }] })],
  ['if and else', (one, other) => ({ if: one, else: other })],
  ['if and then', (one, other) => ({ if: one, ...Object.fromEntries([['then', other]]) })],
  ['dependentSchemas', (one, other) => ({ dependentSchemas: { a: one, b: other } })],
  ['dependencies', (one, other) => ({ dependencies: { a: one, b: other } })],
];

const APPLIED = /more than 100000 subschemas to one value/;
const ENDLESS = /applies itself to the same value again/;

const tooMuch: readonly SchemaCase[] = [
  ...doubling.map(
    ([name, apply]): SchemaCase => ({
      name: `3 KB of references that double by ${name}`,
      schema: () => double(50, apply),
      answer: 'refused',
      message: APPLIED,
    }),
  ),
  {
    name: 'ten levels of ten references each',
    schema: () => ({
      $ref: '#/$defs/p0',
      $defs: { ...members(10, (n) => ({ allOf: times(10, () => ({ $ref: `#/$defs/p${n + 1}` })) })), p10: {} },
    }),
    answer: 'refused',
    message: APPLIED,
  },
  {
    name: 'references that double by anchors',
    schema: () => ({
      $ref: '#n0',
      $defs: {
        ...members(50, (n) => ({ $anchor: `n${n}`, allOf: [{ $ref: `#n${n + 1}` }, { $ref: `#n${n + 1}` }] })),
        last: { $anchor: 'n50' },
      },
    }),
    answer: 'refused',
    message: APPLIED,
  },
  {
    name: 'references that double by dynamic anchors',
    schema: () => ({
      $dynamicRef: '#n0',
      $defs: members(50, (n) => ({
        $dynamicAnchor: `n${n}`,
        allOf: [{ $dynamicRef: `#n${n + 1}` }, { $dynamicRef: `#n${n + 1}` }],
      })),
    }),
    answer: 'refused',
    message: APPLIED,
  },
  {
    name: 'references that double by ids',
    schema: () => ({
      $ref: 'https://example.com/0',
      $defs: members(50, (n) => ({
        $id: `https://example.com/${n}`,
        allOf: [{ $ref: `${n + 1}` }, { $ref: `https://example.com/${n + 1}` }],
      })),
    }),
    answer: 'refused',
    message: APPLIED,
  },
  {
    name: 'references that double behind a keyword that nobody knows',
    schema: () => ({
      $ref: '#/x/p0',
      x: members(50, (n) => ({ allOf: [{ $ref: `#/x/p${n + 1}` }, { $ref: `#/x/p${n + 1}` }] })),
    }),
    answer: 'refused',
    message: APPLIED,
  },
  {
    name: 'references that double, with escapes in their pointers',
    schema: () => ({
      $ref: '#/$defs/a~1%30',
      $defs: Object.fromEntries(
        times(50, (n) => [`a/${n}`, { allOf: [{ $ref: `#/$defs/a~1${n + 1}` }, { $ref: `#/%24defs/a~1${n + 1}` }] }]),
      ),
    }),
    answer: 'refused',
    message: APPLIED,
  },
  {
    name: '400 references to 400 references',
    schema: () => ({
      allOf: times(400, () => ({ $ref: '#/$defs/many' })),
      $defs: { many: { allOf: times(400, () => ({ $ref: '#/$defs/one' })) }, one: {} },
    }),
    answer: 'refused',
    message: APPLIED,
  },
  { name: 'a reference to itself', schema: () => ({ $ref: '#' }), answer: 'refused', message: ENDLESS },
  { name: 'allOf of itself', schema: () => ({ allOf: [{ $ref: '#' }] }), answer: 'refused', message: ENDLESS },
  { name: 'not itself', schema: () => ({ not: { $ref: '#' } }), answer: 'refused', message: ENDLESS },
  {
    name: 'a dynamic reference to itself',
    schema: () => ({ $dynamicAnchor: 'a', $dynamicRef: '#a' }),
    answer: 'refused',
    message: ENDLESS,
  },
  {
    name: 'a circle of three definitions',
    schema: () => ({
      $ref: '#/$defs/p0',
      $defs: members(3, (n) => ({ anyOf: [{ $ref: `#/$defs/p${(n + 1) % 3}` }] })),
    }),
    answer: 'refused',
    message: ENDLESS,
  },
  {
    name: '5,001 values of enums',
    schema: () => object({ a: { enum: times(5_000, String) }, b: { enum: ['x'] } }),
    answer: 'refused',
    message: /5000 values of `enum`.*\/properties\/[ab]\/enum/,
  },
  {
    name: '501 alternatives',
    schema: () => ({ anyOf: times(501, (n) => ({ const: n })) }),
    answer: 'refused',
    message: /500 members in one `anyOf`.*`\/anyOf`/,
  },
  {
    name: '2,500 alternatives of which one must hold',
    schema: () => ({ oneOf: times(2_500, (n) => ({ required: [`a${n}`] })) }),
    answer: 'refused',
    message: /500 members in one `oneOf`/,
  },
  {
    name: '91 levels',
    schema: () => wrap(90, {}, (inner) => ({ additionalProperties: inner })),
    answer: 'refused',
    message: /90 levels/,
  },
  {
    name: '30,001 objects and lists',
    schema: () => ({ type: 'object', examples: times(30_000, () => []) }),
    answer: 'refused',
    message: /30000 objects and lists/,
  },
  {
    name: 'more than a million bytes',
    schema: () => ({ type: 'object', description: 'é'.repeat(500_001) }),
    answer: 'refused',
    message: /1000000 bytes/,
  },
  {
    name: '30,000 members that are no keywords',
    schema: () => members(30_000, () => 0, 'a_name_of_forty_characters_is_no_keyword_'),
    answer: 'refused',
    message: /1000000 bytes/,
  },
];

const misleading: readonly SchemaCase[] = [
  ...(
    [
      ['an address of the machine itself', 'http://127.0.0.1:8787/healthz'],
      ['a file of the machine', 'file:///etc/passwd'],
      ['a schema elsewhere', 'https://json-schema.org/draft/2020-12/schema'],
      ['a definition that is not there', '#/$defs/none'],
      ['what is no address', 'http://[::::]/%zz#%zz'],
    ] as const
  ).flatMap(([name, $ref]): SchemaCase[] => [
    { name: `a reference to ${name}`, schema: () => object({ a: { $ref } }), places: FORMATS, answer: 'refused' },
    {
      name: `a reference of a tool to ${name}`,
      schema: () => object({ a: { $ref } }),
      places: TOOLS,
      answer: 'accepted',
    },
  ]),
  { name: 'a type that is none', schema: () => ({ type: 'nonsense' }), places: FORMATS, answer: 'refused' },
  { name: 'required that is a number', schema: () => ({ required: 5 }), places: FORMATS, answer: 'refused' },
  { name: 'properties that are a list', schema: () => ({ properties: [1] }), places: FORMATS, answer: 'refused' },
  { name: 'multiples of nothing', schema: () => ({ multipleOf: 0 }), places: FORMATS, answer: 'refused' },
  {
    name: 'an id that is that of the meta-schema',
    schema: () => ({ $id: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }),
    answer: 'accepted',
  },
  {
    name: 'an id that is that of the meta-schema of draft 7',
    schema: () => ({
      $schema: 'http://json-schema.org/draft-07/schema#',
      $id: 'http://json-schema.org/draft-07/schema',
      type: 'object',
    }),
    answer: 'accepted',
  },
  {
    name: 'a meta-schema that does not exist',
    schema: () => ({ $schema: 'https://example.com/nowhere', type: 'object' }),
    answer: 'accepted',
  },
  {
    name: 'two parts of one id',
    schema: () => object({ a: { $id: 'https://example.com/a' }, b: { $id: 'https://example.com/a', type: 'string' } }),
    places: FORMATS,
    answer: 'refused',
  },
  { name: 'a check that is put off', schema: () => ({ $async: true, type: 'object' }), answer: 'accepted' },
  {
    name: 'a part whose check is put off',
    schema: () => ({ ...object({ a: { $ref: '#/$defs/a' } }), $defs: { a: { $async: true, type: 'string' } } }),
    answer: 'refused',
    places: FORMATS,
  },
  {
    name: 'names that are code',
    schema: () =>
      object({
        '"); process.exit(1); ("': { type: 'string' },
        [`${'$'}{process.exit(1)}`]: { type: 'string' },
        '\u2028\u2029*/`\\': { const: '*/ process.exit(1) /*' },
        "'-'": { enum: ["'); process.exit(1); ('"] },
      }),
    answer: 'accepted',
  },
  {
    name: 'names that every object inherits',
    schema: () =>
      object({ toString: { type: 'string' }, valueOf: { type: 'integer' }, hasOwnProperty: { type: 'boolean' } }),
    answer: 'accepted',
  },
  {
    name: 'a member named __proto__',
    schema: () => '{"type":"object","properties":{"__proto__":{"type":"string"}}}',
    answer: 'refused',
    code: 'invalid_request',
  },
  {
    name: 'members that are named twice',
    schema: () => '{"type":"string","type":"object","properties":{"a":{"type":"string"},"a":{"type":"integer"}}}',
    answer: 'accepted',
  },
];

/** Small, and no limit on schemas refuses them: what they ask for, or its check, has no end. */
const endless: readonly SchemaCase[] = [
  { name: 'what nothing is', schema: () => ({ not: {} }), places: FORMATS, answer: 'failed' },
  {
    name: 'numbers between 3 and 2',
    schema: () => object({ a: { minimum: 3, maximum: 2 } }),
    places: FORMATS,
    answer: 'failed',
  },
  {
    name: 'a text of 10^15 characters',
    schema: () => object({ a: { type: 'string', minLength: 1e15 } }),
    places: FORMATS,
    answer: 'failed',
  },
  {
    name: 'a list of 10^12 items',
    schema: () => object({ a: { type: 'array', minItems: 1e12 } }),
    places: FORMATS,
    answer: 'failed',
  },
  { name: '10^9 members', schema: () => ({ type: 'object', minProperties: 1e9 }), places: FORMATS, answer: 'failed' },
  {
    name: 'lists of 99 lists of 99 lists',
    schema: () => ({ $ref: '#/$defs/a', $defs: { a: { type: 'array', minItems: 99, items: { $ref: '#/$defs/a' } } } }),
    places: FORMATS,
    answer: 'failed',
  },
  {
    name: 'itself as a required member',
    schema: () => ({ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }),
    places: FORMATS,
    answer: 'failed',
  },
  {
    name: 'nine ways to go on without end',
    schema: () => ({ anyOf: times(9, () => ({ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] })) }),
    places: FORMATS,
    answer: 'failed',
  },
  {
    name: 'a tree whose check doubles at each level',
    schema: () => ({
      allOf: [{ properties: { a: { $ref: '#' } } }, { properties: { a: { $ref: '#' } } }],
      type: 'object',
    }),
    answer: 'accepted',
  },
  {
    name: 'a chain of 30 objects whose check doubles at each level',
    schema: () => {
      const chain = wrap(30, { type: 'object' }, (inner) => object({ a: inner }));
      const branch = { properties: { a: { $ref: '#/$defs/b' } } };
      return { ...chain, allOf: [{ $ref: '#/$defs/b' }], $defs: { b: { allOf: [branch, branch] } } };
    },
    places: FORMATS,
    answer: 'either',
  },
  {
    name: '20,000 different objects',
    schema: () =>
      object({ a: { type: 'array', uniqueItems: true, minItems: 19_000, items: object({ n: { type: 'integer' } }) } }),
    places: FORMATS,
    answer: 'either',
  },
  {
    name: 'a list that contains what it cannot',
    schema: () => object({ a: { type: 'array', items: { type: 'string' }, contains: { type: 'integer' } } }),
    places: FORMATS,
    answer: 'failed',
  },
  {
    name: 'a chain of 9,000 references',
    schema: () => ({
      $ref: '#/$defs/p0',
      $defs: { ...members(9_000, (n) => ({ $ref: `#/$defs/p${n + 1}` })), p9000: {} },
    }),
    places: FORMATS,
    answer: 'either',
  },
  {
    name: 'what 300 parts leave unevaluated',
    schema: () => ({
      type: 'object',
      allOf: times(300, (n) => ({ $ref: `#/$defs/p${n}` })),
      unevaluatedProperties: false,
      $defs: members(300, (n) => ({ properties: { [`a${n}`]: { type: 'string' }, b: { type: 'string' } } })),
    }),
    places: FORMATS,
    answer: 'either',
  },
];

/** What the common libraries make of large models: as much as OpenAI takes, or the limit itself. */
const meant: readonly SchemaCase[] = [
  {
    name: 'two members of one string each',
    schema: () => object({ name: { type: 'string' }, place: { type: 'string' } }),
    answer: 'accepted',
  },
  {
    name: '5,000 members',
    schema: () => object(members(5_000, () => ({ type: 'string' }))),
    places: FORMATS,
    answer: 'accepted',
  },
  {
    name: '1,000 models of five members, half a megabyte of descriptions',
    schema: () => {
      const model = () => object(members(4, () => ({ type: 'string', description: 'x'.repeat(100) })));
      return { ...object(members(1_000, (n) => ({ $ref: `#/$defs/M${n}` }))), $defs: members(1_000, model, 'M') };
    },
    places: FORMATS,
    answer: 'accepted',
  },
  {
    name: '5,000 lists of texts that may be null, with titles and descriptions',
    schema: () =>
      object(
        members(5_000, (n) => ({
          ...optional({ items: { type: 'string' }, type: 'array' }),
          description: `The texts of part ${n}`,
          title: `P${n}`,
        })),
      ),
    places: FORMATS,
    answer: 'accepted',
  },
  {
    name: '5,000 members of a tool, which the demo model has no window for',
    schema: () => object(members(5_000, () => ({ type: 'string' }))),
    places: TOOLS,
    answer: 'failed',
  },
  {
    name: 'ten levels',
    schema: () => wrap(10, object({ a: { type: 'string' } }), (inner) => object({ a: inner })),
    answer: 'accepted',
  },
  {
    name: 'names of 120,000 characters together',
    schema: () => object(Object.fromEntries(times(600, (n) => [`${n}_`.padEnd(200, 'n'), { type: 'boolean' }]))),
    places: FORMATS,
    answer: 'accepted',
  },
  {
    name: '1,000 values of an enum',
    schema: () => object({ a: { enum: times(1_000, (n) => `value ${n}`) } }),
    answer: 'accepted',
  },
  {
    name: '5,000 values of an enum',
    schema: () => object({ a: { enum: times(5_000, (n) => `value ${n}`) } }),
    places: FORMATS,
    answer: 'accepted',
  },
  {
    name: '500 kinds',
    schema: () =>
      object({ a: { anyOf: times(500, (n) => object({ kind: { const: `k${n}` }, value: { type: 'string' } })) } }),
    places: FORMATS,
    answer: 'accepted',
  },
  {
    name: 'a list that goes on or ends',
    schema: () => object({ value: { type: 'string' }, next: optional({ $ref: '#' }) }),
    answer: 'accepted',
  },
  {
    name: 'a tree of definitions that refer to each other',
    schema: () => ({
      $ref: '#/$defs/Folder',
      $defs: {
        Folder: object({
          files: { type: 'array', items: { $ref: '#/$defs/File' } },
          parent: optional({ $ref: '#/$defs/Folder' }),
        }),
        File: object({ name: { type: 'string' }, folder: optional({ $ref: '#/$defs/Folder' }) }),
      },
    }),
    answer: 'accepted',
  },
  {
    name: 'one model in 3^8 places',
    schema: () => ({
      ...object(members(3, () => ({ $ref: '#/$defs/M0' }))),
      $defs: {
        ...members(7, (n) => object(members(3, () => ({ $ref: `#/$defs/M${n + 1}` }))), 'M'),
        M7: object({ name: { type: 'string' } }),
      },
    }),
    answer: 'accepted',
    places: TOOLS,
  },
  {
    name: 'a definition of 150 members in 300 places',
    schema: () => ({
      type: 'object',
      properties: members(300, () => ({ $ref: '#/$defs/l' })),
      $defs: { l: { type: 'object', properties: members(150, () => ({ type: 'string' })) } },
    }),
    answer: 'accepted',
  },
  {
    name: 'lists of draft 7',
    schema: () => ({
      $schema: 'http://json-schema.org/draft-07/schema#',
      definitions: { name: { $id: '#name', type: 'string' } },
      ...object({ pair: { type: 'array', items: [{ $ref: '#name' }, { type: 'integer' }], additionalItems: false } }),
    }),
    // The demo model follows pointers alone.
    places: FORMATS,
    answer: 'failed',
  },
  {
    name: 'a tree by dynamic references',
    schema: () => ({
      $dynamicAnchor: 'node',
      ...object({ data: { type: 'string' }, children: { type: 'array', items: { $dynamicRef: '#node' } } }),
    }),
    // The demo model follows pointers alone.
    places: FORMATS,
    answer: 'failed',
  },
  {
    name: 'parts with ids that name each other',
    schema: () => ({
      $id: 'https://example.com/root.json',
      ...object({ a: { $ref: 'name.json' } }),
      $defs: { name: { $id: 'name.json', type: 'string' } },
    }),
    // The demo model follows pointers alone.
    places: FORMATS,
    answer: 'failed',
  },
  {
    name: 'formats that nobody knows',
    schema: () => object({ a: { type: 'string', format: 'city-name' } }),
    answer: 'accepted',
  },
  {
    name: 'a constant of 60 levels',
    schema: () => object({ a: { const: wrap(60, {}, (inner) => ({ a: inner })) } }),
    answer: 'accepted',
  },
  {
    name: '90 levels',
    schema: () => wrap(89, {}, (inner) => ({ additionalProperties: inner })),
    answer: 'accepted',
  },
  {
    name: 'a description of 900 KB',
    schema: () => ({ ...object({ a: { type: 'string' } }), description: 'x'.repeat(900_000) }),
    places: FORMATS,
    answer: 'accepted',
  },
  { name: 'everything', schema: () => ({}), answer: 'accepted' },
];

export const schemas: readonly SchemaCase[] = [...meant, ...tooMuch, ...misleading, ...endless];
