import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { publishAgent, readEvents } from '../../../../test/support/agents.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import {
  clientTool,
  FAKE_MODEL,
  makeSmith,
  makeUpstreamSmith,
  sentBody,
  smithOf,
} from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

test('a run answers with every field once it has completed', async () => {
  const smith = await makeSmith(platform, { instructions: 'Be brief.' });
  const { status, body } = await smith.ask('Write 3 words', {
    thread_id: 'support-1',
    channel: 'web',
    metadata: { order: 7, nested: { deep: [1, 'two', null] } },
  });
  assert.equal(status, 201);
  const { id, created_at, updated_at, actor, usage, ...rest } = body;
  assert.match(id, /^run_[0-9a-z]{26}$/);
  assert.ok(Date.parse(created_at) <= Date.parse(updated_at));
  assert.deepEqual([actor.kind, actor.id, actor.email], ['tenant', smith.project.projectId, '']);
  assert.match(actor.token_id, /^tok_/);
  assert.deepEqual(rest, {
    smith_id: smith.id,
    thread_id: 'support-1',
    status: 'completed',
    channel: 'web',
    input: [{ role: 'user', content: 'Write 3 words' }],
    output: {
      content: 'amber birch cedar',
      content_type: 'text/plain',
      tool_calls: [],
      suggested_replies: [],
    },
    stop_reason: 'stop',
    warnings: [],
    error: null,
    app_id: null,
    metadata: { order: 7, nested: { deep: [1, 'two', null] } },
  });
  assert.equal(usage.output_tokens, 3);
  assert.ok(usage.input_tokens > 3);
  assert.deepEqual([usage.total_tokens, usage.cost], [usage.input_tokens + 3, 0]);
  assert.deepEqual(await smith.get(id), body);
});

test('what is left out has its default', async () => {
  const smith = await makeSmith(platform);
  const { body } = await smith.ask('Hello');
  assert.match(body.thread_id, /^thr_[0-9a-z]{26}$/);
  assert.deepEqual([body.channel, body.metadata], ['api', {}]);
  const other = await smith.ask('Hello', { thread_id: null });
  assert.match(other.body.thread_id, /^thr_/);
  assert.notEqual(other.body.thread_id, body.thread_id);
});

test('a run that a smith token starts carries that smith as its actor, and so does its event', async () => {
  const smith = await makeSmith(platform);
  const token = await smith.project.smithToken(smith.id, ['runs:write', 'runs:read']);
  const { status, body } = await smith.project
    .as(token)
    .post(smith.runs, { input: [{ role: 'user', content: 'Hello' }] });
  assert.equal(status, 201);
  assert.deepEqual([body.actor.kind, body.actor.id], ['smith', smith.id]);
  const [event] = await readEvents(smith.project, 'run.completed');
  assert.deepEqual(event?.actor, body.actor);
  assert.equal(event?.smith_id, smith.id);
  assert.deepEqual(event?.data, {
    run_id: body.id,
    thread_id: body.thread_id,
    stop_reason: 'stop',
    usage: body.usage,
  });
});

test('settings of the one turn reach the model', async () => {
  const smith = await makeUpstreamSmith(platform, upstream, { model: 'builtin/demo', instructions: 'Be brief.' });
  const tools = [
    clientTool('look_up', { strict: true, parameters: { type: 'object', properties: { q: { type: 'string' } } } }),
    { type: 'function', name: 'bare' },
  ];
  const { status, body } = await smith.ask('Hello', {
    model: FAKE_MODEL,
    instructions: 'Answer in French.',
    tools,
    tool_choice: 'none',
    reasoning_effort: 'low',
    max_output_tokens: 50,
    temperature: 0.25,
    top_p: 0.5,
    stop: ['END', '###'],
    response_format: { type: 'text' },
  });
  assert.deepEqual([status, body.status], [201, 'completed'], JSON.stringify(body));
  const sent = sentBody(upstream);
  assert.equal(sent.model, 'small');
  assert.deepEqual(sent.messages, [
    { role: 'system', content: 'Be brief.\n\nAnswer in French.' },
    { role: 'user', content: 'Hello' },
  ]);
  assert.deepEqual(
    [sent.reasoning_effort, sent.max_tokens, sent.temperature, sent.top_p, sent.stop],
    ['low', 50, 0.25, 0.5, ['END', '###']],
  );
  assert.equal(sent.tool_choice, 'none');
  assert.deepEqual(sent.tools, [
    {
      type: 'function',
      function: {
        name: 'look_up',
        description: 'The tool look_up',
        parameters: { type: 'object', properties: { q: { type: 'string' } } },
        strict: true,
      },
    },
    { type: 'function', function: { name: 'bare', description: '', parameters: { type: 'object', properties: {} } } },
  ]);
});

