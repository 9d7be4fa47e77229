import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { medianOfThree } from '../../../test/support/computed-time.ts';
import { createClient, startPlatform } from '../../../test/support/platform.ts';
import { timed } from '../../../test/support/timed.ts';
import { framesUntil, makeUpstreamSmith, openFrames, smithOf } from '../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const firstServer = await startPlatform({});
const secondServer = await startPlatform({ sharing: firstServer });
after(async () => {
  await secondServer.close();
  await firstServer.close();
  await upstream.close();
});

test('cancelling a run on another server ends its upstream request in less than 200 ms', async () => {
  const smith = await makeUpstreamSmith(secondServer, upstream);
  const client = createClient(firstServer.url, smith.project.token);
  const here = smithOf({ ...smith.project, ...client }, smith.id);
  upstream.respondWith({ type: 'answer', deltas: ['So', ' far'], fault: { afterChunks: 2, type: 'hang' } });
  const ms = await medianOfThree(async () => {
    const frames = openFrames(await smith.stream('Hello'));
    const seen = await framesUntil(frames, (frame) => frame.data.data.text?.endsWith(' far'));
    const runId = seen[0]?.data.run_id;
    const request = upstream.requests.at(-1);
    const [answer, tookMs] = await timed(async () => {
      const cancelled = await here.cancel(runId);
      await request?.closed;
      return cancelled;
    });
    assert.equal(answer.status, 200);
    return tookMs;
  });
  assert.ok(ms < 200, `took ${ms} ms`);
});
