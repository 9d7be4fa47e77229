import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type OpenAiAnswer, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { publishAgent, publishVersion, readEvents } from '../../../../test/support/agents.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import {
  assemble,
  clientTool,
  eventually,
  FAKE_MODEL,
  makeSmith,
  makeUpstreamSmith,
  sentBody,
  sentTexts,
  smithOf,
  type TestSmith,
  useUpstream,
} from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const tools = createTestTools();
const platform = await startPlatform({ toolSources: [tools.source] });
after(async () => {
  await platform.close();
  await upstream.close();
});

const WEATHER = clientTool('weather');
const CLOCK = clientTool('clock');

function result(toolCallId: string, value: Record<string, unknown> = { ok: true }) {
  return { kind: 'tool_result', tool_call_id: toolCallId, result: value };
}

function calls(...names: string[]): OpenAiAnswer {
  return { type: 'answer', toolCalls: names.map((name, index) => ({ id: `c${index}`, name, arguments: '{}' })) };
}

async function pauseOn(smith: TestSmith, text: string, ...offered: object[]) {
  const { body } = await smith.ask(text, { tools: offered.length === 0 ? [WEATHER, CLOCK] : offered });
  assert.equal(body.status, 'paused', JSON.stringify(body));
  return body;
}

test('a run pauses on a call for the client and goes on with its result', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool weather with {"city":"Oslo","days":[1,2]}');
  const [call] = paused.output.tool_calls;
  assert.match(call.id, /^call_/);
  const open = { id: call.id, name: 'weather', arguments: { city: 'Oslo', days: [1, 2] }, status: 'requires_result' };
  assert.deepEqual(paused.output, {
    content: '',
    content_type: 'text/plain',
    tool_calls: [open],
    suggested_replies: [],
  });
  assert.deepEqual([paused.stop_reason, paused.error, paused.usage.cost], ['tool_calls', null, 0]);
  assert.ok(paused.usage.output_tokens > 0);
  const [event] = await readEvents(smith.project, 'run.paused');
  const about = { run_id: paused.id, thread_id: paused.thread_id };
  assert.deepEqual(event?.data, { ...about, reason: 'tool_result', tool_calls: [open] });

  const { status, body } = await smith.submit(paused.id, result(call.id, { sky: ['grey', 3] }));
  assert.deepEqual([status, body.status, body.stop_reason], [200, 'completed', 'stop']);
  assert.equal(body.output.content, 'The tool weather returned: {"sky":["grey",3]}');
  assert.deepEqual(body.output.tool_calls, [{ ...open, status: 'completed' }]);
  assert.ok(body.usage.output_tokens > paused.usage.output_tokens);
  assert.deepEqual(await smith.get(paused.id), body);
  assert.equal((await readEvents(smith.project, 'run.completed')).length, 1);
});

test('a run whose smith has been archived takes nothing and is not replayed; it can still be read', async () => {
  const smith = await makeSmith(platform);
  const { body: done } = await smith.ask('Hello');
  const paused = await pauseOn(smith, 'Call the tool weather with {} and call the tool clock with {}');
  const [first] = paused.output.tool_calls;
  assert.equal((await smith.project.delete(`/v1/smiths/${smith.id}`)).status, 204);
  const run = await eventually(async () => {
    const now = await smith.get(paused.id);
    return now.status === 'cancelled' ? now : undefined;
  }, 'what waited is cancelled');
  for (const [id, answer] of [
    [paused.id, result(first.id)],
    [done.id, result('call_none')],
  ] as const) {
    const { status, body } = await smith.submit(id, answer);
    assert.deepEqual([status, body.error?.code], [404, 'not_found'], id);
  }
  const replayed = await smith.project.post(`${smith.runs}/${done.id}/replay`);
  assert.deepEqual([replayed.status, replayed.body.error?.code], [404, 'not_found']);
  assert.deepEqual(run.input, paused.input);
  assert.match(await (await smith.events(paused.id)).text(), /run\.cancelled/);
});