test('a choice of tool is forced on the first call of the turn and holds no longer', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([
    { type: 'answer', toolCalls: [{ name: 'missing', arguments: '{}' }] },
    { type: 'answer', deltas: ['Done'] },
  ]);
  const before = upstream.requests.length;
  const { body } = await smith.ask('Hello', { tools: [clientTool('look_up')], tool_choice: { name: 'look_up' } });
  assert.equal(body.output.content, 'Done');
  assert.deepEqual(sentBody(upstream, before).tool_choice, { type: 'function', function: { name: 'look_up' } });
  assert.equal(sentBody(upstream, before + 1).tool_choice, undefined);
});

const refusals: readonly [name: string, body: Record<string, unknown>, status: number, code: string, param: string][] =
  [
    ['no input', {}, 422, 'invalid_input', 'input'],
    ['empty input', { input: [] }, 422, 'invalid_input', 'input'],
    ['input that is no list', { input: 'Hello' }, 422, 'invalid_input', 'input'],
    ['a message that is no object', { input: ['Hello'] }, 422, 'invalid_input', 'input.0'],
    ['a message without a role', { input: [{ content: 'x' }] }, 422, 'invalid_input', 'input.0.role'],
    ['a message without content', { input: [{ role: 'user' }] }, 422, 'invalid_input', 'input.0.content'],
    ['content that is a number', { input: [{ role: 'user', content: 5 }] }, 422, 'invalid_input', 'input.0.content'],
    ['an unknown role', { input: [{ role: 'robot', content: 'x' }] }, 422, 'invalid_input', 'input.0.role'],
    ['no parts', { input: [{ role: 'user', content: [] }] }, 422, 'invalid_input', 'input.0.content'],
    [
      'more messages than a turn takes',
      { input: Array.from({ length: 201 }, () => ({ role: 'user', content: 'x' })) },
      422,
      'too_many_inputs',
      'input',
    ],
    [
      'far more messages than a turn takes',
      { input: Array.from({ length: 1_200 }, () => ({ role: 'user', content: 'x' })) },
      422,
      'too_many_inputs',
      'input',
    ],
    ['an unknown tool choice', { tool_choice: 'maybe' }, 422, 'invalid_tool_choice', 'tool_choice'],
    ['a tool choice of another shape', { tool_choice: { tool: 'x' } }, 422, 'invalid_tool_choice', 'tool_choice'],
    ['a required tool where there is none', { tool_choice: 'required' }, 422, 'invalid_tool_choice', 'tool_choice'],
    ['a named tool that is not offered', { tool_choice: { name: 'x' } }, 422, 'invalid_tool_choice', 'tool_choice'],
    ['two tools of one name', { tools: [clientTool('a'), clientTool('a')] }, 422, 'invalid_request', 'tools'],
    ['a tool name with spaces', { tools: [{ name: 'a b' }] }, 422, 'invalid_request', 'tools.0.name'],
    [
      'an unknown response format',
      { response_format: { type: 'xml' } },
      422,
      'invalid_response_format',
      'response_format',
    ],
    [
      'a response format without a type',
      { response_format: { schema: {} } },
      422,
      'invalid_response_format',
      'response_format',
    ],
    [
      'a schema format without a schema',
      { response_format: { type: 'json_schema' } },
      422,
      'invalid_response_format',
      'response_format',
    ],
    [
      'a schema that is none',
      { response_format: { type: 'json_schema', json_schema: { schema: { type: 'nonsense' } } } },
      422,
      'invalid_response_format',
      'response_format',
    ],
    ['an unknown effort', { reasoning_effort: 'maximal' }, 422, 'invalid_reasoning_effort', 'reasoning_effort'],
    ['an effort that is a number', { reasoning_effort: 3 }, 422, 'invalid_reasoning_effort', 'reasoning_effort'],
    ['an unknown provider', { model: 'nobody/model' }, 404, 'unknown_provider', 'model'],
    ['a model without a provider', { model: 'no-such-model' }, 422, 'invalid_request', 'model'],
    ['a provider without a key', { model: 'openai/gpt-4o' }, 422, 'model_key_missing', 'model'],
    ['Bedrock without credentials', { model: 'bedrock/amazon.nova-lite-v1:0' }, 422, 'bedrock_unconfigured', 'model'],
    ['a thread id with a line break', { thread_id: 'a\nb' }, 422, 'invalid_request', 'thread_id'],
    ['a thread id with a NUL', { thread_id: 'a\u0000' }, 422, 'invalid_request', 'thread_id'],
    ['a thread id with a control character of Latin-1', { thread_id: '\u0085' }, 422, 'invalid_request', 'thread_id'],
    ['a thread id with a line separator', { thread_id: 'a\u2028b' }, 422, 'invalid_request', 'thread_id'],
    ['a thread id with half a character', { thread_id: 'a\ud83d' }, 422, 'invalid_request', 'thread_id'],
    ['a thread id that is too long', { thread_id: 'é'.repeat(257) }, 422, 'invalid_request', 'thread_id'],
    ['an empty thread id', { thread_id: '' }, 422, 'invalid_request', 'thread_id'],
    ['an empty channel', { channel: '' }, 422, 'invalid_request', 'channel'],
    ['metadata that is a list', { metadata: [] }, 422, 'invalid_request', 'metadata'],
    ['a temperature beyond 2', { temperature: 2.5 }, 422, 'invalid_request', 'temperature'],
    ['a limit of no tokens', { max_output_tokens: 0 }, 422, 'invalid_request', 'max_output_tokens'],
    ['a stream flag in words', { stream: 'yes' }, 422, 'invalid_request', 'stream'],
    ['an unknown member', { prompt: 'Hello' }, 422, 'invalid_request', 'prompt'],
  ];

