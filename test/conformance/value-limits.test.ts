/**
 * No value that a caller sends is limited by the body alone, but for those that are listed here with the reason: every text
 * of a request schema has a largest length, every list a largest number of entries, every free object a largest size.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { componentOf, MAX_JSON_BYTES } from '../../src/kernel/http/schema.ts';
import { startPlatform } from '../support/platform.ts';

const CONTENT = 'what is said: as long as the body lets it be';
const CHECKED = 'read by code of its own, which has limits and codes of its own';

/** Place in a request (`*`: each entry or member) → what limits it instead. */
const UNLIMITED: Readonly<Record<string, string>> = {
  'chat.completions.create body.messages[]': CHECKED,
  'chat.completions.create body.messages.*{}': CONTENT,
  'chat.completions.create body.reasoning_effort': CHECKED,
  'chat.completions.create body.response_format': CHECKED,
  'chat.completions.create body.tool_choice': CHECKED,
  'chat.completions.create body.tools': CHECKED,
  'conversations.create body.items.*{}': CONTENT,
  'conversations.items.create body.items.*{}': CONTENT,
  'embeddings.create body.input': CHECKED,
  'embeddings.create body.input[]': CHECKED,
  'embeddings.create body.input.*': CHECKED,
  'embeddings.create body.input.*[]': CHECKED,
  'responses.create body.input': CONTENT,
  'responses.create body.input[]': CHECKED,
  'responses.create body.input.*{}': CONTENT,
  'responses.create body.text{}': CHECKED,
  'responses.create body.tool_choice': CHECKED,
  'responses.create body.tools': CHECKED,
  'smiths.runs.create body.input[]': CHECKED,
  'smiths.runs.create body.input.*.content': CONTENT,
  'smiths.runs.create body.input.*.content[]': CHECKED,
  'smiths.runs.create body.input.*.content.*{}': CONTENT,
  'smiths.runs.create body.response_format{}': CHECKED,
  'smiths.runs.create body.tools.*.parameters{}': CHECKED,
  'smiths.runs.submit body.result{}': CONTENT,
  'vector_stores.search body.filters{}': CHECKED,
};

type Schema = Readonly<Record<string, unknown>>;

const platform = await startPlatform();
after(() => platform.close());

/** Places of the schema that hold something of any size. */
function findUnlimited(schema: Schema, at: string, found: Set<string>): void {
  const { type, anyOf, oneOf, allOf, properties, items, additionalProperties, ...own } = (componentOf(schema)?.schema ??
    schema) as Schema;
  if ('enum' in own || 'const' in own) return;
  const branches = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? (list as Schema[]) : []));
  const types = type === undefined ? [] : [type].flat();
  const isMoment = branches.length > 0 && branches.every((branch) => 'format' in branch || 'pattern' in branch);
  if (isMoment) return;
  for (const branch of branches) findUnlimited(branch, at, found);
  if (types.length === 0 && branches.length === 0) found.add(at);
  if (types.includes('string') && !isShort(own)) found.add(at);
  if (types.includes('array') && own[MAX_JSON_BYTES] === undefined) {
    if (own.maxItems === undefined) found.add(`${at}[]`);
    findUnlimited((items ?? {}) as Schema, `${at}.*`, found);
  }
  if (types.includes('object') && own[MAX_JSON_BYTES] === undefined)
    findInObject(properties, additionalProperties, own, at, found);
}

function findInObject(properties: unknown, additional: unknown, own: Schema, at: string, found: Set<string>): void {
  for (const [name, member] of Object.entries((properties ?? {}) as Record<string, Schema>)) {
    findUnlimited(member, `${at}.${name}`, found);
  }
  // Members that no schema names are dropped where others are named, and not looked at.
  if (additional === true || (additional === undefined && properties === undefined)) found.add(`${at}{}`);
  if (typeof additional !== 'object' || additional === null) return;
  const { maxLength } = (own.propertyNames ?? {}) as Schema;
  if (own.maxProperties === undefined || maxLength === undefined) found.add(`${at}{}`);
  findUnlimited(additional as Schema, `${at}.*`, found);
}