test('a streamed submission shows what follows it, numbered beyond the pause', async () => {
  const smith = await makeSmith(platform);
  const before = await collectFrames(await smith.stream('Call the tool weather with {}', { tools: [WEATHER] }));
  const paused = before.at(-1);
  assert.equal(paused?.event, 'run.paused');
  assert.deepEqual(paused?.data.data.reason, 'tool_result');
  const [call] = paused?.data.data.tool_calls ?? [];
  const path = `${smith.runs}/${paused?.data.run_id}/submit`;
  const response = await smith.project.open('POST', path, { ...result(call.id), stream: true });
  assert.equal(response.status, 200);
  const frames = await collectFrames(response);
  assert.ok((frames[0]?.id ?? 0) > (paused?.id ?? 0));
  assert.equal(frames.at(-1)?.event, 'run.completed');
  assert.equal(assemble(frames).text, 'The tool weather returned: {"ok":true}');
  const whole = await collectFrames(await smith.events(paused?.data.run_id));
  assemble(whole);
  assert.deepEqual(
    whole.filter(({ event }) => event !== 'message.delta').map(({ event }) => event),
    ['run.started', 'run.paused', 'message.completed', 'run.completed'],
  );
});

for (const order of ['as they were called', 'the other way round']) {
  test(`several calls of one step take their results ${order}, and the model gets them in the order of the calls`, async () => {
    const smith = await makeUpstreamSmith(platform, upstream);
    upstream.respondWith([calls('weather', 'clock'), { type: 'answer', deltas: ['Both known'] }]);
    const paused = await pauseOn(smith, 'Hello');
    const answers = [result('c0', { sky: 'blue' }), result('c1', { time: 'noon' })];
    if (order !== 'as they were called') answers.reverse();
    const [first, second] = answers;
    assert.ok(first && second);
    const asked = upstream.requests.length;

    const partial = await smith.submit(paused.id, first);
    assert.deepEqual([partial.status, partial.body.status, partial.body.stop_reason], [200, 'paused', 'tool_calls']);
    assert.deepEqual(
      partial.body.output.tool_calls.map((call: { id: string; status: string }) => [call.id, call.status]).sort(),
      [
        [first.tool_call_id, 'completed'],
        [second.tool_call_id, 'requires_result'],
      ].sort(),
    );
    assert.equal(upstream.requests.length, asked);

    const { body } = await smith.submit(paused.id, second);
    assert.equal(body.output.content, 'Both known');
    const sent = sentBody(upstream).messages;
    assert.deepEqual(sent.slice(-2), [
      { role: 'tool', tool_call_id: 'c0', content: '{"sky":"blue"}' },
      { role: 'tool', tool_call_id: 'c1', content: '{"time":"noon"}' },
    ]);
    assert.equal(sent.at(-3).tool_calls.length, 2);
  });
}

test('a submission that leaves the run waiting ends its stream with what is still open', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([calls('weather', 'clock'), { type: 'answer', deltas: ['Done'] }]);
  const paused = await pauseOn(smith, 'Hello');
  const path = `${smith.runs}/${paused.id}/submit`;
  const frames = await collectFrames(await smith.project.open('POST', path, { ...result('c1'), stream: true }));
  assert.deepEqual(
    frames.map(({ event }) => event),
    ['run.paused'],
  );
  assert.deepEqual(
    frames[0]?.data.data.tool_calls.map((call: { id: string }) => call.id),
    ['c0'],
  );
  // A reader from the start ends there as well.
  assert.equal((await collectFrames(await smith.events(paused.id))).at(-1)?.event, 'run.paused');
  const rest = await collectFrames(await smith.project.open('POST', path, { ...result('c0'), stream: true }));
  assert.equal(assemble(rest).text, 'Done');
});

test('what was said before the pause is in the output, also after calls that the server ran', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([
    {
      type: 'answer',
      deltas: ['Let me', ' look.'],
      toolCalls: [
        { id: 'c0', name: 'echo', arguments: '{"a":1}' },
        { id: 'c1', name: 'weather', arguments: '{}' },
      ],
    },
    { type: 'answer', deltas: ['Sunny.'] },
  ]);
  const paused = await pauseOn(smith, 'Hello');
  assert.equal(paused.output.content, 'Let me look.');
  assert.deepEqual(
    paused.output.tool_calls.map((call: { name: string; status: string }) => [call.name, call.status]),
    [
      ['echo', 'completed'],
      ['weather', 'requires_result'],
    ],
  );
  const { body } = await smith.submit(paused.id, result('c1'));
  assert.equal(body.output.content, 'Sunny.');
  assert.deepEqual(sentTexts(upstream), [
    'user: Hello',
    'assistant: Let me look.',
    'tool: {"echoed":{"a":1}}',
    'tool: {"ok":true}',
  ]);
});

