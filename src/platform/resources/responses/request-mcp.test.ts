/** MCP servers that a request brings, with a server on loopback that tests steer. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type FakeMcpServer, type FakeTool, startMcpServer } from '../../../../test/fakes/mcp-server.ts';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startEverythingServer } from '../../../../test/support/everything-server.ts';
import { createClient, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { checkEvents, parseEvents } from '../../../../test/support/response-events.ts';
import { eventually, FAKE_MODEL, sentBody, sentTexts, useUpstream } from '../../../../test/support/turns.ts';
import { listLost, resealColumn, sealedColumns } from '../../../command-line/sealed-columns.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { createLogger } from '../../../kernel/log/log.ts';

const upstream = await startOpenAiUpstream();
const logged: string[] = [];
/** Longer than anything takes here, on a busy machine too. */
const mcpLimits = { connectMs: 120_000, listMs: 120_000, callMs: 120_000 };
const platform = await startPlatform({
  outboundAllow: ['127.0.0.1', 'example.com'],
  mcpLimits,
  logger: createLogger({ logLevel: 'trace' }, { write: (line) => void logged.push(line) }),
});
after(async () => {
  await platform.close();
  await upstream.close();
});

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape.
type Json = any;

const ECHO: FakeTool = { name: 'echo', description: 'Gives back what it is given.' };
const LOOK: FakeTool = { name: 'look', annotations: { readOnlyHint: true } };
const TOKEN = 'token-4f1c9a7e55';
const TEAM = 'team-88d0c2b3a1';
const FRESH = 'fresh-7be20d11c9';

interface Setting {
  readonly server: FakeMcpServer;
  readonly p: TestProject;
  readonly smithId: string;
  /** The tool that a request brings. */
  readonly mcp: (more?: object) => Json;
  /** A response of the smith. */
  readonly respond: (body: object) => Promise<Json>;
}

async function setUp(
  tools: FakeTool[],
  work: (setting: Setting) => Promise<void>,
  smith: Record<string, unknown> = {},
): Promise<void> {
  const server = await startMcpServer(tools);
  try {
    const p = await platform.createProject();
    const smithId = await p.createSmith(smith);
    const mcp = (more: object = {}) => ({ type: 'mcp', server_label: 'peer', server_url: server.url, ...more });
    await work({ server, p, smithId, mcp, respond: responder(p, smithId) });
  } finally {
    await server.close();
  }
}

function responder(p: Pick<TestProject, 'post'>, smithId: string) {
  return async (body: object): Promise<Json> => {
    const { status, body: response, text } = await p.post('/v1/responses', body, { 'ic-smith-id': smithId });
    assert.equal(status, 200, text);
    return response;
  };
}

function listsOf(server: FakeMcpServer) {
  return server.received.filter(({ method }) => method === 'tools/list');
}

function typesOf(response: Json): string[] {
  return response.output.map(({ type }: Json) => type);
}

