import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type OpenAiBehaviour, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { readEvents } from '../../../../test/support/agents.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import {
  assemble,
  eventually,
  makeSmith,
  makeUpstreamSmith,
  question,
  type TestSmith,
  useUpstream,
} from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const backoff = { backoffBaseMs: 5, backoffMaxMs: 10 };
const platform = await startPlatform({ modelCall: backoff });
/** For upstreams that fall silent. */
const impatient = await startPlatform({
  modelCall: { ...backoff, connectTimeoutMs: 2_000, idleTimeoutMs: 2_000 },
  sharing: platform,
});
after(async () => {
  await impatient.close();
  await platform.close();
  await upstream.close();
});

const answer = (deltas: string[], fault: 'hang' | 'reset' | 'end' | 'garbage' | 'error'): OpenAiBehaviour => ({
  type: 'answer',
  deltas,
  fault: { afterChunks: deltas.length, type: fault },
});

interface Failure {
  readonly name: string;
  readonly behaviour: OpenAiBehaviour | OpenAiBehaviour[];
  /** How often the upstream is called. */
  readonly calls: number;
  readonly message: RegExp;
  /** What the stream had shown before. */
  readonly said?: string;
  readonly server?: TestPlatform;
}

const failures: Failure[] = [
  { name: 'refuses the key', behaviour: { type: 'status', status: 401 }, calls: 1, message: /refused the key/ },
  {
    name: 'answers 500 again and again',
    behaviour: { type: 'status', status: 500 },
    calls: 3,
    message: /status 500\) after 3 attempts/,
  },
  {
    name: 'asks for more patience than there is',
    behaviour: { type: 'status', status: 429, headers: { 'retry-after': '3600' } },
    calls: 1,
    message: /is limiting requests.*3600 seconds/,
  },
  { name: 'knows no such model', behaviour: { type: 'status', status: 404 }, calls: 1, message: /status 404/ },
  {
    name: 'never answers',
    behaviour: { type: 'hang_before_headers' },
    calls: 1,
    message: /sent nothing for 2 seconds/,
    server: impatient,
  },
  {
    name: 'sends headers and nothing else',
    behaviour: answer([], 'hang'),
    calls: 1,
    message: /sent nothing for 2 seconds/,
    server: impatient,
  },
  {
    name: 'falls silent',
    behaviour: answer(['Half', ' of'], 'hang'),
    calls: 1,
    message: /fell silent/,
    server: impatient,
    said: 'Half of',
  },
  {
    name: 'breaks the connection',
    behaviour: answer(['Half', ' of'], 'reset'),
    calls: 1,
    message: /broke off the answer/,
    said: 'Half of',
  },
  {
    name: 'ends in the middle',
    behaviour: answer(['Half', ' of'], 'end'),
    calls: 1,
    message: /broke off the answer/,
    said: 'Half of',
  },
  {
    name: 'sends garbage in the middle',
    behaviour: answer(['Half', ' of'], 'garbage'),
    calls: 1,
    message: /no model response|failed/,
    said: 'Half of',
  },
  {
    name: 'reports an error in the middle',
    behaviour: answer(['Half', ' of'], 'error'),
    calls: 1,
    message: /./,
    said: 'Half of',
  },
  {
    name: 'sends a page instead of an answer',
    behaviour: { type: 'garbage', contentType: 'text/html', text: '<html>' },
    calls: 1,
    message: /no model response|base_url/,
  },
  { name: 'sends no event of a model', behaviour: { type: 'garbage' }, calls: 1, message: /no model response/ },
  { name: 'sends nothing at all', behaviour: { type: 'garbage', text: '' }, calls: 1, message: /no model response/ },
];

for (const { name, behaviour, calls, message, said = '', server = platform } of failures) {
  test(`an upstream that ${name} ends the run with a clear error`, async () => {
    const smith = await makeUpstreamSmith(server, upstream);
    upstream.respondWith(behaviour);
    const before = upstream.requests.length;
    const frames = await collectFrames(await smith.stream('Hello'));
    const run = await smith.get(frames[0]?.data.run_id);
    assert.deepEqual([run.status, run.stop_reason, run.error?.code], ['failed', 'error', 'model_request_failed']);
    assert.match(run.error.message, message);
    assert.doesNotMatch(run.error.message, /sk-test/);
    assert.equal(upstream.requests.length - before, calls);
    assert.equal(assemble(frames).text, said);
    assert.equal(run.output?.content ?? '', said);
    assert.equal(run.usage.output_tokens > 0, said !== '', JSON.stringify(run.usage));
    assert.deepEqual([frames.at(-1)?.event, frames.at(-1)?.data.data], ['run.failed', { error: run.error }]);
    const [event] = await readEvents(smith.project, 'run.failed');
    assert.deepEqual(event?.data, { run_id: run.id, thread_id: run.thread_id, error: run.error });
    upstream.respondWith({ type: 'answer', deltas: ['Well'] });
    assert.equal((await smith.ask('Again')).body.output.content, 'Well');
  });
}

test('a run goes on to its answer when the upstream first asks for a pause and then fails once', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([
    { type: 'status', status: 429, headers: { 'retry-after': '1' } },
    { type: 'status', status: 503 },
    { type: 'answer', deltas: ['At last'] },
  ]);
  const frames = await collectFrames(await smith.stream('Hello'));
  assert.equal(assemble(frames).text, 'At last');
  assert.equal(frames.at(-1)?.event, 'run.completed');
});

