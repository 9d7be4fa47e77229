import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import {
  assemble,
  clientTool,
  makeSmith,
  makeUpstreamSmith,
  sentBody,
  sentTexts,
  type TestSmith,
  untilAllButOne,
} from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

const keyed = (key: string) => ({ 'idempotency-key': key });

function replay(smith: TestSmith, runId: string, body?: unknown, headers?: Record<string, string>) {
  return smith.project.post(`${smith.runs}/${runId}/replay`, body, headers);
}

async function countThreads(smith: TestSmith): Promise<number> {
  const { rowCount } = await platform.db.query({
    text: 'select 1 from threads where project_id = $1 and smith_id = $2',
    values: [smith.project.projectId, smith.id],
  });
  return rowCount;
}

test('a replay asks the same question in a thread of its own, after what had been said before it', async () => {
  const smith = await makeUpstreamSmith(platform, upstream, { instructions: 'Be brief.' });
  upstream.respondWith(
    ['One', 'Two', 'Three', 'Two again', 'After'].map((text) => ({ type: 'answer', deltas: [text] })),
  );
  const settings = {
    max_output_tokens: 9,
    temperature: 0.5,
    instructions: 'In French.',
    metadata: { a: 1 },
    channel: 'web',
  };
  await smith.ask('First', { thread_id: 'main' });
  const { body: original } = await smith.ask('Second', { thread_id: 'main', ...settings });
  await smith.ask('Third', { thread_id: 'main' });
  await smith.project.patch(`/v1/smiths/${smith.id}`, { instructions: 'Be long.' });

  const { status, body } = await replay(smith, original.id);
  assert.deepEqual([status, body.status, body.output.content], [201, 'completed', 'Two again']);
  assert.notEqual(body.id, original.id);
  assert.notEqual(body.thread_id, original.thread_id);
  assert.deepEqual([body.input, body.metadata, body.channel], [original.input, original.metadata, original.channel]);
  assert.deepEqual(sentTexts(upstream), [
    'system: Be long.\n\nIn French.',
    'user: First',
    'assistant: One',
    'user: Second',
  ]);
  const sent = sentBody(upstream);
  assert.deepEqual([sent.max_tokens, sent.temperature], [9, 0.5]);
  assert.deepEqual(await smith.get(original.id), original);
  // The new thread goes on by itself.
  await smith.ask('Fourth', { thread_id: body.thread_id });
  assert.deepEqual(sentTexts(upstream).slice(-3), ['user: Second', 'assistant: Two again', 'user: Fourth']);
});

test('a replay streams', async () => {
  const smith = await makeSmith(platform);
  const { body: original } = await smith.ask('Write 5 words');
  const response = await smith.project.open('POST', `${smith.runs}/${original.id}/replay`, { stream: true });
  assert.equal(response.status, 201);
  const frames = await collectFrames(response);
  assert.equal(assemble(frames).text, original.output.content);
  assert.notEqual(frames[0]?.data.run_id, original.id);
});

test('failed and cancelled runs are replayed as well; a run that has not ended is not', async () => {
  const smith = await makeSmith(platform);
  const { body: failed } = await smith.ask('Fail with 400');
  assert.equal((await replay(smith, failed.id)).body.status, 'failed');
  const { body: paused } = await smith.ask('Call the tool look_up with {}', { tools: [clientTool('look_up')] });
  const refused = await replay(smith, paused.id);
  assert.deepEqual([refused.status, refused.body.error.code], [422, 'replay_unsupported']);
  await smith.cancel(paused.id);
  const again = await replay(smith, paused.id);
  assert.deepEqual([again.status, again.body.status], [201, 'paused']);
  assert.equal((await replay(smith, 'run_00000000000000000000000000')).status, 404);
  const neighbour = await makeSmith(platform, {}, smith.project);
  assert.equal((await replay(neighbour, failed.id)).status, 404);
  const unknown = await replay(smith, failed.id, { again: true });
  assert.deepEqual([unknown.status, unknown.body.error.code], [422, 'invalid_request']);
});

test('a run around which the thread has been folded since cannot be replayed', async () => {
  const smith = await makeSmith(platform);
  const { body: first } = await smith.ask('First', { thread_id: 'main' });
  const { body: second } = await smith.ask('Second', { thread_id: 'main' });
  await platform.db.query({
    text: `update threads set summary = 'They met', summary_turn = 1 where project_id = $1 and smith_id = $2`,
    values: [smith.project.projectId, smith.id],
  });
  const refused = await replay(smith, first.id);
  assert.deepEqual([refused.status, refused.body.error.code], [422, 'replay_unsupported']);
  assert.equal((await replay(smith, second.id)).status, 201);
});

test('a replay with the same key again is the same run, and a refused one leaves no thread behind', async () => {
  const smith = await makeSmith(platform);
  const { body: original } = await smith.ask('Write 5 words');
  const first = await replay(smith, original.id, {}, keyed('one'));
  assert.equal(first.status, 201);
  const threads = await countThreads(smith);
  const again = await replay(smith, original.id, {}, keyed('one'));
  assert.deepEqual([again.status, again.headers.get('idempotent-replay')], [201, 'true']);
  assert.deepEqual(again.body, first.body);
  const streamed = await smith.project.open('POST', `${smith.runs}/${original.id}/replay`, {}, keyed('one'));
  assert.equal(streamed.status, 201);
  const other = await replay(smith, original.id, { stream: true }, keyed('one'));
  assert.equal(other.body?.error?.code, 'idempotency_key_reused', other.text);

  const busy = await smith.begin('Write 100000 words at 1 words per second');
  const locked = await replay(smith, original.id);
  assert.deepEqual([locked.status, locked.body.error.code], [400, 'conversation_locked']);
  assert.equal(await countThreads(smith), threads + 1);
  await smith.cancel(busy);
});

test('of many replays with one key at once one runs; the others are told that it is in progress', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith([{ type: 'answer' }, { type: 'answer', held }]);
  const { body: original } = await smith.ask('Hello');
  const asked = Array.from({ length: 6 }, () => replay(smith, original.id, {}, keyed('one')));
  await untilAllButOne(asked);
  release();
  const answers = await Promise.all(asked);
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  for (const { status, body } of answers) {
    if (status !== 201) assert.deepEqual([status, body.error.code], [409, 'idempotency_in_progress']);
  }
  assert.equal(await countThreads(smith), 2);
});
