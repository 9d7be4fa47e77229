import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type OpenAiBehaviour, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { readEvents } from '../../../../test/support/agents.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import {
  assemble,
  clientTool,
  eventually,
  framesUntil,
  isType,
  makeSmith,
  makeUpstreamSmith,
  openFrames,
  type TestSmith,
  useUpstream,
} from '../../../../test/support/turns.ts';
import type { OfferedTools } from '../../tools/tool.ts';

const upstream = await startOpenAiUpstream();
const tools = createTestTools();
/** A source that takes for ever to say what it has, for a smith that asks for it. */
const stuck = { toolsFor: ({ hostedTools }: { hostedTools: readonly string[] }) => stuckFor(hostedTools) };
let stuckSmiths = 0;
const platform = await startPlatform({ toolSources: [tools.source, stuck] });
after(async () => {
  await platform.close();
  await upstream.close();
});

function stuckFor(hostedTools: readonly string[]): Promise<OfferedTools> {
  if (!hostedTools.includes('current_time')) return Promise.resolve({ tools: [] });
  stuckSmiths += 1;
  return new Promise(() => {});
}

async function cancel(smith: TestSmith, runId: string): Promise<void> {
  const { status, body } = await smith.cancel(runId);
  assert.deepEqual([status, body], [200, { id: runId, status: 'cancelled' }]);
}

test('cancelling a run that streams closes its upstream, and keeps and charges what was said', async () => {
  const smith = await makeUpstreamSmith(platform, upstream, { model: 'openai/gpt-4o' });
  await useUpstream(smith.project, upstream, 'openai');
  upstream.respondWith({
    type: 'answer',
    deltas: ['Some', ' words', ' were', ' said', ' never'],
    fault: { afterChunks: 4, type: 'hang' },
  });
  const frames = openFrames(await smith.stream('Hello', { thread_id: null }));
  const seen = await framesUntil(frames, (frame) => frame.data.data.text?.endsWith(' said'));
  const runId = seen[0]?.data.run_id;
  await cancel(smith, runId);
  assert.equal(await upstream.requests.at(-1)?.closed, 'client');
  const rest = await framesUntil(frames, isType('run.cancelled'));
  assert.equal((await frames.next()).done, true);
  const run = await smith.get(runId);
  assert.deepEqual([run.status, run.stop_reason, run.error], ['cancelled', 'cancelled', null]);
  assert.equal(run.output.content, 'Some words were said');
  assert.equal(assemble([...seen, ...rest]).text, 'Some words were said');
  // Nobody says what a broken-off call has cost: our estimate, at the list price of 2.5 and 10 dollars a million.
  const { input_tokens, output_tokens, cost } = run.usage;
  assert.ok(input_tokens > 0 && output_tokens === 4, JSON.stringify(run.usage));
  assert.equal(cost, Math.round(input_tokens * 2.5 + output_tokens * 10) / 1e6);
  assert.deepEqual(rest.at(-1)?.data.data, { stop_reason: 'cancelled', usage: run.usage });
  // A cancellation has no event of its own on the feed.
  assert.deepEqual(await readEvents(smith.project, 'run.cancelled'), []);
  assert.deepEqual(await readEvents(smith.project, 'run.completed'), []);
});

const waits: [name: string, behaviour: OpenAiBehaviour][] = [
  ['for the headers of the upstream', { type: 'hang_before_headers' }],
  ['for the first words', { type: 'answer', deltas: ['never'], fault: { afterChunks: 0, type: 'hang' } }],
  ['to try again', { type: 'status', status: 429, headers: { 'retry-after': '20' } }],
];
for (const [name, behaviour] of waits) {
  test(`cancelling a run that waits ${name} ends it, with nothing said and no further call`, async () => {
    const smith = await makeUpstreamSmith(platform, upstream);
    upstream.respondWith(behaviour);
    const count = upstream.requests.length;
    const runId = await smith.begin('Hello');
    await upstream.waitForRequests(count + 1);
    await cancel(smith, runId);
    assert.equal(upstream.requests.length, count + 1);
    const run = await smith.get(runId);
    assert.deepEqual([run.status, run.output?.content ?? ''], ['cancelled', '']);
    assert.deepEqual([run.usage.input_tokens, run.usage.output_tokens], [0, 0]);
    upstream.respondWith({ type: 'answer', deltas: ['Free again'] });
    assert.equal((await smith.ask('Hello')).body.output.content, 'Free again');
  });
}

test('cancelling a run whose tool ignores its signal ends the run before the tool returns', async () => {
  const smith = await makeSmith(platform);
  const runId = await smith.begin('Call the tool gate with {}');
  const call = await eventually(() => tools.callsOf(runId)[0], 'the tool runs');
  await cancel(smith, runId);
  assert.equal(call.signal.aborted, true);
  // What the tool gives later is nobody's.
  tools.open(runId);
  const run = await smith.get(runId);
  assert.deepEqual([run.status, run.output.tool_calls[0].status], ['cancelled', 'cancelled']);
  assert.deepEqual(await readEvents(smith.project, 'tool.completed'), []);
});

