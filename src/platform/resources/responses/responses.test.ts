import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import OpenAI, { APIError } from 'openai';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { checkEvents } from '../../../../test/support/response-events.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { mintId } from '../../../kernel/ids/ids.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

const TOOLS = ['a', 'b'].map((name) => ({
  type: 'function' as const,
  name,
  parameters: { type: 'object', properties: {} },
  strict: false,
}));
const MODEL = 'default';

async function start(body?: Record<string, unknown>) {
  const project = await platform.createProject();
  const smithId = await project.createSmith(body);
  return { project, smithId, openai: clientOf(project, { 'IC-Smith-Id': smithId }) };
}

function clientOf(project: { token: string }, headers: Record<string, string> = {}): OpenAI {
  return new OpenAI({ apiKey: project.token, baseURL: `${platform.url}/v1`, defaultHeaders: headers, maxRetries: 0 });
}

/** The refusal that the call is answered with. */
async function refusal(call: Promise<unknown>): Promise<APIError> {
  const error = await call.then(
    () => assert.fail('it was accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof APIError, String(error));
  return error;
}

function callsIn(response: OpenAI.Responses.Response): OpenAI.Responses.ResponseFunctionToolCall[] {
  return response.output.filter((item) => item.type === 'function_call');
}

function outputsFor(response: OpenAI.Responses.Response): OpenAI.Responses.ResponseInputItem[] {
  return callsIn(response).map((call) => ({
    type: 'function_call_output',
    call_id: call.call_id,
    output: `result of ${call.name}`,
  }));
}

describe('a response', () => {
  test('has every member that clients read, and is the same when retrieved', async () => {
    const { openai } = await start();
    const created = await openai.responses.create({
      model: MODEL,
      input: 'Write 3 words',
      instructions: 'Be brief.',
      metadata: { ticket: '7' },
      temperature: 0.5,
      user: 'Ada',
    });
    const { id, created_at: createdAt, output, usage, output_text: text, ...rest } = created;
    assert.match(id, /^resp_[0-9a-z]{26}$/);
    assert.ok(isLately(createdAt * 1_000));
    assert.equal(text.split(' ').length, 3);
    assert.equal(output.length, 1);
    assert.ok(usage !== undefined && usage.total_tokens === usage.input_tokens + usage.output_tokens);
    assert.deepEqual(rest, {
      object: 'response',
      status: 'completed',
      model: 'builtin/demo',
      error: null,
      incomplete_details: null,
      background: false,
      conversation: null,
      instructions: 'Be brief.',
      max_output_tokens: null,
      metadata: { ticket: '7' },
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      store: true,
      temperature: 0.5,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_p: null,
      truncation: 'disabled',
      user: 'Ada',
    });
    assert.deepEqual(await openai.responses.retrieve(id), created);
  });

  test('shows the model’s thoughts where clients look for them', async () => {
    const { openai } = await start();
    const { output } = await openai.responses.create({ model: MODEL, input: 'Think about birds' });
    const [thought] = output;
    assert.ok(thought?.type === 'reasoning');
    assert.match(thought.summary[0]?.text ?? '', /birds/);
  });

  test('that reached its limit is incomplete', async () => {
    const { openai } = await start();
    const { status, incomplete_details: details } = await openai.responses.create({
      model: MODEL,
      input: 'Write 50 words',
      max_output_tokens: 5,
    });
    assert.deepEqual([status, details], ['incomplete', { reason: 'max_output_tokens' }]);
  });

  test('that the model refused is incomplete', async () => {
    const { openai } = await start();
    const { status, incomplete_details: details } = await openai.responses.create({
      model: MODEL,
      input: 'Refuse to answer',
    });
    assert.deepEqual([status, details], ['incomplete', { reason: 'content_filter' }]);
  });

  test('whose model failed says so', async () => {
    const { openai } = await start();
    const { status, error } = await openai.responses.create({ model: MODEL, input: 'Fail with 400' });
    assert.deepEqual([status, error?.code], ['failed', 'model_request_failed']);
  });

  test('has the form that was asked for, parsed by the client', async () => {
    const { openai } = await start();
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema' as const, name: 'place', schema, strict: true };
    const parsed = await openai.responses.parse({ model: MODEL, input: 'Where?', text: { format } });
    assert.equal(typeof JSON.parse(parsed.output_text).city, 'string');
    assert.deepEqual(parsed.text, { format });
  });
});

describe('a conversation goes on', () => {
  test('behind the previous response, whose instructions are not inherited', async () => {
    const { openai, project } = await start();
    const first = await openai.responses.create({ model: MODEL, input: 'Write 2 words', instructions: 'Say ahoy.' });
    const second = await openai.responses.create({
      model: MODEL,
      input: 'Write 3 words',
      previous_response_id: first.id,
    });
    assert.deepEqual([second.previous_response_id, second.instructions], [first.id, null]);
    const runs = await project.get('/v1/runs');
    assert.deepEqual(new Set(runs.body.data.map((run: { thread_id: string }) => run.thread_id)).size, 1);
  });

  test('from an earlier response in a thread of its own', async () => {
    const { openai, project } = await start();
    const first = await openai.responses.create({ model: MODEL, input: 'Write 2 words' });
    await openai.responses.create({ model: MODEL, input: 'Write 3 words', previous_response_id: first.id });
    await openai.responses.create({ model: MODEL, input: 'Write 4 words', previous_response_id: first.id });
    const runs = await project.get('/v1/runs');
    assert.equal(new Set(runs.body.data.map((run: { thread_id: string }) => run.thread_id)).size, 2);
  });

  test('in the conversation that the request names', async () => {
    const { openai, smithId } = await start();
    const conversation = await openai.conversations.create({}, { body: { smith_id: smithId } });
    const first = await openai.responses.create({
      model: MODEL,
      input: 'Write 2 words',
      conversation: conversation.id,
    });
    assert.deepEqual(first.conversation, { id: conversation.id });
    const second = await openai.responses.create({
      model: MODEL,
      input: 'Write 3 words',
      conversation: { id: conversation.id },
    });
    const { data } = await openai.conversations.items.list(conversation.id, { order: 'asc' });
    const said = data.filter((item) => item.type === 'message' && item.role === 'assistant').map(({ id }) => id);
    assert.deepEqual(said, [first.output[0]?.id, second.output[0]?.id], 'its items have the ids of the responses’');
  });

  test('with items of earlier responses by reference, as the AI SDK sends them', async () => {
    const { openai } = await start();
    const first = await openai.responses.create({ model: MODEL, input: 'Think about birds' });
    const references = first.output.map(({ id }) => ({ type: 'item_reference' as const, id: id ?? '' }));
    const second = await openai.responses.create({
      model: MODEL,
      input: [
        { role: 'user', content: 'Think about birds' },
        ...references,
        { role: 'user', content: 'Write 2 words' },
      ],
    });
    const { data } = await openai.responses.inputItems.list(second.id, { order: 'asc' });
    assert.deepEqual(
      data.map((item) => (item.type === 'message' ? [item.role, item.content[0]] : item.type)),
      [
        ['user', { type: 'input_text', text: 'Think about birds' }],
        ['assistant', first.output[1]?.type === 'message' ? first.output[1].content[0] : undefined],
        ['user', { type: 'input_text', text: 'Write 2 words' }],
      ],
    );
    const unknown = [{ type: 'item_reference' as const, id: `msg_${mintId('x').slice(2)}_0` }];
    const { code, param } = await refusal(openai.responses.create({ model: MODEL, input: unknown }));
    assert.deepEqual([code, param], ['invalid_input', 'input.0.id']);
  });
});

describe('functions of the client', () => {
  const ASK = 'Call the tool a with {"x": 1} and call the tool b with {}';

  test('are called together and answered together, behind the previous response', async () => {
    const { openai } = await start();
    const first = await openai.responses.create({ model: MODEL, input: ASK, tools: TOOLS });
    assert.equal(first.status, 'completed');
    assert.deepEqual(
      callsIn(first).map(({ name, arguments: args }) => [name, args]),
      [
        ['a', '{"x":1}'],
        ['b', '{}'],
      ],
    );
    const second = await openai.responses.create({
      model: MODEL,
      previous_response_id: first.id,
      input: outputsFor(first),
      tools: TOOLS,
    });
    assert.match(second.output_text, /result of a/);
    assert.match(second.output_text, /result of b/);
    assert.equal(second.id, `${first.id}_2`);
    assert.deepEqual(await openai.responses.retrieve(second.id), second);
    assert.deepEqual(await openai.responses.retrieve(first.id), first);
    const { data } = await openai.responses.inputItems.list(second.id, { order: 'asc' });
    assert.deepEqual(
      data.map((item) => (item.type === 'function_call_output' ? [item.call_id, item.output] : item.type)),
      callsIn(first).map(({ call_id: callId, name }) => [callId, `result of ${name}`]),
    );
  });

  test('count in each response what it has used itself', async () => {
    const { openai, project } = await start();
    const first = await openai.responses.create({ model: MODEL, input: ASK, tools: TOOLS });
    const second = await openai.responses.create({
      model: MODEL,
      previous_response_id: first.id,
      input: outputsFor(first),
    });
    const [run] = (await project.get('/v1/runs')).body.data;
    assert.ok((first.usage?.total_tokens ?? 0) > 0 && (second.usage?.total_tokens ?? 0) > 0);
    assert.equal((first.usage?.total_tokens ?? 0) + (second.usage?.total_tokens ?? 0), run.usage.total_tokens);
  });

  test('are answered in their conversation', async () => {
    const { openai, smithId } = await start();
    const { id: conversation } = await openai.conversations.create({}, { body: { smith_id: smithId } });
    const first = await openai.responses.create({ model: MODEL, input: ASK, tools: TOOLS, conversation });
    const second = await openai.responses.create({ model: MODEL, input: outputsFor(first), conversation });
    assert.match(second.output_text, /result of b/);
    assert.deepEqual(second.conversation, { id: conversation });
  });

  test('are answered with the whole history, without a state on the client’s side', async () => {
    const { openai } = await start();
    const first = await openai.responses.create({ model: MODEL, input: ASK, tools: TOOLS, store: false });
    const history = [{ role: 'user' as const, content: ASK }, ...callsIn(first), ...outputsFor(first)];
    const second = await openai.responses.create({ model: MODEL, input: history, tools: TOOLS, store: false });
    assert.equal(second.id, `${first.id}_2`);
    assert.match(second.output_text, /result of a/);
    // The run is over: the same history is the beginning of a new one.
    const third = await openai.responses.create({
      model: MODEL,
      input: [...history, { role: 'user', content: 'Write 2 words' }],
    });
    assert.notEqual(third.id.slice(0, 31), first.id.slice(0, 31));
    const { data } = await openai.responses.inputItems.list(third.id, { order: 'asc' });
    assert.deepEqual(
      data.map(({ type }) => type),
      ['message', 'function_call', 'function_call', 'function_call_output', 'function_call_output', 'message'],
    );
  });

  test('must all be answered, and nothing that was not called', async () => {
    const { openai } = await start();
    const first = await openai.responses.create({ model: MODEL, input: ASK, tools: TOOLS });
    const [one, other] = outputsFor(first);
    assert.ok(one !== undefined && other !== undefined);
    const follow = (input: OpenAI.Responses.ResponseInput) =>
      openai.responses.create({ model: MODEL, previous_response_id: first.id, input });
    const missing = await refusal(follow([one]));
    assert.deepEqual([missing.status, missing.code], [422, 'invalid_input']);
    assert.match(missing.message, new RegExp(callsIn(first)[1]?.call_id ?? ''));
    const strange = await refusal(follow([one, other, { ...one, call_id: 'call_9' } as never]));
    assert.deepEqual([strange.code, strange.param], ['invalid_input', 'input.2.call_id']);
    const alone = await refusal(follow([{ type: 'function_call_output', call_id: 'call_9', output: '' }]));
    assert.equal(alone.code, 'invalid_input');
    const unanswered = await refusal(follow([{ role: 'user', content: 'Go on' }]));
    assert.equal(unanswered.code, 'invalid_input');
    const beside = await refusal(follow([one, other, { role: 'user', content: 'And this?' }]));
    assert.deepEqual([beside.code, beside.param], ['invalid_input', 'input.2']);
    await follow([one, other]);
    const twice = await refusal(follow([one, other]));
    assert.deepEqual([twice.status, twice.code, twice.param], [409, 'invalid_state', 'input.0.call_id']);
  });
});

test('a decision on what nobody asked is refused', async () => {
  const { openai } = await start();
  const first = await openai.responses.create({ model: MODEL, input: 'Call the tool a with {}', tools: TOOLS });
  const decide = { type: 'mcp_approval_response' as const, approval_request_id: mintId('apr'), approve: true };
  const input = [...outputsFor(first), decide];
  const beside = await refusal(openai.responses.create({ model: MODEL, previous_response_id: first.id, input }));
  assert.deepEqual([beside.code, beside.param], ['invalid_input', 'input.1.approval_request_id']);
  const alone = await refusal(openai.responses.create({ model: MODEL, input: [decide] }));
  assert.deepEqual([alone.code, alone.param], ['invalid_input', 'input.0.approval_request_id']);
});

describe('in the background', () => {
  test('a response is answered at once, retrieved and streamed', async () => {
    const { openai } = await start();
    const created = await openai.responses.create({
      model: MODEL,
      input: 'Write 20 words at 100 words per second',
      background: true,
    });
    assert.deepEqual([created.status, created.output, created.background], ['in_progress', [], true]);
    const events = [];
    for await (const event of await openai.responses.retrieve(created.id, { stream: true })) events.push(event);
    const final = checkEvents(events);
    assert.equal(final.status, 'completed');
    const retrieved = await openai.responses.retrieve(created.id);
    assert.equal(retrieved.output_text.split(' ').length, 20);
    assert.deepEqual(final.output, retrieved.output);
  });

  test('a response is cancelled, once and twice', async () => {
    const { openai } = await start();
    const { id } = await openai.responses.create({
      model: MODEL,
      input: 'Write 9000 words at 50 words per second',
      background: true,
    });
    const stream = await openai.responses.retrieve(id, { stream: true });
    const events = [];
    for await (const event of stream) {
      events.push(event);
      if (event.type === 'response.output_text.delta' && events.length < 9) void openai.responses.cancel(id);
    }
    const final = checkEvents(events);
    assert.deepEqual([events.at(-1)?.type, final.status], ['response.incomplete', 'cancelled']);
    assert.equal(final.output[0].status, 'incomplete');
    const again = await openai.responses.cancel(id);
    assert.equal(again.status, 'cancelled');
    assert.deepEqual(again.output, final.output);
  });

  test('what has ended is answered as it is by a cancel', async () => {
    const { openai } = await start();
    const created = await openai.responses.create({ model: MODEL, input: 'Write 2 words' });
    const { output_text: _, ...answered } = created;
    assert.deepEqual(await openai.responses.cancel(created.id), answered);
  });

  test('cannot be what is not stored', async () => {
    const { openai } = await start();
    const { code, param } = await refusal(
      openai.responses.create({ model: MODEL, input: 'Write 2 words', background: true, store: false }),
    );
    assert.deepEqual([code, param], ['unsupported_background', 'background']);
  });
});

describe('what is kept', () => {
  test('a deleted response is gone, its run is not', async () => {
    const { openai, project, smithId } = await start();
    const { id } = await openai.responses.create({ model: MODEL, input: 'Write 2 words' });
    const deleted = await project.delete(`/v1/responses/${id}`);
    assert.deepEqual([deleted.status, deleted.body], [200, { id, object: 'response', deleted: true }]);
    for (const call of [
      () => openai.responses.retrieve(id),
      () => openai.responses.delete(id),
      () => openai.responses.cancel(id),
      () => openai.responses.inputItems.list(id).asResponse(),
      () => openai.responses.create({ model: MODEL, input: 'More', previous_response_id: id }),
    ]) {
      const { status, code } = await refusal(call());
      assert.deepEqual([status, code], [404, 'not_found']);
    }
    const run = await project.get(`/v1/smiths/${smithId}/runs/${id.replace('resp_', 'run_')}`);
    assert.equal(run.status, 200, run.text);
  });

  test('a response that is not stored cannot be retrieved', async () => {
    const { openai } = await start();
    const { id } = await openai.responses.create({ model: MODEL, input: 'Write 2 words', store: false });
    assert.equal((await refusal(openai.responses.retrieve(id))).status, 404);
  });

  test('input items page in both orders', async () => {
    const { openai, project } = await start();
    const input = ['one', 'two', 'three'].map((content) => ({ role: 'user' as const, content }));
    const { id } = await openai.responses.create({ model: MODEL, input });
    const listed = [];
    for await (const item of openai.responses.inputItems.list(id, { limit: 2, order: 'asc' })) listed.push(item.id);
    assert.equal(new Set(listed).size, 3);
    const newest = await project.get(`/v1/responses/${id}/input_items?limit=2`);
    assert.deepEqual(
      [newest.body.data.map((item: { id: string }) => item.id), newest.body.has_more],
      [[listed[2], listed[1]], true],
    );
    const unknown = await project.get(`/v1/responses/${id}/input_items?after=msg_1`);
    assert.deepEqual([unknown.status, unknown.body.error.code], [422, 'invalid_cursor']);
  });
});

describe('a repeated Idempotency-Key', () => {
  const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });

  test('gets the same response, and the same events', async () => {
    const { openai, project } = await start();
    const body = { model: MODEL, input: 'Write 3 words' };
    const first = await openai.responses.create(body, keyed('k1'));
    assert.deepEqual(await openai.responses.create(body, keyed('k1')), first);
    const streamed = { ...body, stream: true as const };
    const runs = async () => {
      const events = [];
      for await (const event of await openai.responses.create(streamed, keyed('k2'))) events.push(event);
      return events;
    };
    assert.deepEqual(await runs(), await runs());
    assert.equal((await project.get('/v1/runs')).body.data.length, 2);
    const reused = await refusal(openai.responses.create({ model: MODEL, input: 'Write 4 words' }, keyed('k1')));
    assert.deepEqual([reused.status, reused.code], [409, 'idempotency_key_reused']);
  });

  test('gets a background response as it began, when it has long been completed', async () => {
    const { openai } = await start();
    const body = { model: MODEL, input: 'Write 3 words', background: true };
    const first = await openai.responses.create(body, keyed('k1'));
    assert.equal(first.status, 'in_progress');
    await eventually(async () => {
      const { status } = await openai.responses.retrieve(first.id);
      return status === 'completed' ? true : undefined;
    }, 'the response is completed');
    assert.deepEqual(await openai.responses.create(body, keyed('k1')), first);
  });

  test('gets a response as it paused, when its run has gone on or been cancelled', async () => {
    for (const end of ['answered', 'cancelled']) {
      const { openai } = await start();
      const body = { model: MODEL, input: 'Call the tool a with {}', tools: TOOLS };
      const first = await openai.responses.create(body, keyed(end));
      if (end === 'cancelled') await openai.responses.cancel(first.id).catch(() => {});
      else await openai.responses.create({ model: MODEL, previous_response_id: first.id, input: outputsFor(first) });
      assert.deepEqual(await openai.responses.create(body, keyed(end)), first);
    }
  });

  test('brings the results of functions once', async () => {
    const { openai } = await start();
    const first = await openai.responses.create({ model: MODEL, input: 'Call the tool a with {}', tools: TOOLS });
    const body = { model: MODEL, previous_response_id: first.id, input: outputsFor(first) };
    const second = await openai.responses.create(body, keyed('k1'));
    assert.deepEqual(await openai.responses.create(body, keyed('k1')), second);
  });
});