test('what is submitted wrongly is refused and changes nothing', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([calls('weather', 'clock'), { type: 'answer', deltas: ['Done'] }]);
  const paused = await pauseOn(smith, 'Hello');
  await smith.submit(paused.id, result('c0'));
  const refusals: [Record<string, unknown>, number, string, string | null][] = [
    [{}, 422, 'invalid_request', 'kind'],
    [{ kind: 'guess' }, 422, 'invalid_kind', 'kind'],
    [{ kind: 'tool_result', result: {} }, 422, 'invalid_request', 'tool_call_id'],
    [{ kind: 'tool_result', tool_call_id: 'c1' }, 422, 'invalid_request', 'result'],
    [{ kind: 'tool_result', tool_call_id: 'c1', result: null }, 422, 'invalid_request', 'result'],
    [{ kind: 'tool_result', tool_call_id: 'c1', result: 'text' }, 422, 'invalid_request', 'result'],
    [{ ...result('c1'), more: 1 }, 422, 'invalid_request', 'more'],
    [result('c9'), 404, 'not_found', 'tool_call_id'],
    [result('c0'), 409, 'invalid_state', 'tool_call_id'],
    [{ kind: 'approval', approval_id: 'apr_x' }, 422, 'invalid_decision', 'decision'],
    [{ kind: 'approval', approval_id: 'apr_x', decision: 'maybe' }, 422, 'invalid_decision', 'decision'],
    [{ kind: 'approval', decision: 'approve' }, 422, 'invalid_request', 'approval_id'],
    [{ kind: 'approval', approval_id: 'apr_x', decision: 'approve' }, 404, 'not_found', 'approval_id'],
    [{ kind: 'approval', tool_call_id: 'c1', decision: 'approve' }, 409, 'invalid_state', 'tool_call_id'],
  ];
  const before = await smith.get(paused.id);
  for (const [body, status, code, param] of refusals) {
    const answer = await smith.submit(paused.id, body);
    const told = [answer.status, answer.body.error?.code, answer.body.error?.param];
    assert.deepEqual(told, [status, code, param], `${JSON.stringify(body)}: ${answer.text}`);
    assert.equal(answer.headers.get('x-should-retry'), status === 409 ? 'false' : null);
  }
  assert.deepEqual(await smith.get(paused.id), before);
  assert.equal((await smith.submit('run_00000000000000000000000000', result('c1'))).status, 404);
  const neighbour = await makeSmith(platform, {}, smith.project);
  assert.equal((await neighbour.submit(paused.id, result('c1'))).status, 404);

  assert.equal((await smith.submit(paused.id, result('c1'))).body.status, 'completed');
  const late = await smith.submit(paused.id, result('c1'));
  assert.deepEqual([late.status, late.body.error.code], [409, 'run_not_paused']);
});

test('of the same result submitted many times at once, one is taken', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool weather with {}');
  const [call] = paused.output.tool_calls;
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => smith.submit(paused.id, result(call.id, { n }))),
  );
  const taken = answers.filter(({ status }) => status === 200);
  assert.equal(taken.length, 1, answers.map(({ text }) => text).join('\n'));
  for (const answer of answers) {
    if (answer.status !== 200) assert.deepEqual([answer.status, answer.body.error.code], [409, 'run_not_paused']);
  }
});

test('a cancelled run takes no result', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool weather with {}');
  assert.equal((await smith.cancel(paused.id)).status, 200);
  const { status, body } = await smith.submit(paused.id, result(paused.output.tool_calls[0].id));
  assert.deepEqual([status, body.error.code], [409, 'run_cancelled']);
});

test('a paused run leaves the smith free; while another turn runs, its result is refused and nothing of it kept', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool weather with {}');
  const before = await smith.get(paused.id);
  const busy = await smith.begin('Write 2000 words at 50 words per second');
  const refused = await smith.submit(paused.id, result(paused.output.tool_calls[0].id, { first: true }));
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'conversation_locked']);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.deepEqual(await smith.get(paused.id), before);
  await smith.cancel(busy);
  const taken = await smith.submit(paused.id, result(paused.output.tool_calls[0].id, { second: true }));
  assert.equal(taken.body.output.content, 'The tool weather returned: {"second":true}');
});

test('a tool of the server that throws or gives an error tells the model so', async () => {
  const smith = await makeSmith(platform);
  const { body } = await smith.ask('Call the tool boom with {} and call the tool refuse with {}');
  assert.equal(body.status, 'completed');
  assert.match(body.output.content, /The tool boom failed: The tool has no power\./);
  assert.match(body.output.content, /The tool refuse failed: Not today\./);
  assert.deepEqual(
    body.output.tool_calls.map((call: { status: string }) => call.status),
    ['failed', 'failed'],
  );
  const outputs = (await readEvents(smith.project, 'tool.completed')).map(({ data }) => data.output);
  assert.deepEqual(outputs, [{ error: 'The tool has no power.' }, { error: 'Not today.' }]);
});

