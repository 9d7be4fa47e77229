import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames, type Frame, readFrames, textOf } from '../../../../test/support/read-frames.ts';
import { examples } from '../../../../test/support/seed.ts';
import { readSlowly } from '../../../../test/support/slow-readers.ts';
import {
  assemble,
  clientTool,
  eventually,
  framesUntil,
  isType,
  makeSmith,
  makeUpstreamSmith,
  openFrames,
  question,
} from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

function types(frames: readonly Frame[]): (string | undefined)[] {
  return frames.map((frame) => frame.event).filter((event, at, all) => event !== all[at - 1]);
}

test('a streamed run shows its frames in order, numbered, each in one envelope', async () => {
  const smith = await makeSmith(platform);
  const response = await smith.stream('Write 40 words', { thread_id: 'thread-1' });
  assert.equal(response.status, 201);
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  assert.match(response.headers.get('cache-control') ?? '', /no-cache/);
  const frames = await collectFrames(response);
  assert.deepEqual(types(frames), ['run.started', 'message.delta', 'message.completed', 'run.completed']);
  const runId = frames[0]?.data.run_id;
  for (const { id, event, data } of frames) {
    assert.deepEqual(Object.keys(data).sort(), ['created_at', 'data', 'run_id', 'seq', 'type', 'v']);
    assert.deepEqual([data.v, data.run_id, data.seq, data.type], [1, runId, id, event]);
    assert.ok(!Number.isNaN(Date.parse(data.created_at)));
  }
  const run = await smith.get(runId);
  assert.equal(assemble(frames).text, run.output.content);
  assert.equal(run.output.content.split(' ').length, 40);
  assert.deepEqual(frames[0]?.data.data, { smith_id: smith.id, thread_id: 'thread-1', model: 'builtin/demo' });
  assert.deepEqual(frames.at(-2)?.data.data, { content: run.output.content, content_type: 'text/plain', step: 0 });
  assert.deepEqual(frames.at(-1)?.data.data, { stop_reason: 'stop', usage: run.usage });
});

test('reasoning has frames of its own and is no part of the answer', async () => {
  const smith = await makeSmith(platform);
  const frames = await collectFrames(await smith.stream('Think about rivers'));
  assert.deepEqual(types(frames), ['run.started', 'reasoning', 'message.delta', 'message.completed', 'run.completed']);
  const { text, reasoning } = assemble(frames);
  assert.match(reasoning, /think about "rivers"/);
  const run = await smith.get(frames[0]?.data.run_id);
  assert.equal(text, run.output.content);
  assert.doesNotMatch(text, /wants me to think/);
});

test('tool calls of the server show on the stream between the steps', async () => {
  const smith = await makeSmith(platform, { enabled_hosted_tools: ['current_time'] });
  const frames = await collectFrames(
    await smith.stream('Call the tool current_time with {"timezone":"Europe/Berlin"}'),
  );
  assert.deepEqual(types(frames), [
    'run.started',
    'tool.executing',
    'tool.completed',
    'message.delta',
    'message.completed',
    'run.completed',
  ]);
  const [, executing, completed] = frames;
  assert.deepEqual(
    [executing?.data.data.tool, executing?.data.data.args],
    ['current_time', { timezone: 'Europe/Berlin' }],
  );
  assert.equal(completed?.data.data.tool_call_id, executing?.data.data.tool_call_id);
  assert.equal(completed?.data.data.output.timezone, 'Europe/Berlin');
});

/** Everything of `all` behind the frame `cut`, as a reader who connects there must get it. */
function assertRest(all: readonly Frame[], cut: number, rest: readonly Frame[]): void {
  const expected = all.filter((frame) => (frame.id ?? 0) > cut);
  assemble(rest);
  assert.ok(rest.every((frame) => (frame.id ?? 0) > cut));
  assert.deepEqual(types(rest), types(expected));
  assert.equal(textOf(rest), textOf(expected));
  const others = (frames: readonly Frame[]) =>
    frames
      .filter(({ event }) => event !== 'message.delta' && event !== 'reasoning')
      .map(({ id, event }) => [id, event]);
  assert.deepEqual(others(rest), others(expected));
}

/** What a reader can name as the last that it has: text that was joined has the number of its last piece. */
function idsOf(frames: readonly Frame[]): number[] {
  return frames.flatMap(({ id }) => id ?? []);
}

test('a reader of a stored run gets exactly the rest, from every frame', async () => {
  const smith = await makeSmith(platform, { enabled_hosted_tools: ['current_time'] });
  const live = await collectFrames(await smith.stream('Call the tool current_time with {}'));
  const runId = live[0]?.data.run_id;
  const whole = await collectFrames(await smith.events(runId));
  assertRest(live, 0, whole);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(0, ...idsOf(live), 1_000), async (cut) => {
      const response = await smith.events(runId, cut);
      assert.equal(response.status, 200);
      assertRest(live, cut, await collectFrames(response));
    }),
    { numRuns: examples(6, 100) },
  );
});

