import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { createVectorStore, publishAgent, readEvents } from '../../../../test/support/agents.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { parseChunks } from '../../../../test/support/read-chunks.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { FAKE_MODEL, makeUpstreamSmith, sentBody, sentTexts, useUpstream } from '../../../../test/support/turns.ts';
import type { Tool } from '../../tools/tool.ts';

const upstream = await startOpenAiUpstream();
const tools = createTestTools();
const platform = await startPlatform({ toolSources: [tools.source, { toolsFor: () => ({ tools: [fakeSearch()] }) }] });
after(async () => {
  await platform.close();
  await upstream.close();
});

const PATH = '/v1/chat/completions';

/** Finds one passage, whatever is looked for. */
function fakeSearch(): Tool {
  const passage = { marker: '【1†notes.txt】', file_id: 'file_1', filename: 'notes.txt', text: 'So it is.' };
  return {
    name: 'file_search',
    description: 'Searches',
    parameters: { type: 'object' },
    requiresApproval: false,
    repeatable: true,
    execute: async () => ({ output: { query: 'x', results: [passage] } }),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape.
type Json = any;

function user(content: unknown) {
  return { role: 'user', content };
}

function fn(...names: string[]) {
  return names.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }));
}

function result(id: string, content: unknown = 'done') {
  return { role: 'tool', tool_call_id: id, content };
}

/** A project with a smith of the user `ada`, and how to ask it. */
async function makeChat(settings: Record<string, unknown> = {}) {
  const project = await platform.createProject();
  const smithId = await project.createSmith({ external_id: 'ada', ...settings });
  return { project, smithId, ask: asker(project) };
}

async function makeUpstreamChat(settings: Record<string, unknown> = {}) {
  const smith = await makeUpstreamSmith(platform, upstream, { external_id: 'ada', ...settings });
  return { project: smith.project, smithId: smith.id, ask: asker(smith.project) };
}

function asker(project: TestProject) {
  return (messages: unknown, more: Record<string, unknown> = {}, headers?: Record<string, string>): Promise<Answer> =>
    project.post(
      PATH,
      { user: 'ada', messages: typeof messages === 'string' ? [user(messages)] : messages, ...more },
      headers,
    );
}

function messageOf({ status, text, body }: Answer): Json {
  assert.equal(status, 200, text);
  return body.choices[0].message;
}

function refused({ status, body }: Answer): [number, string, string | null] {
  return [status, body.error?.code, body.error?.param];
}

test('a completion has every member of the dialect and names its run', async () => {
  const { project, smithId, ask } = await makeChat();
  const answer = await ask('Write 3 words', { metadata: { ticket: '7' } });
  assert.equal(answer.status, 200, answer.text);
  const runId = answer.headers.get('ic-run-id') ?? '';
  const { body: run } = await project.get(`/v1/smiths/${smithId}/runs/${runId}`);
  const { input_tokens, output_tokens, total_tokens } = run.usage;
  assert.deepEqual(answer.body, {
    id: `chatcmpl-${runId.slice('run_'.length)}`,
    object: 'chat.completion',
    created: Math.floor(Date.parse(run.created_at) / 1000),
    model: 'builtin/demo',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: run.output.content, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: input_tokens,
      completion_tokens: output_tokens,
      total_tokens,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
    ironcraft: {
      run_id: runId,
      smith_id: smithId,
      thread_id: run.thread_id,
      status: 'completed',
      approval_ids: [],
    },
  });
  assert.equal(run.output.content.split(' ').length, 3);
  assert.deepEqual([run.status, run.metadata, run.input], ['completed', { ticket: '7' }, [user('Write 3 words')]]);
});

test('the smith is the token’s, the header’s, the user’s, or is provisioned', async () => {
  const { project, smithId } = await makeChat();
  const body = { messages: [user('Write 1 word')] };
  const token = await project.smithToken(smithId, ['runs:write']);
  const agentId = await publishAgent(project);
  const answers = [
    await project.as(token).post(PATH, body),
    await project.post(PATH, body, { 'ic-smith-id': smithId }),
    await project.post(PATH, { ...body, user: 'ada' }),
  ];
  for (const answer of answers) assert.equal(answer.body.ironcraft?.smith_id, smithId, answer.text);
  const made = await project.post(PATH, { ...body, user: 'eve' }, { 'ic-agent-id': agentId });
  const again = await project.post(PATH, { ...body, user: 'eve' }, { 'ic-agent-id': agentId });
  assert.equal(made.body.ironcraft.smith_id, again.body.ironcraft.smith_id);
  assert.equal((await readEvents(project, 'smith.created')).length, 2);
  assert.deepEqual(refused(await project.post(PATH, body)), [422, 'smith_required', 'user']);
  assert.deepEqual(refused(await project.post(PATH, { ...body, user: 'bob' })), [404, 'smith_unresolved', 'user']);
});

