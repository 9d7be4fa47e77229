/**
 * Servers that misbehave: each costs the turn a bounded time and no memory, and the turn goes on. Those that would keep it
 * waiting do so without end, so that an answer says that the limit has ended it.
 */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, describe, test } from 'node:test';
import { setInterval as ticks } from 'node:timers/promises';
import { type FakeMcpServer, startMcpServer } from '../../../test/fakes/mcp-server.ts';
import { startPlatform } from '../../../test/support/platform.ts';

/** Longer than anything takes here that is to come to an end by itself. */
const PATIENT_MS = 120_000;
const limits = {
  ...{ connectMs: PATIENT_MS, listMs: PATIENT_MS, callMs: PATIENT_MS },
  ...{ answerBytes: 1_048_576, listPages: 5, tools: 200 },
};
/** Of what a server never does. */
const SHORT_MS = 200;
const outboundAllow = ['127.0.0.1', 'example.com'];
const platform = await startPlatform({ outboundAllow, mcpLimits: limits });
const waitsForNoList = await startPlatform({
  ...{ outboundAllow, sharing: platform },
  mcpLimits: { ...limits, listMs: SHORT_MS },
});
const waitsForNoCall = await startPlatform({
  ...{ outboundAllow, sharing: platform },
  mcpLimits: { ...limits, callMs: SHORT_MS },
});
after(async () => {
  for (const each of [waitsForNoList, waitsForNoCall, platform]) await each.close();
});

type Intercept = NonNullable<FakeMcpServer['intercept']>;

const answers = (response: ServerResponse, text: string, type = 'application/json'): boolean => {
  response.writeHead(200, { 'content-type': type }).end(text);
  return true;
};

/** Sends a byte now and then, for ever. */
async function drip(response: ServerResponse, type: string): Promise<void> {
  response.writeHead(200, { 'content-type': type });
  for await (const _ of ticks(100)) if (!response.write(' ') || response.destroyed) return;
}

/** Writes 100 MB, as fast as they are taken. */
async function flood(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' });
  const megabyte = 'x'.repeat(1_000_000);
  response.write('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"');
  for (let sent = 0; sent < 100 && !response.destroyed; sent += 1) {
    if (!response.write(megabyte)) {
      await new Promise<void>((resolve) => {
        response.once('drain', resolve);
        response.once('close', resolve);
      });
    }
  }
  response.end('"}]}}');
}

/** Only requests of this method misbehave. */
const at =
  (method: string, misbehave: (response: ServerResponse, message: Record<string, unknown>) => unknown): Intercept =>
  (_, response, message) => {
    if (message.method !== method) return false;
    void misbehave(response, message);
    return true;
  };

/** What is said of a server that would be waited for without end. */
const LATE = /did not|in time/;

const misbehaviours: readonly [what: string, (method: string) => Intercept, says: RegExp][] = [
  ['hangs', (method) => at(method, () => undefined), LATE],
  ['drips', (method) => at(method, (response) => drip(response, 'application/json')), LATE],
  ['drips a stream of events', (method) => at(method, (response) => drip(response, 'text/event-stream')), LATE],
  ['answers 100 MB', (method) => at(method, flood), /more than 1048576 bytes/],
  [
    'answers with a page',
    (method) => at(method, (response) => answers(response, '<html>', 'text/html')),
    /not the Model/,
  ],
  ['answers with no JSON', (method) => at(method, (response) => answers(response, '{"jsonrpc"')), /not the Model/],
  ['answers with other JSON', (method) => at(method, (response) => answers(response, '{"a": 1}')), /not the Model/],
  [
    'answers another request',
    (method) => at(method, (response) => answers(response, '{"jsonrpc":"2.0","id":"other","result":{}}')),
    LATE,
  ],
  [
    'answers with a status of its own',
    (method) => at(method, (response) => response.writeHead(418).end()),
    /status 418/,
  ],
];

describe('a server that, asked for its tools,', () => {
  for (const [what, intercept, says] of misbehaviours) {
    test(`a server that ${what} when it is asked for its tools is told as such`, async () => {
      const server = await startMcpServer([{ name: 'echo' }]);
      const p = await (says === LATE ? waitsForNoList : platform).createProject();
      server.intercept = intercept('tools/list');
      await p.put('/v1/tenant/mcp/peer', { url: server.url });
      const answer = await p.post('/v1/tenant/mcp/peer/refresh');
      assert.equal(answer.status, 502, answer.text);
      assert.match(answer.body.error.message, says);
      await server.close();
    });
  }

  test('lists 10,000 of them is told the limit', async () => {
    const server = await startMcpServer(Array.from({ length: 10_000 }, (_, n) => ({ name: `t${n}` })));
    const p = await platform.createProject();
    await p.put('/v1/tenant/mcp/peer', { url: server.url });
    const answer = await p.post('/v1/tenant/mcp/peer/refresh');
    assert.deepEqual([answer.status, answer.body.error.code], [502, 'discovery_failed']);
    assert.match(answer.body.error.message, /more than 200 tools/);
    server.tools = server.tools.slice(0, 200);
    assert.equal((await p.post('/v1/tenant/mcp/peer/refresh')).body.tools_discovered, 200);
    await server.close();
  });

  test('pages for ever is told the limit', async () => {
    const server = await startMcpServer([]);
    const p = await platform.createProject();
    let page = 0;
    server.intercept = at('tools/list', (response, { id }) => {
      page += 1;
      const result = { tools: [{ name: `t${page}`, inputSchema: { type: 'object' } }], nextCursor: String(page) };
      answers(response, JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
    await p.put('/v1/tenant/mcp/peer', { url: server.url });
    const answer = await p.post('/v1/tenant/mcp/peer/refresh');
    assert.deepEqual([answer.status, answer.body.error.code], [502, 'discovery_failed']);
    assert.match(answer.body.error.message, /more than 5 pages/);
    await server.close();
  });
});

describe('a server that, called,', () => {
  for (const [what, intercept, says] of misbehaviours) {
    test(`a server that ${what} when it is called fails the call, and the turn goes on`, async () => {
      const server = await startMcpServer([{ name: 'echo' }]);
      const p = await (says === LATE ? waitsForNoCall : platform).createProject();
      await p.put('/v1/tenant/mcp/peer', { url: server.url });
      assert.equal((await p.post('/v1/tenant/mcp/peer/refresh')).status, 200);
      server.intercept = intercept('tools/call');
      const smithId = await p.createSmith();
      const run = await p.post(`/v1/smiths/${smithId}/runs`, {
        input: [{ role: 'user', content: 'Call the tool peer__echo with {}' }],
      });
      assert.deepEqual([run.body.status, run.body.output.tool_calls[0].status], ['completed', 'failed'], run.text);
      assert.equal(server.calls().length, 1, 'it is not called again');
      const { body } = await p.get('/v1/tenant/mcp/peer');
      assert.match(body.last_call_error, says);
      assert.ok(body.last_call_error_at);
      await server.close();
    });
  }
});