test('cancelling a run whose tools are still being listed ends the run before they are', async () => {
  const smith = await makeSmith(platform, { enabled_hosted_tools: ['current_time'] });
  const before = stuckSmiths;
  const runId = await smith.begin('Hello');
  await eventually(() => (stuckSmiths > before ? true : undefined), 'the tools are being listed');
  await cancel(smith, runId);
  assert.equal((await smith.get(runId)).status, 'cancelled');
});

test('a paused run is cancelled, and its stream ends there', async () => {
  const smith = await makeSmith(platform);
  const { body: paused } = await smith.ask('Call the tool look_up with {}', { tools: [clientTool('look_up')] });
  await cancel(smith, paused.id);
  const run = await smith.get(paused.id);
  assert.deepEqual(
    [run.status, run.stop_reason, run.output.tool_calls[0].status, run.usage],
    ['cancelled', 'cancelled', 'cancelled', paused.usage],
  );
  const frames = await collectFrames(await smith.events(paused.id));
  assert.deepEqual(
    frames.map(({ event }) => event),
    ['run.started', 'run.paused', 'run.cancelled'],
  );
  assert.deepEqual(frames.at(-1)?.data.data, { stop_reason: 'cancelled', usage: run.usage });
});

test('a reader who waits behind a pause is told of the cancellation', async () => {
  const smith = await makeSmith(platform);
  const { body: paused } = await smith.ask('Call the tool look_up with {}', { tools: [clientTool('look_up')] });
  const last = (await collectFrames(await smith.events(paused.id))).at(-1);
  const waiting = collectFrames(await smith.events(paused.id, last?.id));
  await cancel(smith, paused.id);
  assert.deepEqual(
    (await waiting).map(({ event }) => event),
    ['run.cancelled'],
  );
});

test('cancelling twice, or many times at once, is one cancellation', async () => {
  const smith = await makeSmith(platform);
  const runId = await smith.begin('Write 5000 words at 50 words per second');
  const answers = await Promise.all(Array.from({ length: 6 }, () => smith.cancel(runId)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200, 200],
  );
  assert.equal((await smith.cancel(runId)).status, 200);
  const frames = await collectFrames(await smith.events(runId));
  assert.equal(frames.filter(isType('run.cancelled')).length, 1);
});

test('cancelling a run that has ended is acknowledged and changes nothing', async () => {
  const smith = await makeSmith(platform);
  const { body: completed } = await smith.ask('Hello');
  const { body: failed } = await smith.ask('Fail with 400');
  for (const run of [completed, failed]) {
    const before = await (await smith.events(run.id)).text();
    await cancel(smith, run.id);
    assert.deepEqual(await smith.get(run.id), run);
    assert.equal(await (await smith.events(run.id)).text(), before);
  }
  assert.equal((await smith.cancel('run_00000000000000000000000000')).status, 404);
  const neighbour = await makeSmith(platform, {}, smith.project);
  assert.equal((await neighbour.cancel(completed.id)).status, 404);
});

test('a run that is cancelled while its answer arrives in full is the one or the other', async () => {
  const smith = await makeSmith(platform);
  for (let round = 0; round < 10; round += 1) {
    const runId = await smith.begin('Write 200 words');
    await cancel(smith, runId);
    const run = await smith.get(runId);
    assert.ok(['cancelled', 'completed'].includes(run.status), run.status);
    const frames = await collectFrames(await smith.events(runId));
    assert.equal(frames.at(-1)?.event, `run.${run.status}`);
    assert.equal(assemble(frames).text, run.output?.content ?? '');
  }
});

test('a run of a smith that is archived meanwhile can be cancelled', async () => {
  const smith = await makeSmith(platform);
  const runId = await smith.begin('Write 5000 words at 50 words per second');
  assert.equal((await smith.project.delete(`/v1/smiths/${smith.id}`)).status, 204);
  await cancel(smith, runId);
  assert.equal((await smith.get(runId)).status, 'cancelled');
});

test('what waits for somebody is cancelled with its smith, and its approvals expire', async () => {
  const smith = await makeSmith(platform);
  const { body: paused } = await smith.ask('Call the tool guarded with {"amount":5}');
  assert.equal(paused.status, 'paused');
  const [call] = paused.output.tool_calls;
  assert.equal((await smith.project.delete(`/v1/smiths/${smith.id}`)).status, 204);
  await eventually(
    async () => (await smith.get(paused.id)).status === 'cancelled' || undefined,
    'the run is cancelled',
  );
  assert.equal((await smith.project.get(`/v1/approvals/${call.approval_id}`)).body.status, 'expired');
  assert.deepEqual((await smith.project.get('/v1/approvals?status=pending')).body.data, []);
});
