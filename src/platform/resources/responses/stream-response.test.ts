import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { checkEvents, parseEvents, type ResponseEvent, readEvents } from '../../../../test/support/response-events.ts';
import { examples } from '../../../../test/support/seed.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { makeUpstreamSmith } from '../../../../test/support/turns.ts';

const tools = createTestTools();
const platform = await startPlatform({ toolSources: [tools.source] });
after(() => platform.close());

const TOOLS = ['a', 'b'].map((name) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } }));

interface Smith {
  readonly project: TestProject;
  readonly id: string;
}

async function makeSmith(): Promise<Smith> {
  const project = await platform.createProject();
  return { project, id: await project.createSmith() };
}

async function stream({ project, id }: Smith, body: Record<string, unknown>): Promise<ResponseEvent[]> {
  const response = await project.open('POST', '/v1/responses', { ...body, stream: true }, { 'IC-Smith-Id': id });
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  return readEvents(response);
}

async function replay(project: { open: TestProject['open'] }, id: string, after?: number): Promise<ResponseEvent[]> {
  const place = after === undefined ? '' : `&starting_after=${after}`;
  return readEvents(await project.open('GET', `/v1/responses/${id}?stream=true${place}`));
}

function idOf(events: readonly ResponseEvent[]): string {
  return events[0].response.id;
}

describe('a stream', () => {
  const turns = {
    'a text': { input: 'Write 12 words' },
    'thoughts and a text': { input: 'Think about rivers' },
    'two calls at once': { input: 'Call the tool a with {"x": "é😀"} and call the tool b with {}', tools: TOOLS },
    'a tool of the server': { input: 'Call the tool echo with {"x": 1}' },
    'a failing tool of the server': { input: 'Call the tool boom with {}' },
    'a gated tool': { input: 'Call the tool guarded with {"x": 1}' },
    'a gated tool and a call': { input: 'Call the tool guarded with {} and call the tool a with {}', tools: TOOLS },
    'a limit': { input: 'Write 40 words', max_output_tokens: 7 },
    'a refusal': { input: 'Refuse to answer' },
    'a failure': { input: 'Fail with 400' },
    'a demanded format': {
      input: 'Where?',
      text: {
        format: {
          type: 'json_schema',
          name: 'place',
          schema: {
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
            additionalProperties: false,
          },
        },
      },
    },
  };
  for (const [what, body] of Object.entries(turns)) {
    test(`of ${what} keeps the rules, ends with the response, and is the same again`, async () => {
      const smith = await makeSmith();
      const events = await stream(smith, body);
      const final = checkEvents(events);
      const { project } = smith;
      assert.deepEqual((await project.get(`/v1/responses/${final.id}`)).body, final);
      assert.deepEqual(await replay(project, final.id), events);
    });
  }

  test('goes on behind any event that a client has seen', async () => {
    const smith = await makeSmith();
    const events = await stream(smith, { input: 'Think about rivers' });
    for (let seen = 0; seen < events.length; seen += 3) {
      assert.deepEqual(await replay(smith.project, idOf(events), seen), events.slice(seen + 1));
    }
    assert.deepEqual(await replay(smith.project, idOf(events), 9_999), []);
  });

  test('starting_after is for streams, and a number', async () => {
    const smith = await makeSmith();
    const id = idOf(await stream(smith, { input: 'Write 2 words' }));
    for (const query of ['starting_after=2', 'stream=true&starting_after=-1', 'stream=true&starting_after=x']) {
      const { status, body } = await smith.project.get(`/v1/responses/${id}?${query}`);
      assert.deepEqual([status, body.error.param], [422, 'starting_after']);
    }
  });

  test('of random turns keeps the rules, live and again, wherever a reader goes on', async () => {
    const smith = await makeSmith();
    const sentence = fc.oneof(
      fc.nat(60).map((words) => `Write ${words} words`),
      fc.string({ unit: 'grapheme', maxLength: 12 }).map((subject) => `Think about ${subject.replaceAll('\n', '')}`),
      fc
        .array(fc.constantFrom('a', 'b', 'echo', 'boom', 'refuse', 'guarded'), { minLength: 1, maxLength: 4 })
        .map((names) => names.map((name, index) => `Call the tool ${name} with {"n": ${index}}.`).join(' ')),
      fc.constantFrom('Refuse to answer', 'Fail with 500', 'Hello'),
    );
    const limit = fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(sentence, limit, fc.nat(100), async (input, max, share) => {
        const events = await stream(smith, {
          input,
          tools: TOOLS,
          ...(max === undefined ? {} : { max_output_tokens: max }),
        });
        const final = checkEvents(events);
        assert.deepEqual((await smith.project.get(`/v1/responses/${final.id}`)).body, final);
        const seen = Math.floor((share / 100) * (events.length - 1));
        assert.deepEqual(await replay(smith.project, final.id, seen), events.slice(seen + 1));
      }),
      { numRuns: examples(8, 100) },
    );
  });
});