function isShort({ maxLength, pattern, format }: Schema): boolean {
  if (typeof maxLength === 'number' || format === 'date-time') return true;
  // Classes and escapes count as one letter; what repeats without an end is not limited.
  const plain = String(pattern ?? '*').replaceAll(/\\.|\[[^\]]*\]/g, 'x');
  return /^\^[^*+]*\$$/.test(plain) && !/\{\d+,\}/.test(plain);
}

const found = new Set<string>();
for (const { id, body, query, upload } of platform.platform.operations) {
  for (const [part, schema] of Object.entries({ body, query, form: upload?.fields })) {
    if (schema !== undefined) findUnlimited(schema as unknown as Schema, `${id} ${part}`, found);
  }
}
describe('what is limited by the body alone is listed, with the reason', () => {
  for (const place of found) test(place, () => assert.ok(Object.hasOwn(UNLIMITED, place), 'give it a largest size'));
});

test('nothing is listed that has a limit', () => {
  assert.deepEqual(
    Object.keys(UNLIMITED).filter((place) => !found.has(place)),
    [],
  );
});

test('what has no limit is found', () => {
  const schemas: readonly [schema: Schema, places: readonly string[]][] = [
    [{ type: 'string' }, ['x']],
    [{ type: ['string', 'null'], pattern: '^a+$' }, ['x']],
    [{ type: 'string', pattern: '^[a-z*]{0,9}$' }, []],
    [{ type: 'string', enum: ['a'] }, []],
    [{ type: 'array', items: { type: 'string', maxLength: 3 } }, ['x[]']],
    [{ type: 'array', maxItems: 3, items: { type: 'string' } }, ['x.*']],
    [{ type: 'object', additionalProperties: true }, ['x{}']],
    [{ type: 'object', additionalProperties: true, [MAX_JSON_BYTES]: 9 }, []],
    [{ type: 'array', items: { type: 'string' }, [MAX_JSON_BYTES]: 9 }, []],
    [{ type: 'object', additionalProperties: { type: 'string' } }, ['x{}', 'x.*']],
    [{ anyOf: [{ type: 'null' }, { type: 'string' }] }, ['x']],
    [{ description: 'of any type' }, ['x']],
  ];
  for (const [schema, places] of schemas) {
    const seen = new Set<string>();
    findUnlimited(schema, 'x', seen);
    assert.deepEqual([...seen], places, JSON.stringify(schema));
  }
});

describe('a value of the largest size is taken for what it is, and a larger one refused by its place and limit', () => {
  const text = (length: number) => 'é'.repeat(length);
  const queries = (count: number) => Array.from({ length: count }, () => 'a');
  const form = (bytes: number) => ({ x: 'x'.repeat(bytes - '{"x":""}'.length) });
  const run = '/v1/smiths/smt_x/runs/run_x/submit';
  const search = '/v1/vector_stores/vs_x/search';
  const cases: readonly [path: string, member: string, limit: number, body: (size: number) => object][] = [
    [search, 'query', 65_536, (size) => ({ query: text(size) })],
    [search, 'query', 100, (size) => ({ query: queries(size) })],
    [search, 'query.0', 65_536, (size) => ({ query: [text(size)] })],
    [
      run,
      'content',
      65_536,
      (size) => ({ kind: 'approval', approval_id: 'apr_x', decision: 'approve', content: form(size) }),
    ],
    [
      '/v1/chat/completions',
      'user',
      512,
      (size) => ({ messages: [{ role: 'user', content: 'Hi' }], user: text(size) }),
    ],
    ['/v1/conversations', 'user', 512, (size) => ({ user: text(size) })],
  ];
  for (const [path, member, limit, body] of cases) {
    test(`${path} ${member}: ${limit}`, async () => {
      const project = await platform.createProject();
      const taken = await project.post(path, body(limit));
      assert.notEqual(taken.body.error.code, 'invalid_request', taken.text.slice(0, 300));
      const refused = await project.post(path, body(limit + 1));
      assert.deepEqual([refused.status, refused.body.error.code], [422, 'invalid_request'], refused.text.slice(0, 300));
      assert.equal(refused.body.error.param, member);
      assert.match(refused.body.error.message, new RegExp(` ${limit} `));
    });
  }
});
