/** A run is cancelled within 200 ms, whatever it waits for. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type OpenAiBehaviour, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { medianOfThree } from '../../../../test/support/computed-time.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { timed } from '../../../../test/support/timed.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import {
  eventually,
  framesUntil,
  makeSmith,
  makeUpstreamSmith,
  openFrames,
  type TestSmith,
} from '../../../../test/support/turns.ts';
import type { OfferedTools } from '../../tools/tool.ts';

const LIMIT_MS = 200;

const upstream = await startOpenAiUpstream();
const tools = createTestTools();
/** A source that takes for ever to say what it has, for a smith that asks for it. */
const stuck = {
  listed: 0,
  toolsFor({ hostedTools }: { hostedTools: readonly string[] }): Promise<OfferedTools> {
    if (!hostedTools.includes('current_time')) return Promise.resolve({ tools: [] });
    stuck.listed += 1;
    return new Promise(() => {});
  },
};
const platform = await startPlatform({ toolSources: [tools.source, stuck] });
after(async () => {
  await platform.close();
  await upstream.close();
});

/** Checks how long it takes to cancel runs that `begin` has brought to where they wait. */
async function assertCancelledSoon(smith: TestSmith, begin: () => Promise<string>): Promise<void> {
  const ms = await medianOfThree(async () => {
    const runId = await begin();
    const request = upstream.requests.at(-1);
    const [answer, tookMs] = await timed(async () => {
      const cancelled = await smith.cancel(runId);
      await request?.closed;
      return cancelled;
    });
    assert.equal(answer.status, 200);
    assert.equal((await smith.get(runId)).status, 'cancelled');
    tools.open(runId);
    return tookMs;
  });
  assert.ok(ms < LIMIT_MS, `took ${ms} ms`);
}

/** Comes back once the upstream has been asked. */
async function beginAtUpstream(smith: TestSmith): Promise<string> {
  const count = upstream.requests.length;
  const runId = await smith.begin('Hello');
  await upstream.waitForRequests(count + 1);
  return runId;
}

const waits: [name: string, behaviour: OpenAiBehaviour][] = [
  ['for the headers of the upstream', { type: 'hang_before_headers' }],
  ['for the first words', { type: 'answer', deltas: ['never'], fault: { afterChunks: 0, type: 'hang' } }],
  ['to try again', { type: 'status', status: 429, headers: { 'retry-after': '20' } }],
];
for (const [name, behaviour] of waits) {
  test(`cancelling a run that waits ${name} takes less than 200 ms`, async () => {
    const smith = await makeUpstreamSmith(platform, upstream);
    upstream.respondWith(behaviour);
    await assertCancelledSoon(smith, () => beginAtUpstream(smith));
  });
}

test('cancelling a run that streams takes less than 200 ms', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith({ type: 'answer', deltas: ['Some', ' words'], fault: { afterChunks: 2, type: 'hang' } });
  await assertCancelledSoon(smith, async () => {
    const frames = openFrames(await smith.stream('Hello', { thread_id: null }));
    const seen = await framesUntil(frames, (frame) => frame.data.data.text?.endsWith(' words'));
    return seen[0]?.data.run_id;
  });
});

test('cancelling a run that waits for a whole answer takes less than 200 ms', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith({ type: 'hang_before_headers' });
  await assertCancelledSoon(smith, async () => {
    const count = upstream.requests.length;
    const messages = [{ role: 'user', content: 'Hello' }];
    void smith.project.post('/v1/chat/completions', { messages }, { 'ic-smith-id': smith.id });
    await upstream.waitForRequests(count + 1);
    return eventually(async () => {
      const { body } = await smith.project.get(smith.runs);
      return body.data.find(({ status }: { status: string }) => status === 'in_progress')?.id;
    }, 'a run is in progress');
  });
});

test('cancelling a run whose tool ignores its signal takes less than 200 ms', async () => {
  const smith = await makeSmith(platform);
  await assertCancelledSoon(smith, async () => {
    const runId = await smith.begin('Call the tool gate with {}');
    await eventually(() => tools.callsOf(runId)[0], 'the tool runs');
    return runId;
  });
});

test('cancelling a run whose tools are still being listed takes less than 200 ms', async () => {
  const smith = await makeSmith(platform, { enabled_hosted_tools: ['current_time'] });
  await assertCancelledSoon(smith, async () => {
    const before = stuck.listed;
    const runId = await smith.begin('Hello');
    await eventually(() => (stuck.listed > before ? true : undefined), 'the tools are being listed');
    return runId;
  });
});