test('the whole list of messages reaches the model, instructions first', async () => {
  const { ask } = await makeUpstreamChat({ instructions: 'Be brief.' });
  upstream.respondWith([{ type: 'answer', deltas: ['Fine.'] }]);
  const call = { id: 'call_9', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } };
  const answer = await ask([
    { role: 'system', content: 'Speak Latin.' },
    { role: 'developer', content: [{ type: 'text', text: 'Rhyme.' }] },
    user('Hello'),
    { role: 'assistant', content: null, tool_calls: [call] },
    result('call_9', [{ type: 'text', text: 'Sunny' }]),
    { role: 'assistant', content: [{ type: 'text', text: 'Sunny.' }] },
    { role: 'assistant', content: null, refusal: 'No more.' },
    user([
      { type: 'text', text: 'And this?' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    ]),
  ]);
  assert.equal(messageOf(answer).content, 'Fine.');
  assert.deepEqual(sentTexts(upstream), [
    'system: Be brief.\n\nSpeak Latin.\n\nRhyme.',
    'user: Hello',
    'assistant: weather({"city":"Oslo"})',
    'tool: Sunny',
    'assistant: Sunny.',
    'assistant: No more.',
    'user: And this?(image_url)',
  ]);
});

test('instructions alone are a question', async () => {
  const { ask } = await makeUpstreamChat();
  upstream.respondWith([{ type: 'answer', deltas: ['Fine.'] }]);
  assert.equal(messageOf(await ask([{ role: 'system', content: 'Say something.' }])).content, 'Fine.');
  assert.deepEqual(sentTexts(upstream), ['system: Say something.']);
});

test('settings reach the model, and members that nobody knows are ignored', async () => {
  const { ask } = await makeUpstreamChat();
  upstream.respondWith([{ type: 'answer', deltas: ['Fine.'] }]);
  const answer = await ask('Hello', {
    model: '',
    max_tokens: 9,
    temperature: 0.5,
    top_p: 0.9,
    stop: 'END',
    seed: 7,
    logprobs: false,
    n: 1,
    parallel_tool_calls: true,
    service_tier: 'auto',
    tools: fn('weather'),
    tool_choice: { type: 'function', function: { name: 'weather' } },
    never_heard_of: [{}],
  });
  assert.equal(answer.body.model, FAKE_MODEL);
  const { max_tokens, temperature, top_p, stop, tool_choice } = sentBody(upstream);
  assert.deepEqual(
    [max_tokens, temperature, top_p, stop, tool_choice],
    [9, 0.5, 0.9, ['END'], { type: 'function', function: { name: 'weather' } }],
  );
});

test('a model of the request is the one that runs', async () => {
  const { project, ask } = await makeChat();
  await useUpstream(project, upstream);
  upstream.respondWith([{ type: 'answer', deltas: ['Fine.'] }]);
  assert.equal((await ask('Hello', { model: 'openai-compatible/large' })).body.model, 'openai-compatible/large');
  assert.equal(sentBody(upstream).model, 'large');
  for (const model of ['ironcraft', 'default', '', 'builtin/demo', 'demo', null]) {
    assert.equal((await ask('Write 1 word', { model })).body.model, 'builtin/demo', String(model));
  }
  assert.deepEqual(refused(await ask('Hello', { model: 'gpt-4o' })), [422, 'model_key_missing', 'model']);
  assert.deepEqual(refused(await ask('Hello', { model: 'gpt-none' })), [422, 'invalid_request', 'model']);
  assert.deepEqual(refused(await ask('Hello', { model: 'nobody/gpt' })), [404, 'unknown_provider', 'model']);
});