describe('while the response is made', () => {
  const SLOW = 'Write 60 words at 60 words per second';

  test('a reader who left goes on behind the last event, a second one sees all', async () => {
    const smith = await makeSmith();
    const leaving = new AbortController();
    const body = { input: SLOW, stream: true };
    const response = await smith.project.open(
      'POST',
      '/v1/responses',
      body,
      { 'IC-Smith-Id': smith.id },
      leaving.signal,
    );
    const seen = await readSome(response, 10);
    leaving.abort();
    const id = idOf(seen);
    const last = seen.at(-1).sequence_number;
    const [rest, whole] = await Promise.all([replay(smith.project, id, last), replay(smith.project, id)]);
    checkEvents([...seen, ...rest]);
    assert.deepEqual([...seen, ...rest], whole);
    assert.deepEqual(await replay(smith.project, id), whole);
  });

  test('a cancelled one ends its streams, and keeps what was said', async () => {
    const smith = await makeSmith();
    const events = stream(smith, { input: 'Write 9000 words at 60 words per second' });
    const run = await newestRun(smith);
    const id = run.replace('run_', 'resp_');
    await replaySome(smith.project, id, 12);
    const cancelled = await smith.project.post(`/v1/responses/${id}/cancel`);
    const final = checkEvents(await events);
    assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled']);
    assert.deepEqual(cancelled.body, final);
    assert.ok(final.output[0].content[0].text.length > 0);
    assert.equal(final.output[0].status, 'incomplete');
  });
});

describe('approvals', () => {
  const headersOf = ({ id }: Smith) => ({ 'IC-Smith-Id': id });
  const decide = (item: ResponseEvent, approve: boolean) => ({
    type: 'mcp_approval_response',
    approval_request_id: item.id,
    approve,
  });

  for (const approve of [true, false]) {
    test(`${approve ? 'approved' : 'rejected'} by the next response`, async () => {
      const smith = await makeSmith();
      const first = checkEvents(await stream(smith, { input: 'Call the tool guarded with {"x": 1}' }));
      const [request] = first.output;
      assert.deepEqual(
        [request.type, request.name, request.arguments, request.server_label],
        ['mcp_approval_request', 'guarded', '{"x":1}', 'ironcraft'],
      );
      const body = { previous_response_id: first.id, input: [decide(request, approve)] };
      const second = checkEvents(await stream(smith, body));
      assert.equal(second.id, `${first.id}_2`);
      assert.equal(tools.callsOf(first.id.replace('resp_', 'run_')).length, approve ? 1 : 0);
      const approval = await smith.project.get(`/v1/approvals/${request.id}`);
      assert.equal(approval.body.status, approve ? 'approved' : 'rejected');
      const items = await smith.project.get(`/v1/responses/${second.id}/input_items`);
      assert.equal(items.body.data[0].type, 'mcp_approval_response');
    });
  }

  test('decided elsewhere: the response that followed can be retrieved', async () => {
    const smith = await makeSmith();
    const first = checkEvents(await stream(smith, { input: 'Call the tool guarded with {}' }));
    const runId = first.id.replace('resp_', 'run_');
    const submit = { kind: 'approval', approval_id: first.output[0].id, decision: 'approve' };
    const submitted = await smith.project.post(`/v1/smiths/${smith.id}/runs/${runId}/submit`, submit);
    assert.equal(submitted.body.status, 'completed', submitted.text);
    const second = await smith.project.get(`/v1/responses/${first.id}_2`);
    assert.equal(second.body.output.at(-1).content[0].text, submitted.body.output.content);
    assert.deepEqual((await smith.project.get(`/v1/responses/${first.id}`)).body, first);
  });

  test('beside a call of the client: its result is kept, and the decision is still asked for', async () => {
    const smith = await makeSmith();
    const input = 'Call the tool guarded with {"x": 1} and call the tool a with {}';
    const first = checkEvents(await stream(smith, { input, tools: TOOLS }));
    const [request, call] = first.output;
    const result = { type: 'function_call_output', call_id: call.call_id, output: 'done' };
    const second = checkEvents(await stream(smith, { previous_response_id: first.id, input: [result] }));
    assert.deepEqual(second.output, [request]);
    const third = checkEvents(await stream(smith, { previous_response_id: second.id, input: [decide(request, true)] }));
    assert.deepEqual([third.id, third.output[0].type], [`${first.id}_3`, 'message']);
  });

  test('need the scope to decide', async () => {
    const smith = await makeSmith();
    const token = await smith.project.smithToken(smith.id, ['runs:read', 'runs:write']);
    const first = checkEvents(await stream(smith, { input: 'Call the tool guarded with {}' }));
    const body = { previous_response_id: first.id, input: [decide(first.output[0], true)] };
    const refused = await smith.project.as(token).post('/v1/responses', body, headersOf(smith));
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'insufficient_scope']);
  });
});

