/** Tools of MCP servers in turns, with a server on loopback that tests steer. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type FakeMcpServer, type FakeTool, startMcpServer } from '../../../test/fakes/mcp-server.ts';
import { startPlatform, type TestProject } from '../../../test/support/platform.ts';
import { eventually } from '../../../test/support/turns.ts';

const platform = await startPlatform({ outboundAllow: ['127.0.0.1', 'example.com'] });
after(() => platform.close());

const ECHO: FakeTool = { name: 'echo', description: 'Gives back what it is given.' };

async function register(p: TestProject, server: FakeMcpServer, name = 'peer', more: object = {}): Promise<void> {
  const put = await p.put(`/v1/tenant/mcp/${name}`, { url: server.url, ...more });
  assert.ok(put.status < 300, put.text);
  const refreshed = await p.post(`/v1/tenant/mcp/${name}/refresh`);
  assert.equal(refreshed.status, 200, refreshed.text);
}

async function ask(p: TestProject, smithId: string, text: string) {
  const {
    status,
    body,
    text: said,
  } = await p.post(`/v1/smiths/${smithId}/runs`, {
    input: [{ role: 'user', content: text }],
  });
  assert.equal(status, 201, said);
  return body;
}

async function eventsOf(p: TestProject, type: string) {
  return (await p.get(`/v1/events?type=${type}`)).body.data.map(({ data }: { data: object }) => data);
}

async function withServer(tools: FakeTool[], work: (server: FakeMcpServer, p: TestProject) => Promise<void>) {
  const server = await startMcpServer(tools);
  try {
    await work(server, await platform.createProject());
  } finally {
    await server.close();
  }
}

test('a turn calls a tool of a registered server, once, and names the call to it', () =>
  withServer([ECHO], async (server, p) => {
    await register(p, server);
    const smithId = await p.createSmith();
    const run = await ask(p, smithId, 'Call the tool peer__echo with {"a": 1}');
    assert.deepEqual([run.status, run.warnings], ['completed', []], JSON.stringify(run));
    const [call] = run.output.tool_calls;
    assert.deepEqual([call.name, call.status, call.arguments], ['peer__echo', 'completed', { a: 1 }]);
    const [received, ...more] = server.calls();
    assert.deepEqual(more, []);
    assert.deepEqual(received?.params, {
      name: 'echo',
      arguments: { a: 1 },
      _meta: { 'ironcraft/call_id': call.id },
    });
    const [completed] = await eventsOf(p, 'tool.completed');
    assert.deepEqual(completed.output, { content: [{ type: 'text', text: '{"a":1}' }] });
    assert.match(run.output.content, /"a":1|a.*1/);
  }));

test('the tools come from the store: a turn asks no server for its list', () =>
  withServer([ECHO], async (server, p) => {
    await register(p, server);
    const lists = () => server.received.filter(({ method }) => method === 'tools/list').length;
    // The registration's own job may still be under way.
    await platform.platform.engine.db.query({ text: 'select 1', values: [] });
    const smithId = await p.createSmith();
    server.intercept = (request, response, { method }) => {
      if (method !== 'tools/list') return false;
      request.socket.setTimeout(0);
      return response.socket !== null;
    };
    const before = lists();
    assert.equal((await ask(p, smithId, 'Call the tool peer__echo with {}')).status, 'completed');
    assert.ok(lists() - before <= 1, 'a list is asked for behind the turn at most');
  }));

for (const [state, fail] of [
  ['unreachable', (request) => Boolean(request.socket.destroy())],
  ['failed', (_, response) => Boolean(response.writeHead(502).end())],
  ['auth_required', (_, response) => Boolean(response.writeHead(401).end())],
] satisfies [string, FakeMcpServer['intercept']][]) {
  test(`a server that was ${state} is asked for its list again once a call of it succeeds`, () =>
    withServer([ECHO], async (server, p) => {
      await register(p, server);
      const smithId = await p.createSmith();
      const shown = async () => (await p.get('/v1/tenant/mcp/peer')).body;
      const lists = () => server.received.filter(({ method }) => method === 'tools/list').length;
      await noListIsAskedFor(p);
      server.intercept = fail;
      assert.notEqual((await p.post('/v1/tenant/mcp/peer/refresh')).status, 200);
      const before = lists();
      await ask(p, smithId, 'Call the tool peer__echo with {}');
      await noListIsAskedFor(p);
      const failing = await shown();
      assert.deepEqual([failing.status, lists()], [state, before], 'a call that fails asks for nothing');
      assert.ok(failing.last_call_error);

      server.intercept = undefined;
      assert.equal((await ask(p, smithId, 'Call the tool peer__echo with {}')).status, 'completed');
      const isReady = async () => ((await shown()).status === 'ready' ? true : undefined);
      await eventually(isReady, 'the server is ready again');
      assert.deepEqual([(await shown()).discovery_error, lists()], [null, before + 1]);
      assert.equal((await ask(p, smithId, 'Call the tool peer__echo with {}')).status, 'completed');
      await noListIsAskedFor(p);
      assert.equal(lists(), before + 1, 'and not again');
    }));
}

/** Waits until no job of the project that asks a server for its tools is left. */
async function noListIsAskedFor({ projectId }: TestProject): Promise<void> {
  await eventually(async () => {
    const { rows } = await platform.db.query({
      text: `select from jobs.job where name = 'discover-mcp-tools' and data ->> 'projectId' = $1
               and state in ('created', 'retry', 'active')`,
      values: [projectId],
    });
    return rows.length === 0 ? true : undefined;
  }, 'no list is asked for');
}