test('a conversation keeps its turns, and only its own smith’s', async () => {
  const { project, smithId, ask } = await makeUpstreamChat();
  const otherId = await project.createSmith({ external_id: 'bob' });
  const insert = (id: string, owner: string) =>
    platform.platform.engine.db.query({
      text: 'insert into conversations (project_id, id, smith_id) values ($1, $2, $3)',
      values: [project.projectId, id, owner],
    });
  await insert('cnv_1', smithId);
  await insert('cnv_2', otherId);
  upstream.respondWith([
    { type: 'answer', deltas: ['One.'] },
    { type: 'answer', deltas: ['Two.'] },
  ]);
  const first = await ask('First', { conversation: 'cnv_1' });
  assert.equal(first.body.ironcraft.thread_id, 'cnv_1');
  assert.equal(messageOf(await ask('Second', { conversation: { id: 'cnv_1' } })).content, 'Two.');
  assert.deepEqual(sentTexts(upstream), ['user: First', 'assistant: One.', 'user: Second']);
  for (const conversation of ['cnv_2', 'cnv_3', { id: 'cnv_2' }]) {
    assert.deepEqual(refused(await ask('Hello', { conversation })), [404, 'conversation_not_found', 'conversation']);
  }
});

describe('calls for the client', () => {
  test('the results of all calls let the same run go on, and each part counts its own usage', async () => {
    const { project, smithId, ask } = await makeUpstreamChat();
    const usage = (promptTokens: number, completionTokens: number) => ({ promptTokens, completionTokens });
    upstream.respondWith([
      {
        type: 'answer',
        deltas: ['Let me look.'],
        toolCalls: [
          { id: 'c0', name: 'weather', arguments: '{"city":"Oslo"}' },
          { id: 'c1', name: 'clock', arguments: '{}' },
        ],
        usage: usage(10, 5),
      },
      { type: 'answer', deltas: ['Grey', ' at noon.'], usage: usage(30, 7) },
    ]);
    const offered = { tools: fn('weather', 'clock') };
    const first = await ask('Hello', offered);
    const message = messageOf(first);
    assert.equal(first.body.choices[0].finish_reason, 'tool_calls');
    assert.deepEqual(message, {
      role: 'assistant',
      content: 'Let me look.',
      refusal: null,
      tool_calls: [
        { id: 'c0', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        { id: 'c1', type: 'function', function: { name: 'clock', arguments: '{}' } },
      ],
    });
    assert.deepEqual(first.body.usage, {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    assert.equal(first.body.ironcraft.status, 'paused');

    const second = await ask([user('Hello'), message, result('c1', 'noon'), result('c0', 'grey')], offered);
    assert.equal(messageOf(second).content, 'Grey at noon.');
    assert.equal(second.body.ironcraft.run_id, first.body.ironcraft.run_id);
    assert.notEqual(second.body.id, first.body.id);
    assert.deepEqual(second.body.usage, {
      prompt_tokens: 30,
      completion_tokens: 7,
      total_tokens: 37,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    assert.deepEqual(sentTexts(upstream).slice(-2), ['tool: grey', 'tool: noon']);
    const { body: runs } = await project.get(`/v1/smiths/${smithId}/runs`);
    assert.equal(runs.data.length, 1);
  });

  test('results of calls that no run waits for are history when the messages show the calls', async () => {
    const { ask } = await makeUpstreamChat();
    upstream.respondWith([{ type: 'answer', deltas: ['Thanks.'] }]);
    const call = { id: 'elsewhere', type: 'function', function: { name: 'weather', arguments: '{}' } };
    const messages = [user('Hello'), { role: 'assistant', content: '', tool_calls: [call] }, result('elsewhere')];
    const answer = await ask(messages, { tools: fn('weather') });
    assert.equal(messageOf(answer).content, 'Thanks.');
    assert.deepEqual(sentTexts(upstream), ['user: Hello', 'assistant: weather({})', 'tool: done']);
  });

  test('of runs that wait for calls of the same id the newest goes on', async () => {
    const { ask } = await makeUpstreamChat();
    const asks = { type: 'answer', toolCalls: [{ id: 'c0', name: 'weather', arguments: '{}' }] } as const;
    upstream.respondWith([asks, asks, { type: 'answer', deltas: ['Done.'] }]);
    const offered = { tools: fn('weather') };
    await ask('First', offered);
    const newer = await ask('Second', offered);
    const answer = await ask([user('Second'), messageOf(newer), result('c0')], offered);
    assert.equal(answer.body.ironcraft.run_id, newer.body.ironcraft.run_id);
  });

  test('results that are missing, doubled or of no call are refused, naming the message', async () => {
    const { project, ask } = await makeUpstreamChat();
    upstream.respondWith([
      {
        type: 'answer',
        toolCalls: [
          { id: 'c0', name: 'weather', arguments: '{}' },
          { id: 'c1', name: 'clock', arguments: '{}' },
        ],
      },
    ]);
    const offered = { tools: fn('weather', 'clock') };
    const paused = await ask('Hello', offered);
    const said = messageOf(paused);
    const refusals: [unknown[], string, RegExp][] = [
      [[user('Hello'), said, result('c0')], 'messages.1.tool_calls', /c1/],
      [[user('Hello'), said, result('c0'), user('And?')], 'messages.1.tool_calls', /c1/],
      [[user('Hello'), said, result('c0'), result('c0'), result('c1')], 'messages.3.tool_call_id', /second time/],
      [[user('Hello'), said, result('c0'), result('c1'), result('c2')], 'messages.4.tool_call_id', /c2/],
      [[user('Hello'), result('c7')], 'messages.1.tool_call_id', /c7/],
      [[result('c0')], 'messages', /c1/],
    ];
    for (const [messages, param, message] of refusals) {
      const answer = await ask(messages, offered);
      assert.deepEqual(refused(answer), [422, 'invalid_input', param], answer.text);
      assert.match(answer.body.error.message, message);
    }
    const { body: run } = await project.get(`/v1/smiths/${paused.body.ironcraft.smith_id}/runs`);
    assert.equal(run.data.length, 1);
  });

  test('tools of the server run unseen between what is said', async () => {
    const { ask } = await makeUpstreamChat();
    upstream.respondWith([
      { type: 'answer', deltas: ['Let me', ' look.'], toolCalls: [{ id: 'c0', name: 'echo', arguments: '{"a":1}' }] },
      { type: 'answer', deltas: ['Found.'] },
    ]);
    const answer = await ask('Hello');
    assert.deepEqual(messageOf(answer), {
      role: 'assistant',
      content: 'Let me look.\n\nFound.',
      refusal: null,
    });
    assert.equal(answer.body.choices[0].finish_reason, 'stop');
  });

  test('a call that a person must approve is told of, and is not the client’s', async () => {
    const { project, ask } = await makeUpstreamChat();
    upstream.respondWith([
      { type: 'answer', deltas: ['May I?'], toolCalls: [{ id: 'c0', name: 'guarded', arguments: '{}' }] },
    ]);
    const answer = await ask('Hello');
    const [approvalId] = answer.body.ironcraft.approval_ids;
    assert.deepEqual(messageOf(answer), {
      role: 'assistant',
      content: `May I?\n\nWaiting for approval of guarded (${approvalId}).`,
      refusal: null,
    });
    assert.deepEqual([answer.body.choices[0].finish_reason, answer.body.ironcraft.status], ['tool_calls', 'paused']);
    assert.equal((await project.get(`/v1/approvals/${approvalId}`)).body.status, 'pending');
  });
});

describe('a requested format', () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  };
  const format = { response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } } };

  test('is enforced: an answer that does not match is asked for again', async () => {
    const { ask } = await makeUpstreamChat();
    upstream.respondWith([
      { type: 'answer', deltas: ['{"town":1}'] },
      { type: 'answer', deltas: ['{"city":', '"Oslo"}'] },
    ]);
    assert.equal(messageOf(await ask('Hello', format)).content, '{"city":"Oslo"}');
  });

  test('that the model never keeps fails the request', async () => {
    const { ask } = await makeUpstreamChat();
    upstream.respondWith([
      { type: 'answer', deltas: ['No.'] },
      { type: 'answer', deltas: ['Never.'] },
    ]);
    const answer = await ask('Hello', format);
    assert.deepEqual(refused(answer), [502, 'structured_output_failed', null]);
    assert.match(answer.headers.get('ic-run-id') ?? '', /^run_/);
  });

  test('leaves out what is said with calls of the server', async () => {
    const { ask } = await makeUpstreamChat();
    upstream.respondWith([
      { type: 'answer', deltas: ['Let me look.'], toolCalls: [{ id: 'c0', name: 'echo', arguments: '{}' }] },
      { type: 'answer', deltas: ['{"city":"Oslo"}'] },
    ]);
    assert.equal(messageOf(await ask('Hello', format)).content, '{"city":"Oslo"}');
  });

  test('that the model refuses to fill has the refusal beside an empty content', async () => {
    const { ask } = await makeUpstreamChat();
    upstream.respondWith([{ type: 'answer', deltas: ['I must not.'], finishReason: 'content_filter' }]);
    const answer = await ask('Hello', format);
    assert.deepEqual(messageOf(answer), { role: 'assistant', content: null, refusal: 'I must not.' });
    assert.equal(answer.body.choices[0].finish_reason, 'content_filter');
  });
});

test('a schema alone, asked of a smith without tools, is answered without its memory', async () => {
  const { project, smithId, ask } = await makeUpstreamChat();
  const put = await project.put(`/v1/smiths/${smithId}/memory`, { content: 'Ada likes tea.' });
  assert.equal(put.status, 200, put.text);
  const format = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } };
  const remembers = async (more: Record<string, unknown>) => {
    upstream.respondWith([{ type: 'answer', deltas: ['{}'] }]);
    assert.equal(messageOf(await ask('Hello', more)).content, '{}');
    return JSON.stringify(sentBody(upstream)).includes('tea');
  };
  assert.equal(await remembers(format), false);
  assert.equal(await remembers({ ...format, tools: [] }), false);
  assert.equal(await remembers({ response_format: { type: 'json_object' } }), true);
  assert.equal(await remembers({ ...format, tools: fn('weather') }), true);
  assert.equal((await project.patch(`/v1/smiths/${smithId}`, { enabled_hosted_tools: ['current_time'] })).status, 200);
  assert.equal(await remembers(format), true);
});