test('calls of the server run together, each with its own id and the run it belongs to', async () => {
  const smith = await makeSmith(platform);
  const id = await smith.begin('Call the tool gate with {"n":1} and call the tool gate with {"n":2}');
  const started = await eventuallyCalls(id, 2);
  assert.notEqual(started[0]?.callId, started[1]?.callId);
  for (const call of started) {
    assert.deepEqual([call.projectId, call.smithId, call.runId], [smith.project.projectId, smith.id, id]);
  }
  tools.open(id);
  const run = await smith.settled(id);
  assert.match(run.output.content, /"n":1[\s\S]*"n":2/);
  const executing = await readEvents(smith.project, 'tool.executing');
  assert.deepEqual(
    executing.map(({ data }) => data),
    started.map((call) => ({
      run_id: id,
      thread_id: run.thread_id,
      tool: 'gate',
      tool_call_id: call.callId,
      args: call.args,
    })),
  );
});

async function eventuallyCalls(runId: string, count: number) {
  return eventually(() => {
    const found = tools.callsOf(runId);
    return found.length >= count ? found : undefined;
  }, `${count} calls run`);
}

test('a call of a tool that is not there, or with arguments that are no object, is answered to the model', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([
    {
      type: 'answer',
      toolCalls: [
        { id: 'c0', name: 'nothing', arguments: '{}' },
        { id: 'c1', name: 'weather', arguments: '{"broken"' },
        { id: 'c2', name: 'weather', arguments: '[1]' },
      ],
    },
    { type: 'answer', deltas: ['Sorry'] },
  ]);
  const { body } = await smith.ask('Hello', { tools: [WEATHER] });
  assert.deepEqual([body.status, body.output.content], ['completed', 'Sorry']);
  const [none, broken, list] = sentTexts(upstream).slice(-3);
  assert.match(none ?? '', /^tool: There is no tool named nothing\./);
  assert.match(broken ?? '', /^tool: .*not a JSON object/);
  assert.match(list ?? '', /^tool: .*not a JSON object/);
});

test('a turn that never stops calling tools fails after its last allowed step', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith(calls('echo'));
  const before = upstream.requests.length;
  const { status, body } = await smith.ask('Hello');
  assert.deepEqual(
    [status, body.status, body.stop_reason, body.error.code],
    [201, 'failed', 'error', 'tool_loop_failed'],
  );
  assert.equal(upstream.requests.length - before, 64);
  // The upstream names every call alike; each is one of its own nevertheless.
  assert.equal(new Set(body.output?.tool_calls.map((call: { id: string }) => call.id)).size, 64);
  const [event] = await readEvents(smith.project, 'run.failed');
  assert.deepEqual(event?.data.error, body.error);
});

test('a client’s tool that hides a tool of the server is the client’s', async () => {
  const smith = await makeSmith(platform);
  const paused = await pauseOn(smith, 'Call the tool echo with {}', clientTool('echo'));
  assert.deepEqual(tools.callsOf(paused.id), []);
  const { body } = await smith.submit(paused.id, result(paused.output.tool_calls[0].id, { mine: 1 }));
  assert.equal(body.output.content, 'The tool echo returned: {"mine":1}');
});

test('moving the rollout of its agent changes the next turn, never the one that runs', async () => {
  const project = await platform.createProject();
  await useUpstream(project, upstream);
  const agentId = await publishAgent(project, { model: FAKE_MODEL, instructions: 'Old rules.' });
  const smith = smithOf(project, (await project.post('/v1/smiths', { agent_id: agentId })).body.id);
  upstream.respondWith([calls('gate'), { type: 'answer', deltas: ['Done'] }, { type: 'answer', deltas: ['Next'] }]);
  const id = await smith.begin('Hello');
  await eventuallyCalls(id, 1);
  const version = await publishVersion(project, agentId, { instructions: 'New rules.' });
  const moved = await project.post(`/v1/agents/${agentId}/rollout`, { version, percent: 100 });
  assert.equal(moved.status, 200, moved.text);
  tools.open(id);
  assert.equal((await smith.settled(id)).output.content, 'Done');
  assert.equal(sentTexts(upstream)[0], 'system: Old rules.');
  await smith.ask('Hello');
  assert.equal(sentTexts(upstream)[0], 'system: New rules.');
});