describe('refusals', () => {
  test('name the member at fault', async () => {
    const { openai, project, smithId } = await start();
    const previous = await openai.responses.create({ model: MODEL, input: 'Write 2 words' });
    const conversation = await openai.conversations.create({}, { body: { smith_id: smithId } });
    const image = { role: 'user', content: [{ type: 'input_image', image_url: 'data:,' }] };
    const cases: [body: object, status: number, code: string, param: string | null][] = [
      [{}, 422, 'invalid_input', 'input'],
      [{ input: [] }, 422, 'invalid_input', 'input'],
      [{ input: 7 }, 422, 'invalid_input', 'input'],
      [{ input: [{ type: 'computer_call' }] }, 422, 'invalid_input', 'input.0.type'],
      [{ input: [{ role: 'user', content: [null] }] }, 422, 'invalid_input', 'input.0.content.0'],
      [{ input: [{ type: 'reasoning', summary: [] }, image] }, 422, 'invalid_input', 'input.1.content.0'],
      [{ input: [{ role: 'robot', content: 'x' }] }, 422, 'invalid_input', 'input.0.role'],
      [
        { input: [{ type: 'function_call', call_id: 'c', name: 'a', arguments: '[' }] },
        422,
        'invalid_input',
        'input.0.arguments',
      ],
      [{ input: 'x', previous_response_id: 'resp_1' }, 404, 'not_found', 'previous_response_id'],
      [{ input: 'x', conversation: 'cnv_1' }, 404, 'conversation_not_found', 'conversation'],
      [
        { input: 'x', conversation: conversation.id, previous_response_id: previous.id },
        422,
        'invalid_request',
        'conversation',
      ],
      [{ input: 'x', tools: [{ type: 'computer' }] }, 422, 'unsupported_tools', 'tools.0.type'],
      [{ input: 'x', tool_choice: 'sometimes' }, 422, 'invalid_tool_choice', 'tool_choice'],
      [{ input: 'x', text: { format: { type: 'xml' } } }, 422, 'invalid_response_format', 'text.format'],
      [{ input: 'x', reasoning: { effort: 'endless' } }, 422, 'invalid_reasoning_effort', 'reasoning.effort'],
      [{ input: 'x', model: 'nobody/nothing' }, 404, 'unknown_provider', 'model'],
    ];
    for (const [body, status, code, param] of cases) {
      const answer = await project.post('/v1/responses', body, { 'IC-Smith-Id': smithId });
      assert.deepEqual(
        [answer.status, answer.body.error.code, answer.body.error.param],
        [status, code, param],
        answer.text,
      );
    }
  });

  test('a smith’s token sees and goes on from its own responses alone', async () => {
    const { openai, project } = await start();
    const { id } = await openai.responses.create({ model: MODEL, input: 'Write 2 words' });
    const other = await project.createSmith();
    const token = await project.smithToken(other, ['runs:read', 'runs:write']);
    const stranger = clientOf({ token });
    for (const call of [
      () => stranger.responses.retrieve(id),
      () => stranger.responses.cancel(id),
      () => stranger.responses.delete(id),
      () => stranger.responses.create({ model: MODEL, input: 'More', previous_response_id: id }),
    ]) {
      assert.equal((await refusal(call())).status, 404);
    }
    const own = await stranger.responses.create({ model: MODEL, input: 'Write 2 words' });
    assert.equal((await stranger.responses.retrieve(own.id)).id, own.id);
  });

  test('a native run is no response', async () => {
    const { openai, project, smithId } = await start();
    const run = await project.post(`/v1/smiths/${smithId}/runs`, {
      input: [{ role: 'user', content: 'Write 2 words' }],
    });
    const id = run.body.id.replace('run_', 'resp_');
    assert.equal((await refusal(openai.responses.retrieve(id))).status, 404);
    const response = await openai.responses.create({ model: MODEL, input: 'Write 2 words' });
    assert.equal((await refusal(openai.responses.retrieve(`${response.id}_2`))).status, 404);
  });
});
