import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import {
  clientTool,
  makeSmith,
  makeUpstreamSmith,
  question,
  type TestSmith,
  untilAllButOne,
} from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
const narrow = await startPlatform({ sharing: platform, limits: { projectRunsInFlight: 2 } });
after(async () => {
  await narrow.close();
  await platform.close();
  await upstream.close();
});

const keyed = (key: string) => ({ 'idempotency-key': key });

async function countRuns(smith: TestSmith): Promise<number> {
  return (await smith.project.get(`${smith.runs}?limit=100`)).body.data.length;
}

test('the same request again with its key gives the same run and starts none', async () => {
  const smith = await makeSmith(platform);
  const first = await smith.ask('Hello', { metadata: { a: 1, b: 2 } }, keyed('one'));
  assert.deepEqual([first.status, first.headers.get('idempotent-replay')], [201, null]);
  const again = await smith.ask('Hello', { metadata: { b: 2, a: 1 } }, keyed('one'));
  assert.deepEqual([again.status, again.headers.get('idempotent-replay')], [201, 'true']);
  assert.deepEqual(again.body, first.body);
  assert.equal(await countRuns(smith), 1);
  const other = await smith.ask('Hello', { metadata: { a: 1, b: 2 } }, keyed('two'));
  assert.notEqual(other.body.id, first.body.id);
});

test('a request that did not wait gets the run as it began, whatever has become of it', async () => {
  const smith = await makeSmith(platform);
  const ask = (headers: Record<string, string> = {}) =>
    smith.ask('Write 100000 words at 1 words per second', {}, { ...keyed('one'), ...headers });
  const first = await ask({ prefer: 'respond-async' });
  const again = await ask({ prefer: 'respond-async' });
  assert.deepEqual([again.status, again.body], [201, first.body]);
  assert.equal(again.headers.get('idempotent-replay'), 'true');
  await smith.cancel(first.body.id);
  assert.equal((await smith.get(first.body.id)).status, 'cancelled');
  assert.deepEqual((await ask({ prefer: 'respond-async' })).body, first.body);
  assert.deepEqual((await ask()).body, first.body, 'whatever the repetition prefers');
});

test('a request that waited in vain gets the run as it stood when its time was over', async () => {
  const smith = await makeSmith(platform);
  const ask = () => smith.ask('Write 100000 words at 1 words per second', {}, { ...keyed('one'), prefer: 'wait=1' });
  const first = await ask();
  assert.equal(first.body.status, 'in_progress');
  assert.deepEqual((await ask()).body, first.body);
  await smith.cancel(first.body.id);
  assert.deepEqual((await ask()).body, first.body);
});

test('what a request that does not wait has resumed comes back as it began', async () => {
  const smith = await makeSmith(platform);
  const paused = await smith.ask('Call the tool look_up with {}', { tools: [clientTool('look_up')] });
  const [call] = paused.body.output.tool_calls;
  const submit = () =>
    smith.project.post(
      `${smith.runs}/${paused.body.id}/submit`,
      { kind: 'tool_result', tool_call_id: call.id, result: { found: 1 } },
      { ...keyed('submitted'), prefer: 'respond-async' },
    );
  const first = await submit();
  assert.deepEqual([first.status, first.body.status], [200, 'in_progress'], first.text);
  assert.equal((await smith.settled(paused.body.id)).status, 'completed');
  const again = await submit();
  assert.deepEqual([again.status, again.body], [200, first.body]);
  assert.equal(again.headers.get('idempotent-replay'), 'true');
});

test('a key that comes with another request is refused', async () => {
  const smith = await makeSmith(platform);
  const neighbour = await makeSmith(platform, {}, smith.project);
  await smith.ask('Hello', {}, keyed('one'));
  for (const reused of [
    await smith.ask('Goodbye', {}, keyed('one')),
    await smith.ask('Hello', { metadata: { a: 1 } }, keyed('one')),
    await neighbour.ask('Hello', {}, keyed('one')),
  ]) {
    assert.equal(reused.body.error?.code, 'idempotency_key_reused', reused.text);
    assert.equal(reused.status, 409);
    assert.equal(reused.headers.get('x-should-retry'), 'false');
  }
  // Another project has keys of its own.
  const stranger = await makeSmith(platform);
  assert.equal((await stranger.ask('Hello', {}, keyed('one'))).status, 201);
});