describe('another server on the same database', () => {
  test('streams what the first one makes, event by event the same', async () => {
    const other = await startPlatform({ sharing: platform, toolSources: [tools.source] });
    try {
      const smith = await makeSmith();
      const { project } = smith;
      const here = stream(smith, { input: 'Write 40 words at 60 words per second' });
      const id = (await newestRun(smith)).replace('run_', 'resp_');
      const there = readEvents(await openOn(other, project, `/v1/responses/${id}?stream=true`));
      const events = await here;
      checkEvents(events);
      assert.deepEqual(await there, events);
    } finally {
      await other.close();
    }
  });

  test('goes on with what the first one lets go: its stream says where to follow', async () => {
    const first = await startPlatform({ sharing: platform });
    after(() => first.close());
    const upstream = await startOpenAiUpstream();
    after(() => upstream.close());
    const { promise: never, resolve: release } = Promise.withResolvers<void>();
    after(() => release());
    const deltas = Array.from({ length: 60 }, (_, nth) => `word${nth} `);
    upstream.respondWith([
      { type: 'answer', deltas, holdAt: (chunks) => (chunks < 20 ? undefined : never) },
      { type: 'answer', deltas },
    ]);
    const { project, id: smithId } = await makeUpstreamSmith(platform, upstream);
    const smith = { project, id: smithId };
    const body = JSON.stringify({ input: 'Hello', stream: true });
    const response = await fetch(`${first.url}/v1/responses`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${project.token}`,
        'content-type': 'application/json',
        'ic-smith-id': smith.id,
      },
      body,
    });
    const text = response.text();
    const id = (await newestRun(smith)).replace('run_', 'resp_');
    await readSome(await openOn(first, project, `/v1/responses/${id}?stream=true`), 10);
    await first.platform.drain(0);
    const seen = parseEvents(await text);
    const error = seen.pop();
    assert.deepEqual([error.type, error.error.code], ['error', 'service_overloaded']);
    assert.ok(error.message.includes(`/v1/responses/${id}?stream=true&starting_after=${error.sequence_number}`));
    assert.equal(error.sequence_number, seen.at(-1).sequence_number);
    const rest = await replay(project, id, error.sequence_number);
    const final = checkEvents([...seen, ...rest], { mayJump: true });
    assert.equal(final.output.length, 1);
    assert.equal(final.output[0].content[0].text, deltas.join(''));
    assert.deepEqual((await project.get(`/v1/responses/${id}`)).body, final);
  });
});

function openOn(server: TestPlatform, { token }: { token: string }, path: string): Promise<Response> {
  return fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } });
}

/** The id of the smith's newest run, once there is one. */
async function newestRun({ project, id }: Smith): Promise<string> {
  for (;;) {
    const [run] = (await project.get(`/v1/smiths/${id}/runs?limit=1`)).body.data;
    if (run !== undefined) return run.id;
  }
}

/** Reads at least so many events. */
async function readSome(response: Response, count: number): Promise<ResponseEvent[]> {
  let text = '';
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  assert.ok(reader);
  for (;;) {
    const whole = text.slice(0, text.lastIndexOf('\n\n') + 2);
    const events = parseEvents(whole);
    if (events.length >= count) return events;
    const { value, done } = await reader.read();
    if (done) return events;
    text += decoder.decode(value, { stream: true });
  }
}

/** Waits until the response has so many events. */
async function replaySome(project: TestProject, id: string, count: number): Promise<void> {
  const leaving = new AbortController();
  const response = await project.open('GET', `/v1/responses/${id}?stream=true`, undefined, {}, leaving.signal);
  await readSome(response, count);
  leaving.abort();
}
