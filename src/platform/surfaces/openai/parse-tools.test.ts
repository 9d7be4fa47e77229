import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { schemas } from '../../../../test/support/schemas.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { readReasoningEffort, readResponseFormat } from './parse-answer-options.ts';
import { parseTools } from './parse-tools.ts';

const CITY = { type: 'object', properties: { city: { type: 'string' } } };
const weather = { name: 'weather', description: 'The weather', parameters: CITY, strict: true };
const parsed = { ...weather, requires_approval: false };

function refusal(code: string, param: string, message: RegExp = /./) {
  return (error: unknown) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.deepEqual([error.code, error.detail.param], [code, param]);
    assert.match(error.message, message);
    return true;
  };
}

test('a function means the same in both spellings', () => {
  const chat = parseTools([{ type: 'function', function: weather }], undefined);
  const responses = parseTools([{ type: 'function', ...weather }], null);
  assert.deepEqual(chat, { tools: [parsed], toolChoice: 'auto', fileSearch: undefined });
  assert.deepEqual(responses, chat);
});

test('a function needs a name alone', () => {
  const bare = { name: 'now', parameters: { type: 'object', properties: {} }, requires_approval: false };
  assert.deepEqual(parseTools([{ type: 'function', function: { name: 'now' } }], 'none').tools, [bare]);
  const empty = { name: 'now', description: null, parameters: null, strict: null };
  assert.deepEqual(parseTools([{ type: 'function', ...empty }], 'none').tools, [bare]);
});

test('file search names its stores, or leaves them to the smith', () => {
  const all = {
    vector_store_ids: ['vs_1', 'vs_2', 'vs_1'],
    max_num_results: 7,
    filters: { type: 'eq', key: 'lang', value: 'en' },
    ranking_options: { score_threshold: 0.5 },
  };
  const expected = { ...all, vector_store_ids: ['vs_1', 'vs_2'] };
  assert.deepEqual(parseTools([{ type: 'file_search', ...all }], undefined).fileSearch, expected);
  assert.deepEqual(parseTools([{ type: 'file_search', file_search: all }], undefined).fileSearch, expected);
  assert.equal(parseTools([{ type: 'file_search' }], undefined).fileSearch, undefined);
});

describe('a choice in every form', () => {
  const both = [
    { type: 'function', function: weather },
    { type: 'function', name: 'clock' },
  ];
  const forms: [unknown, unknown, string[]][] = [
    [undefined, 'auto', ['weather', 'clock']],
    ['auto', 'auto', ['weather', 'clock']],
    ['none', 'none', ['weather', 'clock']],
    ['required', 'required', ['weather', 'clock']],
    [{ type: 'function', function: { name: 'clock' } }, { name: 'clock' }, ['weather', 'clock']],
    [{ type: 'function', name: 'clock' }, { name: 'clock' }, ['weather', 'clock']],
    [{ type: 'file_search' }, { name: 'file_search' }, ['weather', 'clock']],
    [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'clock' }] }, 'required', ['clock']],
    [
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: weather }] } },
      'auto',
      ['weather'],
    ],
  ];
  for (const [given, choice, names] of forms) {
    test(JSON.stringify(given) ?? 'none given', () => {
      const result = parseTools(both, given);
      assert.deepEqual(result.toolChoice, choice);
      assert.deepEqual(
        result.tools.map(({ name }) => name),
        names,
      );
    });
  }
});