test('what a file search found and the answer cites is annotated, counted over everything that is shown', async () => {
  const { project, smithId, ask } = await makeUpstreamChat();
  const vector_store_ids = [await createVectorStore(project)];
  assert.equal((await project.patch(`/v1/smiths/${smithId}`, { vector_store_ids })).status, 200);
  const marker = '【1†notes.txt】';
  for (const stream of [false, true]) {
    upstream.respondWith([
      { type: 'answer', deltas: ['Wait.'], toolCalls: [{ id: 'c0', name: 'file_search', arguments: '{"query":"x"}' }] },
      { type: 'answer', deltas: ['It is so', `${marker}.`] },
    ]);
    const answer = await ask('Hello', { stream });
    const message = stream ? parseChunks(answer.text).message : messageOf(answer);
    assert.equal(message.content, `Wait.\n\nIt is so${marker}.`);
    const [{ type, url_citation: citation }] = message.annotations;
    assert.equal(type, 'url_citation');
    assert.equal(message.content.slice(citation.start_index, citation.end_index), marker);
    assert.deepEqual([citation.title, citation.file_id], ['notes.txt', 'file_1']);
    assert.match(citation.url, /^https?:\/\/.*\/v1\/files\/file_1\/content$/);
  }
});

test('an answer that was cut off, thought about or filtered says so', async () => {
  const { ask } = await makeUpstreamChat();
  upstream.respondWith([
    { type: 'answer', deltas: ['So far'], finishReason: 'length' },
    { type: 'answer', reasoning: ['Hm', '.'], deltas: ['Yes.'] },
    { type: 'answer', deltas: ['No.'], finishReason: 'content_filter' },
  ]);
  const cut = await ask('Hello');
  assert.deepEqual([messageOf(cut).content, cut.body.choices[0].finish_reason], ['So far', 'length']);
  const thought = messageOf(await ask('Hello'));
  assert.deepEqual([thought.content, thought.reasoning_content], ['Yes.', 'Hm.']);
  const filtered = await ask('Hello');
  assert.deepEqual([messageOf(filtered).content, filtered.body.choices[0].finish_reason], ['No.', 'content_filter']);
});