test('readers that come and go during a run get exactly the rest, from every frame', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const live: Frame[] = [];
  const readers: { cut: number; rest: Promise<Frame[]> }[] = [];
  const cuts = fc.sample(fc.nat(), 400);
  const deltas = Array.from({ length: 60 }, (_, index) => `word${index} `);
  let [runId, next] = ['', Promise.withResolvers<void>()];
  // The model is at most three pieces ahead of what has been read, so that few are joined to one frame.
  const holdAt = async (sent: number) => {
    while (sent < deltas.length && sent > live.length + 3) await next.promise;
  };
  upstream.respondWith({ type: 'answer', deltas, holdAt });
  for await (const frame of readFrames(await smith.stream('Hello'))) {
    live.push(frame);
    next.resolve();
    next = Promise.withResolvers();
    runId = frame.data.run_id;
    if (live.length % 5 !== 0) continue;
    // At times from the newest frame, at times from one that may be stored already or is in memory only.
    const ids = [0, ...idsOf(live)];
    const cut = live.length % 10 === 0 ? (frame.id ?? 0) : (ids[(cuts.pop() ?? 0) % ids.length] ?? 0);
    readers.push({ cut, rest: smith.events(runId, cut).then(collectFrames) });
  }
  assert.ok(readers.length > 3);
  for (const { cut, rest } of readers) assertRest(live, cut, await rest);
  assert.equal(textOf(live), (await smith.get(runId)).output.content);
});

test('a reader that leaves does not stop the run', async () => {
  const smith = await makeSmith(platform);
  const leave = new AbortController();
  const response = await smith.stream('Write 60 words at 100 words per second', {}, leave.signal);
  const frames = openFrames(response);
  const [started] = await framesUntil(frames, isType('run.started'));
  await framesUntil(frames, isType('message.delta'));
  leave.abort();
  await frames.next().catch(() => undefined);
  const run = await smith.settled(started?.data.run_id);
  assert.equal(run.status, 'completed');
  assert.equal(run.output.content.split(' ').length, 60);
});

test('a caller that leaves before the answer does not stop the run', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith({ type: 'answer', deltas: ['All', ' of it'], held });
  const leave = new AbortController();
  const asked = smith.project.open('POST', smith.runs, question('Hello'), {}, leave.signal);
  const runId = await eventually(async () => (await smith.project.get(smith.runs)).body.data[0]?.id, 'the run began');
  leave.abort();
  await assert.rejects(asked);
  release();
  assert.equal((await smith.settled(runId)).output.content, 'All of it');
});

test('a slow reader gets every character in the end', async () => {
  await readSlowly(platform, { words: 20_000, readers: 1 });
});

test('characters that the model sends in two halves arrive whole, live and stored', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith({ type: 'answer', deltas: ['Wave \ud83d', '\udc4b', ' and \ud83d', 'end'] });
  const live = await collectFrames(await smith.stream('Hello'));
  const run = await smith.get(live[0]?.data.run_id);
  const stored = await collectFrames(await smith.events(run.id));
  assert.equal(run.output.content, 'Wave 👋 and \ufffdend');
  assert.equal(assemble(live).text, run.output.content);
  assert.equal(assemble(stored).text, run.output.content);
});

test('a stream begins nowhere but at a frame of a run that is there', async () => {
  const smith = await makeSmith(platform);
  const { body: run } = await smith.ask('Hello');
  const path = `${smith.runs}/${run.id}/events`;
  for (const header of ['x', '-1', '1.5', '99999999999999999999']) {
    const refused = await smith.project.get(path, { 'last-event-id': header });
    assert.deepEqual([refused.status, refused.body.error.code], [422, 'invalid_request'], header);
  }
  const missing = await smith.project.get(`${smith.runs}/run_00000000000000000000000000/events`);
  assert.deepEqual([missing.status, missing.body.error.code], [404, 'not_found']);
  const other = await makeSmith(platform, {}, smith.project);
  assert.equal((await smith.project.get(`${other.runs}/${run.id}/events`)).status, 404);
  assert.deepEqual(await collectFrames(await smith.events(run.id, 1_000)), []);
});

test('the stream of a run that was resumed goes on beyond its pause', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([
    { type: 'answer', toolCalls: [{ name: 'look_up', arguments: '{}' }] },
    { type: 'answer', deltas: ['Found', ' it'], firstDelayMs: 300 },
  ]);
  const { body: run } = await smith.ask('Hello', { tools: [clientTool('look_up')] });
  assert.equal(run.status, 'paused');
  // It ends where the run rests.
  assert.equal((await collectFrames(await smith.events(run.id))).at(-1)?.event, 'run.paused');
  const submitted = smith.submit(run.id, {
    kind: 'tool_result',
    tool_call_id: run.output.tool_calls[0].id,
    result: { ok: true },
  });
  await upstream.waitForRequests(upstream.requests.length + 1);
  const frames = await collectFrames(await smith.events(run.id));
  assert.equal(frames.at(-1)?.event, 'run.completed');
  assert.equal(assemble(frames).text, 'Found it');
  assert.equal((await submitted).body.status, 'completed');
});