test('of many requests with one key at once one starts a run, and the others are told that it is in progress', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith({ type: 'answer', held });
  const ask = () => smith.ask('Hello', {}, keyed('one'));
  const asked = Array.from({ length: 12 }, ask);
  await untilAllButOne(asked);
  release();
  const answers = await Promise.all(asked);
  const started = answers.filter(({ status, headers }) => status === 201 && !headers.has('idempotent-replay'));
  assert.equal(started.length, 1, answers.map(({ text }) => text).join('\n'));
  for (const answer of answers) {
    if (answer === started[0]) continue;
    assert.deepEqual([answer.status, answer.body.error?.code], [409, 'idempotency_in_progress'], answer.text);
    assert.equal(answer.headers.get('x-should-retry'), null, 'it clears by itself');
    assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  }
  assert.equal(await countRuns(smith), 1);
  assert.deepEqual((await ask()).body, started[0]?.body);
});

test('a streamed request again points to the run that its key started', async () => {
  const smith = await makeSmith(platform);
  const send = async () => {
    const body = { ...question('Write 40 words at 100 words per second'), stream: true };
    return collectFrames(await smith.project.open('POST', smith.runs, body, keyed('one')));
  };
  const [first, ...others] = await Promise.all([send(), send(), send()]);
  const streams = [first, ...others];
  const pointers = streams.filter((frames) => frames?.length === 1);
  const [whole] = streams.filter((frames) => (frames?.length ?? 0) > 1);
  assert.equal(pointers.length, 2);
  const runId = whole?.[0]?.data.run_id;
  for (const frames of [...pointers, await send()]) {
    const [frame] = frames ?? [];
    assert.deepEqual([frame?.event, frame?.id], ['run.duplicate', undefined]);
    const { status, thread_id, ...rest } = frame?.data ?? {};
    assert.deepEqual(rest, { v: 1, run_id: runId, type: 'run.duplicate', events: `${smith.runs}/${runId}/events` });
    assert.match(thread_id, /^thr_/);
    assert.match(status, /^(in_progress|completed)$/);
  }
  const pointed = await collectFrames(await smith.project.open('GET', pointers[0]?.[0]?.data.events));
  assert.equal(pointed.at(-1)?.event, 'run.completed');
});

test('a key whose time is over starts a new run', async () => {
  const smith = await makeSmith(platform);
  const first = await smith.ask('Hello', {}, keyed('one'));
  await platform.db.query({
    text: `update idempotency_keys set expires_at = now() - interval '1 second' where project_id = $1`,
    values: [smith.project.projectId],
  });
  const second = await smith.ask('Goodbye', {}, keyed('one'));
  assert.equal(second.status, 201);
  assert.notEqual(second.body.id, first.body.id);
  assert.equal((await smith.ask('Goodbye', {}, keyed('one'))).body.id, second.body.id);
});

test('a request that was refused leaves its key free', async () => {
  const smith = await makeSmith(platform);
  assert.equal((await smith.ask('Hello', { model: 'openai/gpt-4o' }, keyed('one'))).status, 422);
  const busy = await smith.begin('Write 100000 words at 1 words per second');
  assert.equal((await smith.ask('Hello', {}, keyed('one'))).body.error.code, 'conversation_locked');
  await smith.cancel(busy);
  assert.equal((await smith.ask('Hello', {}, keyed('one'))).status, 201);
});

test('a paused run comes back for its key as it paused, when it has gone on, ended or been cancelled since', async () => {
  const smith = await makeSmith(platform);
  for (const end of ['completed', 'cancelled']) {
    const ask = () => smith.ask('Call the tool look_up with {}', { tools: [clientTool('look_up')] }, keyed(end));
    const first = await ask();
    assert.equal(first.body.status, 'paused');
    assert.deepEqual((await ask()).body, first.body);
    const [call] = first.body.output.tool_calls;
    const result = { kind: 'tool_result', tool_call_id: call.id, result: { found: 1 } };
    const { body } =
      end === 'completed' ? await smith.submit(first.body.id, result) : await smith.cancel(first.body.id);
    assert.equal(body.status, end);
    assert.equal((await smith.get(first.body.id)).status, end);
    assert.deepEqual((await ask()).body, first.body);
  }
});