test('what does not validate is refused by its code and leaves nothing behind', async () => {
  const smith = await makeSmith(platform);
  for (const [name, body, status, code, param] of refusals) {
    const whole = name === 'no input' ? body : { input: [{ role: 'user', content: 'Hello' }], ...body };
    const answer = await smith.project.post(smith.runs, whole);
    assert.deepEqual([answer.status, answer.body.error?.code], [status, code], `${name}: ${answer.text}`);
    assert.equal(answer.body.error.param, param, `${name}: ${answer.text}`);
  }
  assert.deepEqual((await smith.project.get(smith.runs)).body.data, []);
});

test('a model key that a local provider does not need is not asked for', async () => {
  const smith = await makeSmith(platform);
  // Port 1 is closed, so the call fails; but the run was accepted without a key.
  await smith.project.put('/v1/tenant/model_keys/ollama', { api_key: 'none', base_url: 'http://127.0.0.1:1/v1' });
  const { status, body } = await smith.ask('Hello', { model: 'ollama/llama3' }, { prefer: 'respond-async' });
  assert.deepEqual([status, body.status], [201, 'in_progress']);
  await smith.cancel(body.id);
});

test('a smith whose agent has no published version runs nothing', async () => {
  const project = await platform.createProject();
  const agentId = await publishAgent(project, { model: 'builtin/demo' });
  const created = await project.post('/v1/smiths', { agent_id: agentId });
  const smith = smithOf(project, created.body.id);
  // No operation leads here: it takes a row restored by hand.
  await platform.db.query({
    text: 'update agents set active_version = null where project_id = $1 and id = $2',
    values: [project.projectId, agentId],
  });
  const { status, body } = await smith.ask('Hello');
  assert.deepEqual([status, body.error.code], [409, 'agent_unpublished']);
});

