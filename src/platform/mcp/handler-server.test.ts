/** A server of the revision 2026-07-28, built with the protocol's own package: what turns get of it, on two replicas. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type HandlerServer, startHandlerServer } from '../../../test/support/handler-mcp-server.ts';
import {
  type Answer,
  createClient,
  startPlatform,
  type TestPlatform,
  type TestProject,
} from '../../../test/support/platform.ts';
import { eventually } from '../../../test/support/turns.ts';

const outboundAllow = ['127.0.0.1', 'example.com'];
let server: HandlerServer;
let platform: TestPlatform;
let other: TestPlatform;
let p: TestProject;
let smithId: string;
before(async () => {
  server = await startHandlerServer();
  platform = await startPlatform({ outboundAllow });
  other = await startPlatform({ outboundAllow, sharing: platform });
  p = await platform.createProject();
  await p.put('/v1/tenant/mcp/modern', { url: server.url });
  const refreshed = await p.post('/v1/tenant/mcp/modern/refresh');
  assert.equal(refreshed.body.status, 'ready', refreshed.text);
  smithId = await p.createSmith();
});
after(async () => {
  await other.close();
  await platform.close();
  await server.close();
});

function call(tool: string, args: object): Promise<Answer> {
  return p.post(`/v1/smiths/${smithId}/runs`, {
    input: [{ role: 'user', content: `Call the tool modern__${tool} with ${JSON.stringify(args)}` }],
  });
}

/** The status of the run and of its call, and what the call gave. */
async function outcomeOf({ body, text }: Answer) {
  const [called] = body.output?.tool_calls ?? [];
  assert.ok(called, text);
  const events = (await p.get('/v1/events?type=tool.&limit=20')).body.data;
  const settled = events.find(
    ({ type, data }: { type: string; data: { tool_call_id: string } }) =>
      data.tool_call_id === called.id && (type === 'tool.completed' || type === 'tool.failed'),
  );
  return { statuses: [body.status, called.status], output: settled?.data.output ?? settled?.data };
}

test('its tools are listed with what they say of themselves', async () => {
  const { body } = await p.get('/v1/tenant/mcp/modern');
  assert.deepEqual(
    body.tools.map(({ name, enabled }: { name: string; enabled: boolean }) => [name, enabled]),
    ['add', 'report', 'refuse', 'throw', 'book'].map((name) => [name, true]),
  );
  assert.ok(!server.received.includes('initialize'), 'it knows the newer revision alone');
  assert.ok(server.received.includes('server/discover'));
});

test('a call is one request, and gives structured content', async () => {
  const before = server.received.length;
  const { statuses, output } = await outcomeOf(await call('add', { a: 2, b: 3 }));
  assert.deepEqual(statuses, ['completed', 'completed']);
  assert.deepEqual(output, { content: [{ type: 'text', text: '5' }], structured_content: { sum: 5 } });
  const sent = server.received.slice(before).filter((method) => method !== 'subscriptions/listen');
  assert.deepEqual(sent, ['tools/call']);
});

test('progress and messages on its way do not keep the result from coming', async () => {
  const { statuses, output } = await outcomeOf(await call('report', { steps: 50 }));
  assert.deepEqual(statuses, ['completed', 'completed']);
  assert.deepEqual(output.content, [{ type: 'text', text: '50 steps' }]);
});

test('errors of a tool are told to the model, and the turn goes on', async () => {
  for (const [tool, args, says] of [
    ['refuse', {}, /There are no seats left\./],
    ['throw', {}, /the database is away/],
    ['add', { a: 'two', b: 3 }, /a/],
  ] as const) {
    const { statuses, output } = await outcomeOf(await call(tool, args));
    assert.deepEqual(statuses, ['completed', 'failed'], tool);
    assert.match(JSON.stringify(output), says);
  }
});

test('its questions are answered on another replica, with its own state, and the tool runs once', async () => {
  const elsewhere = createClient(other.url, p.token);
  const begun = await call('book', { show: 'Hamlet' });
  assert.equal(begun.body.status, 'paused', begun.text);
  const submit = async (run: Answer, content: object) => {
    const [{ approval_id }] = run.body.output.tool_calls;
    const answer = { kind: 'approval', approval_id, decision: 'approve', content };
    const { message } = (await p.get(`/v1/approvals/${approval_id}`)).body.elicitation;
    return { message, run: await elsewhere.post(`/v1/smiths/${smithId}/runs/${run.body.id}/submit`, answer) };
  };
  const wrong = await submit(begun, { seats: 0 });
  assert.deepEqual([wrong.run.status, wrong.run.body.error.code], [422, 'invalid_input'], wrong.run.text);
  const first = await submit(begun, { seats: 3 });
  assert.deepEqual([first.message, first.run.body.status], ['How many seats for Hamlet?', 'paused'], first.run.text);
  // What is left out has the default of the form.
  const second = await submit(first.run, {});
  assert.equal(second.message, 'Book 3 seats?');
  const { statuses, output } = await outcomeOf(second.run);
  assert.deepEqual(statuses, ['completed', 'completed']);
  assert.deepEqual(output.content, [{ type: 'text', text: 'Booked 3 seats for Hamlet.' }]);
  assert.deepEqual(server.bookings, ['3 for Hamlet']);
});

test('the list of a server has a new tool when the server tells that its list has changed', async () => {
  server.addTool();
  await eventually(async () => {
    const { tools } = (await p.get('/v1/tenant/mcp/modern')).body;
    return tools.some(({ name }: { name: string }) => name === 'more') || undefined;
  }, 'the tool is listed');
});
