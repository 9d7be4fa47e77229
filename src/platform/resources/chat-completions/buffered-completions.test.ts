import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import {
  eventually,
  framesUntil,
  isType,
  makeUpstreamSmith,
  openFrames,
  sentBody,
  type TestSmith,
} from '../../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

function ask({ project, id }: TestSmith, path: string, body: Record<string, unknown>) {
  return project.post(path, body, { 'ic-smith-id': id });
}

function complete(smith: TestSmith, more: Record<string, unknown> = {}) {
  return ask(smith, '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }], ...more });
}

function respond(smith: TestSmith, more: Record<string, unknown> = {}) {
  return ask(smith, '/v1/responses', { model: 'default', input: 'Hello', ...more });
}

/** The run that the smith is at. */
async function runningOf(smith: TestSmith): Promise<string> {
  return eventually(async () => {
    const { body } = await smith.project.get(smith.runs);
    return body.data.find(({ status }: { status: string }) => status === 'in_progress')?.id;
  }, 'a run is in progress');
}

test('the model is asked for its answer whole where nobody reads it as it comes, and for a stream otherwise', async () => {
  upstream.respondWith({ type: 'answer', deltas: ['Here', ' you are.'] });
  const smith = await makeUpstreamSmith(platform, upstream);
  const asked = async (request: () => Promise<{ status: number; text: string }>): Promise<boolean> => {
    const { status, text } = await request();
    assert.ok(status < 300, text);
    return sentBody(upstream).stream === true;
  };
  assert.equal(await asked(() => complete(smith)), false);
  assert.equal(await asked(() => respond(smith)), false);
  assert.equal(await asked(() => complete(smith, { stream: true })), true);
  assert.equal(await asked(() => respond(smith, { stream: true })), true);
  assert.equal(await asked(() => smith.ask('Hello')), true);
});

test('a response in the background can be followed, so it is streamed', async () => {
  upstream.respondWith({ type: 'answer', deltas: ['Here', ' you are.'] });
  const smith = await makeUpstreamSmith(platform, upstream);
  const count = upstream.requests.length;
  await respond(smith, { background: true });
  await upstream.waitForRequests(count + 1);
  assert.equal(sentBody(upstream).stream, true);
});

test('the calls of one turn are all asked for whole, those after the results of the client too', async () => {
  const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
  upstream.respondWith([
    { type: 'answer', toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"place":"Ulm"}' }] },
    { type: 'answer', deltas: ['It', ' rains.'] },
  ]);
  const smith = await makeUpstreamSmith(platform, upstream);
  const first = await complete(smith, { tools });
  const { message } = first.body.choices[0];
  assert.deepEqual(message.tool_calls[0].function, { name: 'weather', arguments: '{"place":"Ulm"}' });
  const results = [message, { role: 'tool', tool_call_id: 'c1', content: 'rain' }];
  const second = await complete(smith, { tools, messages: [{ role: 'user', content: 'Hello' }, ...results] });
  assert.equal(second.body.choices[0].message.content, 'It rains.');
  assert.equal(second.body.ironcraft.run_id, first.body.ironcraft.run_id);
  assert.deepEqual([sentBody(upstream, -2).stream, sentBody(upstream).stream], [undefined, undefined]);
});

test('a reader of the run gets the text in one piece when it is asked for whole', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith({ type: 'answer', deltas: ['Here', ' you', ' are.'], held });
  const smith = await makeUpstreamSmith(platform, upstream);
  const answered = complete(smith);
  const frames = openFrames(await smith.events(await runningOf(smith)));
  release();
  const seen = await framesUntil(frames, isType('run.completed'));
  const texts = seen.flatMap(({ event, data }) => (event === 'message.delta' ? [data.data.text] : []));
  assert.deepEqual(texts, ['Here you are.']);
  assert.equal((await answered).body.choices[0].message.content, 'Here you are.');
});

test('cancelling a run that waits for a whole answer closes its upstream, and nothing was said', async () => {
  upstream.respondWith({ type: 'hang_before_headers' });
  const smith = await makeUpstreamSmith(platform, upstream);
  const count = upstream.requests.length;
  const answered = complete(smith);
  const runId = await runningOf(smith);
  await upstream.waitForRequests(count + 1);
  assert.equal((await smith.cancel(runId)).status, 200);
  const refused = await answered;
  assert.equal(refused.body.error.code, 'run_cancelled');
  assert.equal(await upstream.requests.at(-1)?.closed, 'client');
  const run = await smith.get(runId);
  assert.deepEqual([run.status, run.output.content, run.usage.output_tokens], ['cancelled', '', 0]);
});