test('an Idempotency-Key has one turn; its repetition gets the same answer, also of a run that has gone on since', async () => {
  const { project, ask } = await makeUpstreamChat();
  upstream.respondWith([
    { type: 'answer', toolCalls: [{ id: 'c0', name: 'weather', arguments: '{}' }] },
    { type: 'answer', deltas: ['Done.'] },
  ]);
  const key = { 'idempotency-key': 'k1' };
  const offered = { tools: fn('weather') };
  const first = await ask('Hello', offered, key);
  assert.deepEqual((await ask('Hello', offered, key)).body, first.body);
  assert.equal(messageOf(await ask([user('Hello'), messageOf(first), result('c0')], offered)).content, 'Done.');
  assert.deepEqual((await ask('Hello', offered, key)).body, first.body);
  assert.deepEqual(refused(await ask('Other', offered, key)).slice(0, 2), [409, 'idempotency_key_reused']);
  assert.equal((await readEvents(project, 'run.paused')).length, 1);
});

test('results that come again with their Idempotency-Key get the same answer, and begin nothing', async () => {
  const { project, smithId, ask } = await makeUpstreamChat();
  upstream.respondWith([
    { type: 'answer', toolCalls: [{ id: 'c0', name: 'weather', arguments: '{}' }] },
    { type: 'answer', deltas: ['More?'], toolCalls: [{ id: 'c1', name: 'weather', arguments: '{}' }] },
    { type: 'answer', deltas: ['Done.'] },
  ]);
  const offered = { tools: fn('weather') };
  const first = await ask('Hello', offered);
  const second = [user('Hello'), messageOf(first), result('c0')];
  const key = { 'idempotency-key': 'k2' };
  const answered = await ask(second, offered, key);
  assert.equal(messageOf(answered).content, 'More?');
  assert.deepEqual((await ask(second, offered, key)).body, answered.body);
  const last = await ask([...second, messageOf(answered), result('c1')], offered, { 'idempotency-key': 'k3' });
  assert.equal(messageOf(last).content, 'Done.');
  assert.deepEqual((await ask(second, offered, key)).body, answered.body);
  const streamed = parseChunks((await ask(second, { ...offered, stream: true }, { 'idempotency-key': 'k4' })).text);
  // Another key, another request: nobody waits for it, so it is a turn of its own.
  assert.notEqual(streamed.ironcraft?.run_id, answered.body.ironcraft.run_id);
  assert.equal((await project.get(`/v1/smiths/${smithId}/runs`)).body.data.length, 2);
});