test('null is every registered server, a list names some, [] is none', () =>
  withServer([ECHO], async (server, p) => {
    await register(p, server, 'one');
    await register(p, server, 'two');
    for (const [mcp_servers, one, two] of [
      [null, 'completed', 'completed'],
      [['two'], 'failed', 'completed'],
      [[], 'failed', 'failed'],
    ] as const) {
      const smithId = await p.createSmith({ mcp_servers });
      for (const [name, status] of [
        ['one', one],
        ['two', two],
      ]) {
        const run = await ask(p, smithId, `Call the tool ${name}__echo with {}`);
        const call = run.output.tool_calls[0];
        assert.equal(call?.status ?? 'failed', status, `${JSON.stringify(mcp_servers)} ${name}`);
      }
    }
    const unknown = await p.post('/v1/smiths', { mcp_servers: ['three'] });
    assert.deepEqual(
      [unknown.status, unknown.body.error.code, unknown.body.error.param],
      [404, 'not_found', 'mcp_servers'],
    );
  }));

test('a server that is deleted later is a warning on the run', () =>
  withServer([ECHO], async (server, p) => {
    await register(p, server);
    const smithId = await p.createSmith({ mcp_servers: ['peer'] });
    assert.equal((await p.delete('/v1/tenant/mcp/peer')).status, 204);
    const run = await ask(p, smithId, 'Hello');
    assert.equal(run.status, 'completed');
    assert.deepEqual(
      run.warnings.map(({ code }: { code: string }) => code),
      ['mcp_server_missing'],
    );
  }));