test('a required variable that is missing is named, and filled from metadata once it is there', async () => {
  const project = await platform.createProject();
  const agentId = await publishAgent(project, {
    instructions: 'Serve {{customer}} in {{language}}.',
    model: 'builtin/demo',
    variables: [
      { name: 'customer', required: true },
      { name: 'language', default: 'English', required: true },
    ],
  });
  const created = await project.post('/v1/smiths', { agent_id: agentId });
  const smith = smithOf(project, created.body.id);
  const refused = await smith.ask('Hello');
  assert.deepEqual([refused.status, refused.body.error.code], [422, 'invalid_variables']);
  assert.match(refused.body.error.message, /customer/);
  await project.patch(`/v1/smiths/${smith.id}`, { metadata: { customer: 'Ada' } });
  const { body } = await smith.ask('Hello');
  assert.match(body.output.content, /Serve Ada in English\./);
});

test('the upstream’s warnings, length and filter show as warning and stop reason', async () => {
  const smith = await makeSmith(platform);
  const short = await smith.ask('Write 30 words', { max_output_tokens: 4 });
  assert.deepEqual([short.body.stop_reason, short.body.output.content], ['length', 'amber birch cedar delta ']);
  assert.deepEqual(
    short.body.warnings.map((warning: { code: string }) => warning.code),
    ['output_truncated'],
  );
  const [event] = await readEvents(smith.project, 'run.completed');
  assert.deepEqual(event?.data.warnings, short.body.warnings);
  const refused = await smith.ask('Refuse to answer');
  assert.deepEqual([refused.body.status, refused.body.stop_reason], ['completed', 'content_filter']);
  const stopped = await smith.ask('Write 30 words', { stop: [' cedar'] });
  assert.deepEqual([stopped.body.stop_reason, stopped.body.output.content], ['stop', 'amber birch']);
});

test('respond-async answers before the turn has ended, wait=N after at most that time', async () => {
  const smith = await makeSmith(platform);
  const begun = await smith.ask('Write 100000 words at 1 words per second', {}, { prefer: 'respond-async' });
  assert.deepEqual([begun.status, begun.body.status, begun.body.output], [201, 'in_progress', null]);
  assert.equal(begun.headers.get('preference-applied'), 'respond-async');
  assert.equal(begun.body.usage, null);
  assert.deepEqual(await smith.get(begun.body.id), begun.body);
  await smith.cancel(begun.body.id);
  const waited = await smith.ask('Write 100000 words at 1 words per second', {}, { prefer: 'wait=0' });
  assert.equal(waited.body.status, 'in_progress');
  await smith.cancel(waited.body.id);
  const quick = await smith.ask('Write 2 words', {}, { prefer: 'wait=30' });
  assert.deepEqual([quick.body.status, quick.headers.get('preference-applied')], ['completed', 'wait=30']);
});

test('a smith that is archived or of another project starts nothing', async () => {
  const smith = await makeSmith(platform);
  const stranger = await platform.createProject();
  const foreign = await stranger.post(smith.runs, { input: [{ role: 'user', content: 'Hello' }] });
  assert.deepEqual([foreign.status, foreign.body.error.code], [404, 'not_found']);
  await smith.project.delete(`/v1/smiths/${smith.id}`);
  const archived = await smith.ask('Hello');
  assert.deepEqual([archived.status, archived.body.error.code], [404, 'not_found']);
});