test('a failure in a later step keeps what the earlier ones did and cost', async () => {
  const smith = await makeUpstreamSmith(platform, upstream, {
    enabled_hosted_tools: ['current_time'],
    model: 'openai/gpt-4o',
  });
  await useUpstream(smith.project, upstream, 'openai');
  upstream.respondWith([
    {
      type: 'answer',
      toolCalls: [{ name: 'current_time', arguments: '{}' }],
      usage: { promptTokens: 1_000, completionTokens: 100 },
    },
    { type: 'status', status: 400 },
  ]);
  const { body } = await smith.ask('Hello');
  assert.deepEqual([body.status, body.error.code], ['failed', 'model_request_failed']);
  assert.deepEqual(body.usage, {
    input_tokens: 1_000,
    cached_input_tokens: 0,
    output_tokens: 100,
    reasoning_tokens: 0,
    total_tokens: 1_100,
    cost: 0.0035,
  });
  assert.deepEqual(
    body.output.tool_calls.map((call: { name: string; status: string }) => [call.name, call.status]),
    [['current_time', 'completed']],
  );
});

test('a fault of our own says nothing of itself but that it was one', async () => {
  const broken = {
    toolsFor: () => {
      throw new Error('secret detail');
    },
  };
  const other = await startPlatform({ toolSources: [broken], sharing: platform });
  try {
    const project = await other.createProject();
    const smith = await makeSmith(other, {}, project);
    const { body } = await smith.ask('Hello');
    assert.deepEqual([body.status, body.error.code], ['failed', 'run_failed']);
    assert.doesNotMatch(body.error.message, /secret/);
  } finally {
    await other.close();
  }
});

test('the cost of a run is exact to the micro-dollar and adds up over its steps', async () => {
  const smith = await makeUpstreamSmith(platform, upstream, { enabled_hosted_tools: ['current_time'] });
  await useUpstream(smith.project, upstream, 'openai');
  const usage = (promptTokens: number, completionTokens: number, cachedTokens = 0) => ({
    promptTokens,
    completionTokens,
    cachedTokens,
  });
  const script: OpenAiBehaviour[] = [
    { type: 'answer', toolCalls: [{ name: 'current_time', arguments: '{}' }], usage: usage(1_001, 11) },
    { type: 'answer', deltas: ['Noon'], usage: usage(2_003, 7, 1_000) },
  ];
  upstream.respondWith(script);
  const { body } = await smith.ask('Hello', { model: 'openai/gpt-4o' });
  // Dollars a million: 2.5 in, 1.25 cached, 10 out; each step rounded half up to the micro-dollar.
  const first = Math.round(1_001 * 2.5 + 11 * 10);
  const second = Math.round(1_003 * 2.5 + 1_000 * 1.25 + 7 * 10);
  assert.deepEqual([first, second], [2_613, 3_828]);
  assert.deepEqual(body.usage, {
    input_tokens: 3_004,
    cached_input_tokens: 1_000,
    output_tokens: 18,
    reasoning_tokens: 0,
    total_tokens: 3_022,
    cost: (first + second) / 1e6,
  });
  const [event] = await readEvents(smith.project, 'run.completed');
  assert.deepEqual(event?.data.usage, body.usage);
  const { rows } = await platform.db.query<{ kind: string; cost_micros: number | null }>({
    text: 'select kind, cost_micros from run_steps where project_id = $1 and run_id = $2 order by position',
    values: [smith.project.projectId, body.id],
  });
  assert.deepEqual(rows, [
    { kind: 'model', cost_micros: first },
    { kind: 'tool', cost_micros: null },
    { kind: 'model', cost_micros: second },
  ]);

  upstream.respondWith({ type: 'answer', deltas: ['Hi'], usage: usage(10, 1) });
  assert.equal((await smith.ask('Hello', { model: 'openai/unheard-of' })).body.usage.cost, null);
  assert.equal((await smith.ask('Hello', { model: 'builtin/demo' })).body.usage.cost, 0);
});

test('a caller is told to repeat the request, on every surface that waits, when the database lost its turn with a crash', async () => {
  const text = 'Hello';
  const asks = [
    { ask: (smith: TestSmith) => smith.project.post(smith.runs, question(text)), name: 'a native run' },
    {
      ask: ({ id, project }: TestSmith) =>
        project.post('/v1/chat/completions', { messages: [{ role: 'user', content: text }] }, { 'ic-smith-id': id }),
      name: 'a completion',
    },
    {
      ask: ({ id, project }: TestSmith) => project.post('/v1/responses', { input: text }, { 'ic-smith-id': id }),
      name: 'a response',
    },
  ];
  for (const { name, ask } of asks) {
    const smith = await makeUpstreamSmith(platform, upstream);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    upstream.respondWith({ type: 'answer', deltas: ['Lost'], held });
    const answered = ask(smith);
    // As PostgreSQL comes back when it was killed before the turn's start was on the disk.
    await eventually(async () => {
      const values = [smith.project.projectId, smith.id];
      const { rows } = await platform.db.query({
        text: 'delete from runs where project_id = $1 and smith_id = $2 returning id',
        values,
      });
      return rows.length > 0 ? true : undefined;
    }, name);
    release();
    const { status, text: shown, body, headers } = await answered;
    assert.deepEqual([status, body.error?.code], [503, 'storage_unavailable'], `${name}: ${shown}`);
    assert.match(body.error.message, /has kept nothing of this turn. Repeat the request/);
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  }
});