test('calls wait for approval as the policy says, and one of a changed tool is not made', () =>
  withServer([ECHO, { name: 'look', annotations: { readOnlyHint: true } }], async (server, p) => {
    await register(p, server, 'peer', { approval_policy: [{ match: '@read_only', require: 'never' }, { match: '*' }] });
    const smithId = await p.createSmith();
    assert.equal((await ask(p, smithId, 'Call the tool peer__look with {}')).status, 'completed');
    const first = await ask(p, smithId, 'Call the tool peer__echo with {"n": 1}');
    assert.equal(first.status, 'paused');
    const approve = (run: { id: string; output: { tool_calls: { approval_id: string }[] } }) =>
      p.post(`/v1/smiths/${smithId}/runs/${run.id}/submit`, {
        kind: 'approval',
        approval_id: run.output.tool_calls[0]?.approval_id,
        decision: 'approve',
      });
    assert.equal((await approve(first)).body.status, 'completed');
    assert.equal(server.calls().filter(({ params }) => params.name === 'echo').length, 1);
    for (const change of [
      async () => {
        server.tools = [{ ...ECHO, description: 'Now sends it to everybody.' }];
        assert.equal((await p.post('/v1/tenant/mcp/peer/refresh')).status, 200);
      },
      async () => {
        const body = { url: server.url, approval_policy: [{ match: 'e*' }] };
        assert.equal((await p.put('/v1/tenant/mcp/peer', body)).status, 200);
      },
    ]) {
      const second = await ask(p, smithId, 'Call the tool peer__echo with {"n": 2}');
      assert.equal(second.status, 'paused', JSON.stringify(second.output));
      await change();
      const resumed = await approve(second);
      assert.equal(resumed.body.status, 'completed', resumed.text);
      assert.equal(resumed.body.output.tool_calls[0].status, 'failed');
      const approval = await p.get(`/v1/approvals/${second.output.tool_calls[0].approval_id}`);
      assert.equal(approval.body.status, 'expired');
    }
    assert.equal(server.calls().filter(({ params }) => params.name === 'echo').length, 1);
  }));

test('images become files, and of long text the model gets head, tail and the id of a file', () =>
  withServer([ECHO], async (server, p) => {
    await register(p, server);
    const smithId = await p.createSmith();
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
      'base64',
    );
    server.onCall = () => ({
      content: [
        { type: 'image', data: png.toString('base64'), mimeType: 'image/png' },
        { type: 'text', text: `HEAD${'x'.repeat(70_000)}TAIL` },
      ],
    });
    const run = await ask(p, smithId, 'Call the tool peer__echo with {}');
    assert.equal(run.status, 'completed', JSON.stringify(run));
    const [completed] = await eventsOf(p, 'tool.completed');
    const [text, image] = completed.output.content;
    assert.ok(text.text.startsWith('HEAD') && text.text.endsWith('TAIL') && text.text.length < 65_536);
    const fileId = /file_\w+/.exec(text.text)?.[0] ?? 'no id';
    const whole = await p.get(`/v1/files/${fileId}/content`);
    assert.equal(whole.text.length, 70_008);
    assert.deepEqual([image.type, image.media_type, image.bytes], ['file', 'image/png', png.length]);
    assert.equal((await p.get(`/v1/files/${image.file_id}/content`)).status, 200);
  }));

test('an oauth server without a connection is not called: the feed is told, and the turn goes on', () =>
  withServer([ECHO], async (server, p) => {
    await register(p, server, 'peer', { auth: { kind: 'oauth', provider: 'acme' } });
    assert.equal((await p.get('/v1/tenant/mcp/peer')).body.auth.kind, 'oauth');
    const run = await ask(p, await p.createSmith(), 'Call the tool peer__echo with {}');
    assert.deepEqual([run.status, run.output.tool_calls[0].status], ['completed', 'failed']);
    const [{ provider, mcp_server, authorize_url }, ...more] = await eventsOf(p, 'connection.required');
    assert.deepEqual([provider, mcp_server, authorize_url, more], ['acme', 'peer', null, []]);
    assert.deepEqual(server.calls(), []);
  }));