test('a submission happens once for its key, and each gets the answer that it got', async () => {
  const smith = await makeSmith(platform);
  const ask = 'Call the tool look_up with {}. Call the tool read with {}.';
  const paused = await smith.ask(ask, { tools: [clientTool('look_up'), clientTool('read')] });
  const submit = (index: number, key: string, more = {}) => {
    const call = paused.body.output.tool_calls[index];
    const body = { kind: 'tool_result', tool_call_id: call.id, result: { found: index }, ...more };
    return smith.project.post(`${smith.runs}/${paused.body.id}/submit`, body, keyed(key));
  };
  const first = await submit(0, 'first');
  assert.equal(first.body.status, 'paused', first.text);
  assert.deepEqual((await submit(0, 'first')).body, first.body);
  const second = await submit(1, 'second');
  assert.equal(second.body.status, 'completed', second.text);
  for (const [index, key, answer] of [
    [0, 'first', first],
    [1, 'second', second],
  ] as const) {
    const again = await submit(index, key);
    assert.deepEqual([again.status, again.body], [200, answer.body]);
    assert.equal(again.headers.get('idempotent-replay'), 'true');
  }
  assert.equal((await submit(0, 'first', { result: {} })).body.error.code, 'idempotency_key_reused');
  assert.equal((await submit(0, 'third')).body.error.code, 'run_not_paused');
});

test('of many submissions with one key at once one resumes the run', async () => {
  const smith = await makeSmith(platform);
  const paused = await smith.ask('Call the tool look_up with {}', { tools: [clientTool('look_up')] });
  const [call] = paused.body.output.tool_calls;
  const body = { kind: 'tool_result', tool_call_id: call.id, result: { found: 1 } };
  const submit = () => smith.project.post(`${smith.runs}/${paused.body.id}/submit`, body, keyed('one'));
  const answers = await Promise.all(Array.from({ length: 8 }, submit));
  const done = answers.filter(({ status }) => status === 200);
  assert.equal(done.filter(({ headers }) => !headers.has('idempotent-replay')).length, 1);
  for (const answer of answers) {
    if (answer.status !== 200)
      assert.deepEqual([answer.status, answer.body.error.code], [409, 'idempotency_in_progress']);
  }
  const last = await submit();
  for (const { body: same } of done) assert.deepEqual(same, last.body);
});

test('one turn starts when twenty are asked of one smith at once, and the others are told to try again', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith({ type: 'answer', deltas: ['Hello'], held });
  const before = upstream.requests.length;
  let answered = 0;
  const ask = async (text: string) => {
    const answer = await smith.ask(text);
    answered += 1;
    if (answered === 19) release();
    return answer;
  };
  // A second one would wait for the first otherwise.
  void upstream.waitForRequests(before + 2).then(release);
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(`Hello ${n}`)));
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  for (const { status, body, headers } of answers) {
    if (status === 201) continue;
    assert.deepEqual([status, body.error.code, body.error.type], [400, 'conversation_locked', 'invalid_request_error']);
    assert.ok(Number(headers.get('retry-after')) >= 1);
    // OpenAI's clients try a 400 again only when they are told to.
    assert.equal(headers.get('x-should-retry'), 'true');
  }
  assert.equal(upstream.requests.length - before, 1);
  assert.equal(await countRuns(smith), 1);
  assert.equal((await smith.ask('Again')).status, 201);
});

test('a project’s runs in flight are limited, however many come at once', async () => {
  const project = await narrow.createProject();
  const smiths = await Promise.all(Array.from({ length: 8 }, () => makeSmith(narrow, {}, project)));
  const begin = (smith: TestSmith) =>
    smith.ask('Write 100000 words at 1 words per second', {}, { prefer: 'respond-async' });
  const answers = await Promise.all(smiths.map(begin));
  const started = answers.filter(({ status }) => status === 201);
  assert.equal(started.length, 2, answers.map(({ text }) => text).join('\n'));
  for (const { status, body, headers } of answers) {
    if (status === 201) continue;
    assert.deepEqual([status, body.error.code], [429, 'concurrency_limit_exceeded']);
    assert.equal(body.error.type, 'rate_limit_error');
    assert.ok(Number(headers.get('retry-after')) >= 1);
  }
  // Another project is not held up.
  const stranger = await makeSmith(narrow);
  assert.equal((await stranger.ask('Hello')).status, 201);
  for (const { body } of started) {
    await project.post(`/v1/smiths/${body.smith_id}/runs/${body.id}/cancel`);
  }
  const [first, second] = smiths;
  assert.ok(first && second);
  assert.equal((await first.ask('Hello')).status, 201);
  // A refusal, a duplicate and a paused run hold no place.
  await Promise.all(Array.from({ length: 6 }, () => first.ask('Hello', { model: 'nobody/model' })));
  await Promise.all(Array.from({ length: 6 }, () => first.ask('Hello', {}, keyed('again'))));
  const tools = [clientTool('look_up')];
  assert.equal((await first.ask('Call the tool look_up with {}', { tools })).body.status, 'paused');
  assert.equal((await first.ask('Call the tool look_up with {}', { tools })).body.status, 'paused');
  assert.equal((await second.ask('Hello')).status, 201);
});