/** Tables with a row that holds the text. */
async function findText(db: Database, text: string): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>({
    text: `
      select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    values: [],
  });
  const found: string[] = [];
  for (const { name } of rows) {
    const { rows: hits } = await db.query<{ n: number }>({
      text: `select count(*)::int as n from ${name} t where strpos(t::text, $1) > 0`,
      values: [text],
    });
    if ((hits[0]?.n ?? 0) > 0) found.push(name);
  }
  return found;
}

async function sealedOf(runId: string): Promise<string | null> {
  const { rows } = await platform.db.query<{ sealed: string | null }>({
    text: 'select sealed_mcp_credentials as sealed from runs where id = $1',
    values: [runId],
  });
  assert.equal(rows.length, 1);
  return rows[0]?.sealed ?? null;
}

async function onlyRun({ p, smithId }: Setting): Promise<Json> {
  const { body } = await p.get(`/v1/smiths/${smithId}/runs`);
  assert.equal(body.data.length, 1);
  return body.data[0];
}

const approve = (response: Json, more: object = {}) => ({
  previous_response_id: response.id,
  input: response.output
    .filter(({ type }: Json) => type === 'mcp_approval_request')
    .map(({ id }: Json) => ({ type: 'mcp_approval_response', approval_request_id: id, approve: true })),
  ...more,
});

test('a turn calls a server of its request, which is asked for its tools once', () =>
  setUp([ECHO, LOOK], async (setting) => {
    const { server, p, mcp, respond } = setting;
    const response = await respond({
      input: 'Call the tool peer__echo with {"n":1}, then call the tool peer__look with {}',
      tools: [mcp({ require_approval: 'never', authorization: TOKEN, headers: { 'X-Team': TEAM } })],
    });
    assert.equal(response.status, 'completed', JSON.stringify(response.error));
    assert.deepEqual(typesOf(response), ['mcp_list_tools', 'mcp_call', 'mcp_call', 'message']);
    const [list, call] = response.output;
    assert.deepEqual(list, {
      id: list.id,
      type: 'mcp_list_tools',
      status: 'completed',
      server_label: 'peer',
      tools: [
        { name: 'echo', description: 'Gives back what it is given.', input_schema: { type: 'object' } },
        { name: 'look', input_schema: { type: 'object' }, annotations: { readOnlyHint: true } },
      ],
    });
    assert.match(list.id, /^mcpl_/);
    assert.partialDeepStrictEqual(call, {
      status: 'completed',
      server_label: 'peer',
      name: 'echo',
      arguments: '{"n":1}',
      output: '{"n":1}',
    });
    assert.deepEqual([listsOf(server).length, server.calls().length], [1, 2]);
    for (const { method, headers } of server.received) {
      assert.deepEqual([headers.authorization, headers['x-team']], [`Bearer ${TOKEN}`, TEAM], method);
    }
    const run = await onlyRun(setting);
    const trace = await p.get(`/v1/traces/${run.id.replace('run_', 'trc_')}`);
    const names = trace.body.spans.map(({ name }: Json) => name);
    assert.ok(names.includes('tools/list peer'), names.join());
    const { rows } = await platform.db.query<{ target: Json }>({
      text: `select target from run_steps where run_id = $1 and call_id is not null order by position limit 1`,
      values: [run.id],
    });
    const { tool, ...target } = rows[0]?.target ?? {};
    assert.deepEqual(target, { url: server.url, server_label: 'peer', tool_name: 'echo' });
    assert.match(tool, /^[0-9a-f]{64}$/);
  }));

test('what is sent to the server is sealed while the run is open, and is nowhere else, then or later', () =>
  setUp([ECHO], async (setting) => {
    const { server, p, smithId, mcp, respond } = setting;
    const tools = [mcp({ authorization: TOKEN, headers: { 'X-Team': TEAM } })];
    const first = await respond({ input: 'Call the tool peer__echo with {"n":1}', tools });
    assert.deepEqual(typesOf(first), ['mcp_list_tools', 'mcp_approval_request']);
    assert.deepEqual(first.tools, [{ type: 'mcp', server_label: 'peer', server_url: server.url, headers: null }]);
    const { id: runId } = await onlyRun(setting);
    assert.match((await sealedOf(runId)) ?? '', /^v1\./);
    const column = sealedColumns.find(({ table }) => table === 'runs');
    assert.ok(column);
    assert.deepEqual(await listLost(platform.db, platform.vault, column), []);
    const { sealed, unreadable } = await resealColumn(platform.db, platform.vault, column);
    assert.deepEqual([sealed, unreadable], [0, 0]);
    const secrets = [TOKEN, TEAM, FRESH];
    const absent = async () => {
      for (const secret of secrets) assert.deepEqual(await findText(platform.db, secret), [], secret);
    };
    await absent();
    const fresh = [mcp({ headers: { Authorization: `Bearer ${FRESH}` } })];
    const last = await respond(approve(first, { tools: fresh }));
    assert.equal(last.status, 'completed', JSON.stringify(last.error));
    assert.deepEqual(last.tools, [{ type: 'mcp', server_label: 'peer', server_url: server.url, headers: null }]);
    const [call] = server.calls();
    assert.deepEqual([call?.headers.authorization, call?.headers['x-team']], [`Bearer ${FRESH}`, undefined]);
    assert.equal(listsOf(server).length, 1);
    assert.equal(await sealedOf(runId), null);
    await absent();
    const shown = [
      JSON.stringify(first),
      JSON.stringify(last),
      (await p.get(`/v1/responses/${first.id}`)).text,
      (await p.get(`/v1/smiths/${smithId}/runs/${runId}`)).text,
      (await p.get(`/v1/smiths/${smithId}/runs/${runId}/events`)).text,
      (await p.get('/v1/events')).text,
      logged.join('\n'),
    ];
    for (const secret of secrets) assert.ok(!shown.some((text) => text.includes(secret)), secret);
  }));

test('what a server says of a credential is not passed on', () =>
  setUp([ECHO], async ({ server, mcp, respond }) => {
    server.intercept = (request, response, { id, method }) => {
      if (method !== 'tools/call') return false;
      const message = `no such key: ${request.headers.authorization}`;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message } }));
      return true;
    };
    const tools = [mcp({ require_approval: 'never', authorization: TOKEN })];
    const response = await respond({ input: 'Call the tool peer__echo with {}', tools });
    const [, call] = response.output;
    assert.match(call.error, /The MCP server peer could not be called: the server refused: no such key/);
    server.intercept = undefined;
    for (const isError of [false, true]) {
      server.onCall = () => ({
        content: [{ type: 'text', text: `You are ${TOKEN}, of ${TEAM}.` }],
        structuredContent: { you: { [TEAM]: [`Bearer ${TOKEN}`] } },
        isError,
      });
      const again = await respond({
        input: 'Call the tool peer__echo with {}',
        tools: [mcp({ require_approval: 'never', authorization: TOKEN, headers: { 'X-Team': TEAM } })],
      });
      assert.equal(again.output[1].output ?? again.output[1].error, 'You are …, of ….');
    }
    assert.deepEqual(await findText(platform.db, TEAM), []);
    assert.deepEqual(await findText(platform.db, TOKEN), []);
  }));

test('fresh credentials go to the address that the run began with, or the answer is refused', () =>
  setUp([ECHO], async ({ p, smithId, server, mcp, respond }) => {
    const first = await respond({ input: 'Call the tool peer__echo with {}', tools: [mcp({ authorization: TOKEN })] });
    const elsewhere = mcp({ authorization: FRESH, server_url: 'https://example.com/mcp' });
    const refused = await p.post('/v1/responses', approve(first, { tools: [elsewhere] }), { 'ic-smith-id': smithId });
    assert.deepEqual(
      [refused.status, refused.body.error.code, refused.body.error.param],
      [422, 'invalid_request', 'tools.0.server_url'],
    );
    const bad = await p.post('/v1/responses', approve(first, { tools: [mcp({ authorization: 'a b' })] }), {
      'ic-smith-id': smithId,
    });
    assert.equal(bad.body.error.param, 'tools.0.authorization');
    // One that the run does not have, and the run's own without anything, change nothing.
    const tools = [mcp(), { ...elsewhere, server_label: 'other' }];
    assert.equal((await respond(approve(first, { tools }))).status, 'completed');
    assert.equal(server.calls()[0]?.headers.authorization, `Bearer ${TOKEN}`);
  }));

describe('what ends a run wipes what may be sent', () => {
  const slow = { ...ECHO, name: 'slow' };
  test('a failure', () =>
    setUp([], async (setting) => {
      setting.server.intercept = (_request, response) => response.writeHead(500).end() !== undefined;
      const response = await setting.respond({ input: 'Hi', tools: [setting.mcp({ authorization: TOKEN })] });
      assert.equal(response.status, 'failed');
      assert.equal(await sealedOf((await onlyRun(setting)).id), null);
    }));

  test('a cancellation, of a paused run and of one under way', () =>
    setUp([slow], async (setting) => {
      const { p, smithId, server, mcp, respond } = setting;
      await respond({
        input: 'Call the tool peer__slow with {}',
        tools: [mcp({ authorization: TOKEN })],
      });
      const { id } = await onlyRun(setting);
      assert.notEqual(await sealedOf(id), null);
      assert.equal((await p.post(`/v1/smiths/${smithId}/runs/${id}/cancel`)).status, 200);
      assert.equal(await sealedOf(id), null);
      server.onCall = () => new Promise(() => {});
      const begun = await respond({
        input: 'Call the tool peer__slow with {}',
        background: true,
        tools: [mcp({ authorization: TOKEN, require_approval: 'never' })],
      });
      await eventually(() => (server.calls().length > 0 ? true : undefined), 'the call is made');
      const [{ id: second }] = (await p.get(`/v1/smiths/${smithId}/runs`)).body.data;
      assert.notEqual(await sealedOf(second), null);
      assert.equal((await p.post(`/v1/responses/${begun.id}/cancel`)).status, 200);
      assert.equal(await sealedOf(second), null);
    }));
});

test('a run that is cancelled while a server is asked for its tools ends, and so does the item', () =>
  setUp([ECHO], async ({ p, server, mcp, respond }) => {
    server.intercept = (_request, _response, { method }) => method === 'tools/list';
    const begun = await respond({ input: 'Hi', background: true, tools: [mcp()] });
    await eventually(() => (listsOf(server).length > 0 ? true : undefined), 'the server is asked');
    const cancelled = await p.post(`/v1/responses/${begun.id}/cancel`);
    assert.deepEqual([cancelled.body.status, typesOf(cancelled.body)], ['cancelled', ['mcp_list_tools']]);
    assert.equal(cancelled.body.output[0].status, 'incomplete');
  }));

describe('a list that fails is an item with its error, and the turn fails with its code', () => {
  const failures: [string, string, (server: FakeMcpServer) => void, RegExp][] = [
    [
      'a server that asks who calls',
      'auth_required',
      (server) => {
        server.intercept = (_request, response) => response.writeHead(401).end() !== undefined;
      },
      /asks for authorization that the request does not give/,
    ],
    [
      'a server that is none of the protocol',
      'discovery_failed',
      (server) => {
        server.intercept = (_request, response) =>
          response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello') !== undefined;
      },
      /./,
    ],
    [
      'a redirect to another address, which is not followed',
      'invalid_url',
      (server) => {
        server.intercept = (_request, response) =>
          response.writeHead(307, { location: 'http://169.254.169.254/latest' }).end() !== undefined;
      },
      /./,
    ],
    [
      'more tools than a list may have',
      'discovery_failed',
      (server) => {
        server.tools = Array.from({ length: 1_001 }, (_, n) => ({ name: `t${n}` }));
      },
      /more than 1000 tools/,
    ],
  ];
  for (const [what, code, misbehave, message] of failures) {
    test(what, () =>
      setUp([ECHO], async ({ p, smithId, server, mcp }) => {
        misbehave(server);
        const body = { input: 'Hi', tools: [mcp()], stream: true };
        const streamed = await p.post('/v1/responses', body, { 'ic-smith-id': smithId });
        const events = parseEvents(streamed.text);
        const response = checkEvents(events);
        assert.deepEqual(
          [response.status, response.error.code, typesOf(response)],
          ['failed', code, ['mcp_list_tools']],
        );
        const [item] = response.output;
        assert.match(item.error, /^The tools of the MCP server peer could not be listed: /);
        assert.match(item.error, message);
        assert.deepEqual([item.status, item.tools], ['failed', []]);
        const types = events.map(({ type }) => type);
        assert.ok(types.includes('response.mcp_list_tools.in_progress'));
        assert.ok(types.includes('response.mcp_list_tools.failed'));
        const chat = await p.post(
          '/v1/chat/completions',
          { messages: [{ role: 'user', content: 'Hi' }], tools: [mcp()] },
          { 'ic-smith-id': smithId },
        );
        assert.equal(chat.body.error?.code, code, chat.text);
        assert.deepEqual(server.calls(), []);
      }),
    );
  }

  test('nothing that answers', () =>
    setUp([ECHO], async ({ server, mcp, respond }) => {
      await server.close();
      const response = await respond({ input: 'Hi', tools: [mcp()] });
      assert.equal(response.error.code, 'connect_failed', response.error.message);
    }));
});

test('the events of a list and of calls are those of the dialect', () =>
  setUp([ECHO], async ({ p, smithId, mcp }) => {
    const body = {
      input: 'Call the tool peer__echo with {"n":1}',
      tools: [mcp({ require_approval: 'never' })],
      stream: true,
    };
    const { text } = await p.post('/v1/responses', body, { 'ic-smith-id': smithId });
    const events = parseEvents(text);
    const response = checkEvents(events);
    assert.deepEqual(typesOf(response), ['mcp_list_tools', 'mcp_call', 'message']);
    assert.deepEqual(
      events.slice(2, 6).map(({ type }) => type),
      [
        'response.output_item.added',
        'response.mcp_list_tools.in_progress',
        'response.mcp_list_tools.completed',
        'response.output_item.done',
      ],
    );
    const replayed = await p.get(`/v1/responses/${response.id}?stream=true`);
    assert.deepEqual(parseEvents(replayed.text), events);
  }));

describe('approvals', () => {
  const cases: [string, unknown, boolean, boolean][] = [
    ['always by default', undefined, true, true],
    ['never', 'never', false, false],
    ['those that `always` names, and no other', { always: { tool_names: ['echo'] } }, true, false],
    ['all but those that `never` names', { never: { tool_names: ['echo'] } }, false, true],
    ['all but those that only read', { never: { read_only: true } }, true, false],
    ['`always` before `never`', { always: { tool_names: ['echo'] }, never: { read_only: false } }, true, true],
  ];
  for (const [what, require_approval, echo, look] of cases) {
    test(what, () =>
      setUp([ECHO, LOOK], async ({ server, mcp, respond }) => {
        for (const [name, isAsked] of [
          ['echo', echo],
          ['look', look],
        ] as const) {
          const input = `Call the tool peer__${name} with {}`;
          const response = await respond({ input, tools: [mcp({ require_approval })] });
          const asked = typesOf(response).includes('mcp_approval_request');
          assert.equal(asked, isAsked, `${name}: ${JSON.stringify(response.output)}`);
          const made = server.calls().filter(({ params }) => params.name === name).length;
          assert.equal(made, isAsked ? 0 : 1);
        }
      }),
    );
  }

  test('a rejected call is not made', () =>
    setUp([ECHO], async ({ server, mcp, respond }) => {
      const first = await respond({ input: 'Call the tool peer__echo with {}', tools: [mcp()] });
      const [, { id }] = first.output;
      const input = [{ type: 'mcp_approval_response', approval_request_id: id, approve: false, reason: 'No.' }];
      const last = await respond({ previous_response_id: first.id, input });
      assert.match(last.output.at(-1).content[0].text, /denied.*No\./);
      assert.deepEqual(server.calls(), []);
    }));
});

test('only the allowed tools are shown and offered', () =>
  setUp([ECHO, LOOK], async ({ mcp, respond }) => {
    const shown = async (allowed_tools: unknown) => {
      const response = await respond({
        input: 'Call the tool peer__echo with {}',
        tools: [mcp({ allowed_tools, require_approval: 'never' })],
      });
      const [list, next] = response.output;
      return [list.tools.map(({ name }: Json) => name), next.type];
    };
    assert.deepEqual(await shown(['look']), [['look'], 'message']);
    assert.deepEqual(await shown(['echo']), [['echo'], 'mcp_call']);
    assert.deepEqual(await shown({ read_only: true }), [['look'], 'message']);
    assert.deepEqual(await shown({ read_only: false }), [['echo'], 'mcp_call']);
    assert.deepEqual(await shown({ tool_names: ['echo'], read_only: true }), [[], 'message']);
  }));

test('a tool whose schema cannot be used is left out, and the run says so', () =>
  setUp(
    [ECHO, { name: 'odd', inputSchema: { type: 'object', anyOf: Array.from({ length: 501 }, () => ({})) } }],
    async (setting) => {
      const response = await setting.respond({ input: 'Hi', tools: [setting.mcp()] });
      assert.deepEqual(
        response.output[0].tools.map(({ name }: Json) => name),
        ['echo'],
      );
      const { warnings } = await onlyRun(setting);
      assert.deepEqual(
        warnings.map(({ code }: Json) => code),
        ['mcp_tools_left_out'],
      );
      assert.match(warnings[0].message, /The MCP server peer: .*odd: its input schema cannot be used/);
    },
  ));

test('a choice of the server makes the model call one of its tools, and no other', () =>
  setUp(
    [ECHO, LOOK],
    async ({ p, smithId, mcp, respond }) => {
      await useUpstream(p, upstream);
      const tools = [mcp({ require_approval: 'never', server_description: 'Things  that\n are known.' }), fn('own')];
      const chosen = async (tool_choice: unknown) => {
        upstream.respondWith([{ type: 'answer', deltas: ['Fine.'] }]);
        const { status } = await respond({ input: 'Hi', tools, tool_choice });
        assert.equal(status, 'completed');
        const { tools: offered, tool_choice: forced } = sentBody(upstream);
        return [offered.map(({ function: { name } }: Json) => name), forced];
      };
      assert.deepEqual(await chosen({ type: 'mcp', server_label: 'peer' }), [['peer__echo', 'peer__look'], 'required']);
      assert.match(sentTexts(upstream)[0] ?? '', /^system: [\s\S]*- peer: Things that are known\./);
      assert.deepEqual(await chosen({ type: 'mcp', server_label: 'peer', name: 'look' }), [
        ['peer__look'],
        { type: 'function', function: { name: 'peer__look' } },
      ]);
      const unknown = await respond({
        input: 'Hi',
        tools,
        tool_choice: { type: 'mcp', server_label: 'peer', name: 'no' },
      });
      assert.deepEqual([unknown.status, unknown.error.code], ['failed', 'invalid_tool_choice']);
      const gone = { input: 'Hi', tools, tool_choice: { type: 'mcp', server_label: 'gone' } };
      const refused = await p.post('/v1/responses', gone, { 'ic-smith-id': smithId });
      assert.deepEqual([refused.body.error?.code, refused.body.error?.param], ['invalid_tool_choice', 'tool_choice']);
    },
    { model: FAKE_MODEL },
  ));

function fn(name: string) {
  return { type: 'function', name, parameters: { type: 'object', properties: {} } };
}

test('bad servers are refused before the turn begins', () =>
  setUp([ECHO], async ({ p, smithId, server, mcp }) => {
    assert.equal((await p.put('/v1/tenant/mcp/known', { url: server.url })).status, 201);
    for (const [more, code, param] of [
      [{ server_url: 'http://wiki.example.com/' }, 'invalid_url', 'tools.0.server_url'],
      [{ server_url: 'https://10.0.0.1/mcp' }, 'invalid_url', 'tools.0.server_url'],
      [{ server_url: 'https://u:p@example.com/mcp' }, 'invalid_url', 'tools.0.server_url'],
      [{ server_url: 'https://example.com/mcp#x' }, 'invalid_url', 'tools.0.server_url'],
      [{ server_url: 'nowhere' }, 'invalid_url', 'tools.0.server_url'],
      [{ server_url: undefined }, 'url_required', 'tools.0.server_url'],
      [{ connector_id: 'connector_gmail' }, 'unsupported_tools', 'tools.0.connector_id'],
      [{ server_label: 'known' }, 'invalid_request', 'tools'],
      [{ server_label: 'ironcraft' }, 'invalid_request', 'tools'],
      [{ headers: { Host: 'x' } }, 'invalid_request', 'tools.0.headers'],
    ] as const) {
      for (const [path, body] of [
        ['/v1/responses', { input: 'Hi' }],
        ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
      ] as const) {
        const answer = await p.post(path, { ...body, tools: [mcp(more)] }, { 'ic-smith-id': smithId });
        assert.deepEqual(
          [answer.status, answer.body.error?.code, answer.body.error?.param],
          [422, code, param],
          `${path} ${JSON.stringify(more)}`,
        );
      }
    }
    assert.deepEqual((await p.get(`/v1/smiths/${smithId}/runs`)).body.data, []);
  }));

describe('a list that is known spares the server the question', () => {
  const ask = 'Call the tool peer__echo with {"n":1}';
  const types = ['mcp_call', 'message'];

  test('one that the input brings', () =>
    setUp([ECHO], async ({ server, mcp, respond }) => {
      const tools = [mcp({ require_approval: 'never' })];
      const brought = {
        type: 'mcp_list_tools',
        id: 'mcpl_1',
        server_label: 'peer',
        tools: [{ name: 'echo', input_schema: { type: 'object' }, description: null, annotations: null }],
        error: null,
      };
      const message = { role: 'user', content: ask };
      assert.deepEqual(typesOf(await respond({ input: [brought, message], tools })), types);
      assert.equal(listsOf(server).length, 0);
      // Another server's, a failed one, and an empty one are none of this server.
      for (const other of [
        { ...brought, server_label: 'other' },
        { ...brought, error: 'Gone.' },
        { ...brought, tools: [] },
      ]) {
        const before = listsOf(server).length;
        assert.deepEqual(typesOf(await respond({ input: [other, message], tools })), ['mcp_list_tools', ...types]);
        assert.equal(listsOf(server).length, before + 1);
      }
    }));

  test('what a client brings is checked as what a server lists', () =>
    setUp([ECHO], async ({ p, smithId, mcp, respond }) => {
      const tools = [mcp({ require_approval: 'never' })];
      const bring = (listed: unknown) => ({
        input: [
          { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'peer', tools: listed },
          { role: 'user', content: ask },
        ],
        tools,
      });
      const wide = { type: 'object', anyOf: Array.from({ length: 501 }, () => ({})) };
      assert.deepEqual(typesOf(await respond(bring([{ name: 'echo', input_schema: wide }]))), ['message']);
      for (const [listed, param] of [
        [[{ name: 'echo' }], 'input.0.tools'],
        [[{ input_schema: {} }], 'input.0.tools'],
        [['echo'], 'input.0.tools'],
        [Array.from({ length: 1_001 }, (_, n) => ({ name: `t${n}`, input_schema: {} })), 'input.0.tools'],
      ] as const) {
        const refused = await p.post('/v1/responses', bring(listed), { 'ic-smith-id': smithId });
        assert.deepEqual(
          [refused.status, refused.body.error?.code, refused.body.error?.param],
          [422, 'invalid_input', param],
        );
      }
    }));

  test('that of the response before, at the same address', () =>
    setUp([ECHO], async ({ server, mcp, respond }) => {
      const tools = [mcp({ require_approval: 'never' })];
      let response = await respond({ input: 'Hi', tools: [mcp({ allowed_tools: [] })] });
      for (let turn = 0; turn < 3; turn += 1) {
        response = await respond({ previous_response_id: response.id, input: ask, tools });
        assert.deepEqual(typesOf(response), types);
      }
      assert.equal(listsOf(server).length, 1);
      const moved = [{ ...tools[0], server_url: `${server.url}/` }];
      const next = await respond({ previous_response_id: response.id, input: ask, tools: moved });
      assert.deepEqual(typesOf(next), ['mcp_list_tools', ...types]);
    }));

  test('its own, by reference or whole, rather than a copy of it', () =>
    setUp([ECHO], async ({ server, mcp, respond }) => {
      const tools = [mcp({ require_approval: 'never' })];
      const [list] = (await respond({ input: 'Hi', tools })).output;
      const message = { role: 'user', content: ask };
      const changed = { ...list, tools: [{ name: 'else', input_schema: {} }] };
      for (const item of [{ type: 'item_reference', id: list.id }, changed]) {
        assert.deepEqual(typesOf(await respond({ input: [item, message], tools })), types);
      }
      assert.equal(listsOf(server).length, 1);
      // Of another address it says nothing.
      const moved = [{ ...tools[0], server_url: `${server.url}/` }];
      assert.deepEqual(typesOf(await respond({ input: [changed, message], tools: moved })), [
        'mcp_list_tools',
        ...types,
      ]);
    }));
});

test('a run that goes on, on another replica too, does not ask again', async () => {
  const second = await startPlatform({ outboundAllow: ['127.0.0.1'], mcpLimits, sharing: platform });
  try {
    await setUp([ECHO, { ...LOOK, name: 'wait', annotations: { idempotentHint: true } }], async (setting) => {
      const { p, smithId, server, mcp, respond } = setting;
      const input = 'Call the tool peer__echo with {"n":1}, then call the tool peer__echo with {"n":2}';
      const first = await respond({ input, tools: [mcp({ authorization: TOKEN })] });
      const elsewhere = responder(createClient(second.url, p.token), smithId);
      const next = await elsewhere(approve(first));
      assert.deepEqual(typesOf(next), ['mcp_call', 'mcp_approval_request'], JSON.stringify(next));
      assert.equal((await respond(approve(next))).status, 'completed');
      assert.deepEqual(
        server.calls().map(({ params, headers }) => [params.arguments, headers.authorization]),
        [1, 2].map((n) => [{ n }, `Bearer ${TOKEN}`]),
      );
      // A replica that leaves during a call hands it on; the tool says that it may be made again.
      server.onCall = () => new Promise(() => {});
      const begun = await elsewhere({
        input: 'Call the tool peer__wait with {}',
        tools: [mcp({ require_approval: 'never', authorization: FRESH })],
        background: true,
      });
      await eventually(() => (server.calls().length === 3 ? true : undefined), 'the call is made');
      server.onCall = () => ({ content: [{ type: 'text', text: 'waited' }] });
      await second.close();
      const rested = await eventually(async () => {
        const { body } = await p.get(`/v1/responses/${begun.id}`);
        return body.status === 'in_progress' ? undefined : body;
      }, 'the turn goes on');
      assert.deepEqual([rested.status, typesOf(rested)], ['completed', ['mcp_list_tools', 'mcp_call', 'message']]);
      assert.equal(server.calls().at(-1)?.headers.authorization, `Bearer ${FRESH}`);
      assert.equal(listsOf(server).length, 2);
    });
  } finally {
    await second.close().catch(() => {});
  }
});

test('the question of a server of a request is answered, at another replica too', async () => {
  const everything = await startEverythingServer('streamableHttp');
  let second: Awaited<ReturnType<typeof startPlatform>> | undefined;
  try {
    const p = await platform.createProject();
    const smithId = await p.createSmith();
    const tools = [{ type: 'mcp', server_label: 'all', server_url: everything.url, require_approval: 'never' }];
    const ask = async () => {
      const first = await responder(
        p,
        smithId,
      )({
        input: 'Call the tool all__trigger-elicitation-request with {}',
        tools,
      });
      const asked = first.output.at(-1);
      assert.deepEqual([asked.type, asked.server_label], ['mcp_approval_request', 'all'], JSON.stringify(first.output));
      assert.equal(asked.elicitation.requested_schema.type, 'object');
      return { first, asked };
    };
    const questions = [await ask(), await ask()];
    // Not before: a process that is held up for some seconds would have one replica take over the other's call, which is not repeated.
    second = await startPlatform({ outboundAllow: ['127.0.0.1'], mcpLimits, sharing: platform });
    for (const [index, answering] of [platform, second].entries()) {
      const { first, asked } = questions[index] ?? assert.fail();
      const last = await responder(
        createClient(answering.url, p.token),
        smithId,
      )({
        previous_response_id: first.id,
        input: [
          {
            type: 'mcp_approval_response',
            approval_request_id: asked.id,
            approve: true,
            content: { name: 'Ada Lovelace' },
          },
        ],
      });
      const call = last.output.find(({ type }: Json) => type === 'mcp_call');
      assert.match(call?.output ?? '', /Ada Lovelace/, JSON.stringify(last));
    }
  } finally {
    await second?.close();
    await everything.close();
  }
});

test('a chat completion calls a server of its request', () =>
  setUp([ECHO], async ({ p, smithId, server, mcp }) => {
    const ask = (tools: unknown, stream: boolean) =>
      p.post(
        '/v1/chat/completions',
        { messages: [{ role: 'user', content: 'Call the tool peer__echo with {"n":1}' }], tools, stream },
        { 'ic-smith-id': smithId },
      );
    const plain = await ask([mcp({ require_approval: 'never', authorization: TOKEN })], false);
    assert.match(plain.body.choices[0].message.content, /"n":1/, plain.text);
    const streamed = await ask([mcp({ require_approval: 'never', authorization: TOKEN })], true);
    assert.equal(streamed.status, 200);
    assert.ok(!streamed.text.includes('mcp_'), streamed.text);
    assert.equal(server.calls().length, 2);
    // A pause for a function of the caller's is answered with what is sent from then on.
    const own = { type: 'function', function: { name: 'own', parameters: { type: 'object' } } };
    const question = {
      role: 'user',
      content: 'Call the tool own with {}, then call the tool peer__echo with {"n":2}',
    };
    const chat = (messages: unknown, authorization: string) =>
      p.post(
        '/v1/chat/completions',
        { messages, tools: [own, mcp({ require_approval: 'never', authorization })] },
        { 'ic-smith-id': smithId },
      );
    const called = (await chat([question], TOKEN)).body.choices[0].message;
    const result = { role: 'tool', tool_call_id: called.tool_calls[0].id, content: 'done' };
    const answered = await chat([question, called, result], FRESH);
    assert.match(answered.body.choices?.[0].message.content, /"n":2/, answered.text);
    assert.equal(server.calls().at(-1)?.headers.authorization, `Bearer ${FRESH}`);
    server.received.length = 0;
    const paused = await ask([mcp({ authorization: TOKEN })], false);
    const { status, approval_ids: ids, run_id: runId } = paused.body.ironcraft;
    assert.deepEqual([status, ids.length], ['paused', 1], paused.text);
    const approved = await p.post(`/v1/smiths/${smithId}/runs/${runId}/submit`, {
      kind: 'approval',
      approval_id: ids[0],
      decision: 'approve',
    });
    assert.equal(approved.body.status, 'completed', approved.text);
    assert.equal(server.calls().length, 1);
    assert.deepEqual(await findText(platform.db, TOKEN), []);
    const replayed = await p.post(`/v1/smiths/${smithId}/runs/${runId}/replay`, {});
    assert.equal(replayed.body.error?.code, 'replay_unsupported');
  }));

test('calls of earlier turns that the input repeats are what the model did', () =>
  setUp(
    [ECHO],
    async ({ p, respond, mcp }) => {
      await useUpstream(p, upstream);
      upstream.respondWith([
        { type: 'answer', toolCalls: [{ name: 'peer__echo', arguments: '{"n":1}' }] },
        { type: 'answer', deltas: ['Done.'] },
      ]);
      const first = await respond({ input: 'Echo', tools: [mcp({ require_approval: 'never' })] });
      assert.deepEqual(typesOf(first), ['mcp_list_tools', 'mcp_call', 'message']);
      const [list, { output: _, ...call }, message] = first.output;
      upstream.respondWith([{ type: 'answer', deltas: ['Fine.'] }]);
      const past = { type: 'mcp_call', id: 'mcp_x', server_label: 'crm', name: 'find', arguments: '{"q":2}' };
      const input = [
        { role: 'user', content: 'Echo' },
        list,
        // As the SDK for agents keeps it: what it gave is known here.
        call,
        message,
        { ...past, output: 'found' },
        // Two of one name, and one that failed.
        { ...past, error: { message: 'Gone.' } },
        { ...past, id: undefined },
        { role: 'user', content: 'More' },
      ];
      const next = await respond({ input });
      assert.equal(next.status, 'completed');
      assert.deepEqual(sentTexts(upstream), [
        'user: Echo',
        'assistant: peer__echo({"n":1})',
        'tool: {"n":1}',
        'assistant: Done.',
        'tool: found',
        'assistant: crm__find({"q":2})',
        'tool: Error: Gone.',
        'assistant: crm__find({"q":2})',
        'tool: What the call gave is not known any more.',
        'user: More',
      ]);
      const items = (await p.get(`/v1/responses/${next.id}/input_items?order=asc`)).body.data;
      const calls = items.filter(({ type }: Json) => type === 'mcp_call');
      assert.deepEqual(
        calls.map(({ server_label, name, output }: Json) => [server_label, name, output]),
        [
          ['peer', 'echo', '{"n":1}'],
          ['crm', 'find', 'found'],
          ['crm', 'find', 'Error: Gone.'],
          ['crm', 'find', 'What the call gave is not known any more.'],
        ],
      );
      assert.equal(new Set(items.map(({ id }: Json) => id)).size, items.length);
    },
    { model: FAKE_MODEL },
  ));