test('a busy smith is told of with the header that makes clients try again', async () => {
  const { project, smithId, ask } = await makeChat();
  const begun = await project.post(
    `/v1/smiths/${smithId}/runs`,
    { input: [user('Write 100000 words at 1 words per second')] },
    { prefer: 'respond-async' },
  );
  const answer = await ask('Hello');
  assert.deepEqual(refused(answer), [400, 'conversation_locked', null]);
  assert.equal(answer.headers.get('x-should-retry'), 'true');
  await project.post(`/v1/smiths/${smithId}/runs/${begun.body.id}/cancel`);
});

test('what cannot be read is refused with its place', async () => {
  const { ask } = await makeChat();
  const call = (args: string) => ({ id: 'c0', type: 'function', function: { name: 'x', arguments: args } });
  const messages: [unknown, string][] = [
    [[], 'messages'],
    [['Hello'], 'messages.0'],
    [[{ content: 'Hello' }], 'messages.0.role'],
    [[{ role: 'narrator', content: 'Hello' }], 'messages.0.role'],
    [[user(null)], 'messages.0.content'],
    [[user([])], 'messages.0.content'],
    [[{ role: 'system', content: 'Hi' }, user([{ type: 'video' }])], 'messages.1.content.0.type'],
    [[user('Hi'), { role: 'assistant', tool_calls: [call('{')] }], 'messages.1.tool_calls.0.function.arguments'],
    [[user('Hi'), { role: 'assistant', tool_calls: 'x' }], 'messages.1.tool_calls'],
    [[user('Hi'), { role: 'tool', content: 'x' }], 'messages.1.tool_call_id'],
  ];
  for (const [given, param] of messages) {
    const answer = await ask(given);
    assert.deepEqual(refused(answer), [422, 'invalid_input', param], answer.text);
  }
  const members: [Record<string, unknown>, string, string][] = [
    [{ n: 2 }, 'invalid_request', 'n'],
    [{ temperature: 3 }, 'invalid_request', 'temperature'],
    [{ max_tokens: 0 }, 'invalid_request', 'max_tokens'],
    [{ stream: 'yes' }, 'invalid_request', 'stream'],
    [{ conversation: 7 }, 'invalid_request', 'conversation'],
    [{ tools: [{ type: 'web_search' }] }, 'unsupported_tools', 'tools.0.type'],
    [{ tool_choice: 'required' }, 'invalid_tool_choice', 'tool_choice'],
    [{ tool_choice: { type: 'function', function: { name: 'x' } } }, 'invalid_tool_choice', 'tool_choice'],
    [{ response_format: { type: 'xml' } }, 'invalid_response_format', 'response_format'],
    [{ reasoning_effort: 'extreme' }, 'invalid_reasoning_effort', 'reasoning_effort'],
  ];
  for (const [member, code, param] of members) {
    const answer = await ask('Hello', member);
    assert.deepEqual(refused(answer), [422, code, param], answer.text);
  }
});
