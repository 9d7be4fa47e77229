import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import { makeUpstreamSmith } from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

test('an answer that came in one piece is shown as one, and kept once', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith({ type: 'answer', deltas: ['All of it at once.'] });
  const { body: run } = await smith.ask('Hello');
  const frames = await collectFrames(await smith.events(run.id));
  assert.deepEqual(
    frames.map(({ event, data }) => [data.seq, event, data.data.text ?? data.data.content]),
    [
      [1, 'run.started', undefined],
      [2, 'message.delta', 'All of it at once.'],
      [3, 'message.completed', 'All of it at once.'],
      [4, 'run.completed', undefined],
    ],
  );
  assert.deepEqual(Object.keys(frames[2]?.data.data).sort(), ['content', 'content_type', 'step']);
  const later = await collectFrames(await smith.events(run.id, 2));
  assert.deepEqual(later, frames.slice(2));
  const { rows } = await platform.db.query({
    text: 'select data from run_events where run_id = $1 and data::text like $2',
    values: [run.id, '%All of it at once%'],
  });
  assert.equal(rows.length, 1);
});