test('a session that the server has forgotten is begun anew, and the call is made once', () =>
  withServer([ECHO], async (server, p) => {
    await register(p, server);
    const smithId = await p.createSmith();
    assert.equal((await ask(p, smithId, 'Call the tool peer__echo with {}')).output.tool_calls[0].status, 'completed');
    server.forgetSessions();
    const run = await ask(p, smithId, 'Call the tool peer__echo with {"again": true}');
    assert.equal(run.output.tool_calls[0].status, 'completed', run.output.content);
    // Twice sent, once taken.
    assert.equal(server.calls().length, 3);
    const sessions = server.calls().map(({ headers }) => headers['mcp-session-id']);
    assert.equal(sessions[0], sessions[1]);
    assert.notEqual(sessions[1], sessions[2]);
    // Another smith has a session of its own.
    await ask(p, await p.createSmith(), 'Call the tool peer__echo with {}');
    assert.equal(new Set(server.calls().map(({ headers }) => headers['mcp-session-id'])).size, 3);
  }));

test('tools for tasks alone, for pages alone, and with schemas beyond the limits are not offered', () =>
  withServer(
    [
      ECHO,
      { name: 'slow', execution: { taskSupport: 'required' } },
      { name: 'page', _meta: { ui: { visibility: ['app'] } } },
      { name: 'odd', inputSchema: { type: 'object', properties: { a: { type: 'strange' } } } },
    ],
    async (server, p) => {
      await register(p, server);
      const { body } = await p.get('/v1/tenant/mcp/peer');
      const enabled = Object.fromEntries(
        body.tools.map((tool: { name: string; enabled: boolean }) => [tool.name, tool.enabled]),
      );
      assert.deepEqual(enabled, { echo: true, slow: false, page: false, odd: false });
      assert.match(body.discovery_error, /odd: its input schema cannot be used/);
    },
  ));

test('at most 128 tools are offered, with names that providers take', () =>
  withServer(
    Array.from({ length: 130 }, (_, n) => ({ name: n === 0 ? `files.read/${'é'.repeat(80)}` : `t${n}` })),
    async (server, p) => {
      await register(p, server, 'a'.repeat(63));
      const run = await ask(p, await p.createSmith(), 'Hello');
      assert.deepEqual(
        run.warnings.map(({ code }: { code: string }) => code),
        ['mcp_tools_left_out'],
      );
      assert.match(run.warnings[0].message, /at most 128 tools of MCP servers; 2 are left out/);
    },
  ));

test('a question of a server of the older revision pauses the run, and its answer goes to the call that waits', () =>
  withServer([ECHO], async (server, p) => {
    await register(p, server);
    const smithId = await p.createSmith();
    const answers: Promise<unknown>[] = [];
    server.intercept = (_, response, message) => {
      if (message.method === 'tools/call') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const question = {
          mode: 'form',
          message: 'Which colour?',
          requestedSchema: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
        };
        const send = (body: object) =>
          response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...body })}\n\n`);
        send({ id: 'q1', method: 'elicitation/create', params: question });
        const answered = Promise.withResolvers<unknown>();
        answers.push(answered.promise);
        waiting = (result) => {
          answered.resolve(result);
          send({ id: message.id, result: { content: [{ type: 'text', text: JSON.stringify(result) }] } });
          response.end();
        };
        return true;
      }
      if (message.id !== 'q1') return false;
      response.writeHead(202).end();
      waiting(message.result);
      return true;
    };
    let waiting: (result: unknown) => void = () => {};
    const run = await ask(p, smithId, 'Call the tool peer__echo with {}');
    assert.equal(run.status, 'paused', JSON.stringify(run));
    const approvalId = run.output.tool_calls[0].approval_id;
    const approval = await p.get(`/v1/approvals/${approvalId}`);
    assert.equal(approval.body.elicitation.message, 'Which colour?');
    const resumed = await p.post(`/v1/smiths/${smithId}/runs/${run.id}/submit`, {
      kind: 'approval',
      approval_id: approvalId,
      decision: 'approve',
      content: { colour: 'green' },
    });
    assert.equal(resumed.body.status, 'completed', resumed.text);
    assert.deepEqual(await answers[0], { action: 'accept', content: { colour: 'green' } });
    assert.equal(server.calls().length, 1);
  }));