test('what is no tool or no choice is refused by name', () => {
  const bad: [unknown, unknown, string, string, RegExp?][] = [
    ['weather', undefined, 'invalid_request', 'tools'],
    [[null], undefined, 'invalid_request', 'tools.0'],
    [Array(129).fill({ type: 'function', name: 'x' }), undefined, 'invalid_request', 'tools', /128/],
    [[{ type: 'web_search' }], undefined, 'unsupported_tools', 'tools.0.type', /web_search/],
    [[{ type: 'mcp', server_url: 'https://x.example' }], undefined, 'unsupported_tools', 'tools.0.type', /MCP/],
    [[{ name: 'weather' }], undefined, 'unsupported_tools', 'tools.0.type'],
    [[{ type: 'function', function: { name: 'a b' } }], undefined, 'invalid_request', 'tools.0.function.name'],
    [[{ type: 'function', name: '' }], undefined, 'invalid_request', 'tools.0.name'],
    [[{ type: 'function', name: 'x', parameters: 'y' }], undefined, 'schema_error', 'tools.0.parameters'],
    [[{ type: 'function', name: 'x', strict: 'y' }], undefined, 'invalid_request', 'tools.0.strict'],
    [[{ type: 'file_search', vector_store_ids: [] }], undefined, 'invalid_request', 'tools.0.vector_store_ids'],
    [[{ type: 'file_search', max_num_results: 3 }], undefined, 'invalid_request', 'tools.0.vector_store_ids'],
    [
      [{ type: 'file_search', vector_store_ids: ['vs_1'], max_num_results: 51 }],
      undefined,
      'invalid_request',
      'tools.0.max_num_results',
    ],
    [
      [{ type: 'file_search', vector_store_ids: ['vs_1'], filters: 'lang' }],
      undefined,
      'invalid_request',
      'tools.0.filters',
    ],
    [
      [{ type: 'file_search', vector_store_ids: ['vs_1'], ranking_options: { score_threshold: 2 } }],
      undefined,
      'invalid_request',
      'tools.0.ranking_options.score_threshold',
    ],
    [
      [{ type: 'file_search', vector_store_ids: ['vs_1'], ranking_options: { hybrid_search: { text_weight: 1 } } }],
      undefined,
      'invalid_request',
      'tools.0.ranking_options.hybrid_search',
    ],
    [[{ type: 'file_search' }, { type: 'file_search' }], undefined, 'invalid_request', 'tools'],
    [[], 'sometimes', 'invalid_tool_choice', 'tool_choice'],
    [[], { type: 'function' }, 'invalid_tool_choice', 'tool_choice'],
    [[], { type: 'mcp', server_label: 'x' }, 'invalid_tool_choice', 'tool_choice'],
    [
      [],
      { type: 'allowed_tools', tools: [{ type: 'function', name: 'gone' }] },
      'invalid_tool_choice',
      'tool_choice',
      /gone/,
    ],
  ];
  for (const [tools, choice, code, param, message] of bad) {
    assert.throws(() => parseTools(tools, choice), refusal(code, param, message));
  }
});

test('a format is read in both spellings, and a refusal names the member of the surface', async () => {
  const from = (param: string) => ({ schemas, projectId: 'prj_1', param });
  const schema = { type: 'object', properties: {}, additionalProperties: false };
  const expected = { type: 'json', schema, name: 'thing' };
  const wrapped = { type: 'json_schema', json_schema: { name: 'thing', schema, strict: true } };
  assert.deepEqual(await readResponseFormat(wrapped, from('response_format')), expected);
  assert.deepEqual(await readResponseFormat({ type: 'json_schema', name: 'thing', schema }, from('x')), expected);
  assert.deepEqual(await readResponseFormat(undefined, from('text.format')), { type: 'text' });
  const wide = { schema: { anyOf: Array.from({ length: 501 }, () => ({})) } };
  for (const format of ['json', [], {}, { type: 'xml' }, { type: 'json_schema' }, { ...wrapped, json_schema: wide }]) {
    await assert.rejects(
      readResponseFormat(format, from('text.format')),
      refusal('invalid_response_format', 'text.format', /`text\.format`/),
    );
  }
});

test('parameters of tools are limited, each and together, and the refusal names place and limit', () => {
  const named = (name: string, parameters: object) => ({ type: 'function', function: { name, parameters } });
  const many = { type: 'object', properties: { size: { enum: Array.from({ length: 5_001 }, (_, n) => n) } } };
  assert.throws(
    () => parseTools([named('a', CITY), named('b', many)], undefined),
    refusal('invalid_request', 'tools.1.function.parameters', /5000 values of `enum`.*`\/properties\/size\/enum`/),
  );
  const large = { type: 'object', description: 'x'.repeat(900_000) };
  assert.equal(parseTools([named('a', large), named('b', large)], undefined).tools.length, 2);
  assert.throws(
    () => parseTools([named('a', large), named('b', large), named('c', large)], undefined),
    refusal('invalid_request', 'tools.2.function.parameters', /all of the request to more than 2000000 bytes/),
  );
});

test('an effort is one of the known words', () => {
  assert.equal(readReasoningEffort('low', 'reasoning.effort'), 'low');
  assert.equal(readReasoningEffort(null, 'reasoning.effort'), null);
  for (const effort of ['extreme', 3, {}]) {
    assert.throws(
      () => readReasoningEffort(effort, 'reasoning.effort'),
      refusal('invalid_reasoning_effort', 'reasoning.effort', /minimal/),
    );
  }
});
