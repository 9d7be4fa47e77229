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
  assert.deepEqual(chat, { tools: [parsed], toolChoice: 'auto', fileSearch: undefined, mcp: [] });
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

const SERVER = { server_label: 'wiki', server_url: 'https://wiki.example/mcp' };
const MCP = { type: 'mcp', ...SERVER };

test('an MCP server is read whole, with what is sent to it apart', () => {
  const [server] = parseTools(
    [
      {
        ...MCP,
        server_description: 'Pages.',
        authorization: 'Bearer secret-1',
        headers: { 'X-Team': ' blue ' },
        allowed_tools: { tool_names: ['find', 'find'], read_only: true },
        require_approval: { always: { read_only: false }, never: { tool_names: ['find'] } },
      },
    ],
    undefined,
  ).mcp;
  assert.deepEqual(server, {
    at: 'tools.0',
    label: 'wiki',
    url: 'https://wiki.example/mcp',
    description: 'Pages.',
    allowed: { tool_names: ['find'], read_only: true },
    approval: { always: { read_only: false }, never: { tool_names: ['find'] } },
    headers: { authorization: 'Bearer secret-1', 'x-team': 'blue' },
  });
  const [bare] = parseTools([{ ...MCP, allowed_tools: null, require_approval: null, headers: null }], undefined).mcp;
  assert.deepEqual(
    [bare?.allowed, bare?.approval, bare?.headers, bare?.description],
    [null, 'always', undefined, null],
  );
});

test('a choice of an MCP server, and what allowed_tools leaves of servers', () => {
  const choose = (choice: unknown, more: object = {}) =>
    parseTools(
      [
        { ...MCP, ...more },
        { ...MCP, server_label: 'crm' },
        { type: 'function', name: 'clock' },
      ],
      choice,
    );
  assert.deepEqual(choose({ type: 'mcp', server_label: 'wiki' }).toolChoice, { server: 'wiki' });
  // As the AI SDK sends it: of the only server.
  assert.deepEqual(parseTools([MCP], { type: 'mcp' }).toolChoice, { server: 'wiki' });
  assert.throws(() => choose({ type: 'mcp' }), refusal('invalid_tool_choice', 'tool_choice', /server_label/));
  const one = { type: 'mcp', server_label: 'wiki', name: 'find' };
  assert.deepEqual(choose(one).toolChoice, { server: 'wiki', tool: 'find' });
  const left = (tools: unknown[], more?: object) => {
    const { mcp, tools: functions } = choose({ type: 'allowed_tools', tools }, more);
    return [mcp.map(({ label, allowed }) => [label, allowed?.tool_names]), functions.length];
  };
  assert.deepEqual(left([{ type: 'mcp', server_label: 'wiki' }]), [[['wiki', undefined]], 0]);
  assert.deepEqual(left([one, { ...one, name: 'edit' }]), [[['wiki', ['find', 'edit']]], 0]);
  assert.deepEqual(left([one, { type: 'function', name: 'clock' }], { allowed_tools: ['edit'] }), [[['wiki', []]], 1]);
});

const badServers: [Record<string, unknown>, string, string, (RegExp | undefined)?][] = [
  [{ connector_id: 'connector_gmail' }, 'unsupported_tools', 'connector_id'],
  [{ tunnel_id: 't' }, 'unsupported_tools', 'tunnel_id'],
  [{ server_label: undefined }, 'invalid_request', 'server_label'],
  [{ server_label: '1st' }, 'invalid_request', 'server_label'],
  [{ server_label: 'x'.repeat(65) }, 'invalid_request', 'server_label'],
  [{ server_url: undefined }, 'url_required', 'server_url'],
  [{ server_url: 7 }, 'invalid_request', 'server_url'],
  [{ server_url: `https://x.example/${'x'.repeat(4_100)}` }, 'invalid_request', 'server_url'],
  [{ server_description: 'x'.repeat(4_097) }, 'invalid_request', 'server_description'],
  [{ authorization: 'two words' }, 'invalid_request', 'authorization'],
  [{ authorization: '' }, 'invalid_request', 'authorization'],
  [{ authorization: 'x'.repeat(8_193) }, 'invalid_request', 'authorization'],
  [{ authorization: 'a', headers: { Authorization: 'b' } }, 'invalid_request', 'headers', /beside/],
  [{ headers: [] }, 'invalid_request', 'headers'],
  [{ headers: { 'a b': 'c' } }, 'invalid_request', 'headers'],
  [{ headers: { a: 'b\r\nc: d' } }, 'invalid_request', 'headers', /line breaks/],
  [{ headers: { a: 7 } }, 'invalid_request', 'headers'],
  [{ headers: { a: '1', A: '2' } }, 'invalid_request', 'headers', /twice/],
  [{ headers: { Host: 'x.example' } }, 'invalid_request', 'headers', /host/],
  [{ headers: { 'Mcp-Session-Id': '1' } }, 'invalid_request', 'headers', /mcp-session-id/],
  [{ headers: { 'Proxy-Authorization': '1' } }, 'invalid_request', 'headers', /proxy-authorization/],
  [{ headers: { 'Transfer-Encoding': 'chunked' } }, 'invalid_request', 'headers', /transfer-encoding/],
  [
    { headers: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`h${n}`, '1'])) },
    'invalid_request',
    'headers',
    /32/,
  ],
  [{ headers: { a: 'x'.repeat(8_192), b: 'x'.repeat(8_192), c: '1' } }, 'invalid_request', 'headers', /16384/],
  [{ allowed_tools: 'find' }, 'invalid_request', 'allowed_tools'],
  [{ allowed_tools: [''] }, 'invalid_request', 'allowed_tools.0'],
  [{ allowed_tools: { read_only: 'yes' } }, 'invalid_request', 'allowed_tools.read_only'],
  [{ allowed_tools: { tool_names: 'find' } }, 'invalid_request', 'allowed_tools.tool_names'],
  [{ require_approval: 'sometimes' }, 'invalid_request', 'require_approval'],
  [{ require_approval: { never: ['find'] } }, 'invalid_request', 'require_approval.never'],
];

test('what is no tool or no choice is refused by name', () => {
  const bad: [unknown, unknown, string, string, (RegExp | undefined)?][] = [
    ['weather', undefined, 'invalid_request', 'tools'],
    [[null], undefined, 'invalid_request', 'tools.0'],
    [Array(129).fill({ type: 'function', name: 'x' }), undefined, 'invalid_request', 'tools', /128/],
    [[{ type: 'web_search' }], undefined, 'unsupported_tools', 'tools.0.type', /web_search/],
    ...badServers.map((bad): [unknown, unknown, string, string, (RegExp | undefined)?] => [
      [{ type: 'mcp', ...SERVER, ...bad[0] }],
      undefined,
      bad[1],
      `tools.0.${bad[2]}`,
      bad[3],
    ]),
    [[MCP, MCP], undefined, 'invalid_request', 'tools.1.server_label', /wiki/],
    [
      Array.from({ length: 17 }, (_, n) => ({ ...MCP, server_label: `s${n}` })),
      undefined,
      'invalid_request',
      'tools',
      /16/,
    ],
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
    [[], { type: 'mcp' }, 'invalid_tool_choice', 'tool_choice', /server_label/],
    [[], { type: 'mcp', server_label: 'x', name: 7 }, 'invalid_tool_choice', 'tool_choice'],
    [
      [MCP],
      { type: 'allowed_tools', tools: [{ type: 'mcp', server_label: 'gone' }] },
      'invalid_tool_choice',
      'tool_choice',
      /gone/,
    ],
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
