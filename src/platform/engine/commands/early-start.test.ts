/** The model of a turn on a new thread is asked while the statement that starts the turn is under way. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { noteStatements } from '../../../../test/support/noted-database.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { makeUpstreamSmith, type TestSmith } from '../../../../test/support/turns.ts';

/** The next start of a turn waits here. */
let held: { readonly reached: () => void; readonly released: Promise<void> } | undefined;

const upstream = await startOpenAiUpstream();
const store = await startPlatform();
const { db } = noteStatements(store.db, ({ text }) => {
  if (held === undefined || !text.includes('insert into runs')) return undefined;
  const { reached, released } = held;
  held = undefined;
  reached();
  return released;
});
const platform = await startPlatform({ sharing: { db, vault: store.vault, blobs: store.blobs } });
after(async () => {
  await platform.close();
  await store.close();
  await upstream.close();
});

function holdNextStart() {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  held = { reached: reached.resolve, released: released.promise };
  return { reached: reached.promise, release: released.resolve };
}

function complete(
  { project, id }: TestSmith,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) {
  const body = { messages: [{ role: 'user', content: 'Hello' }], ...more };
  return project.post('/v1/chat/completions', body, { 'ic-smith-id': id, ...headers });
}

test('the model is asked before the turn is stored, and nothing is answered until it is', async () => {
  upstream.respondWith({ type: 'answer', deltas: ['Here', ' you are.'] });
  const smith = await makeUpstreamSmith(platform, upstream);
  const count = upstream.requests.length;
  const start = holdNextStart();
  const answer = complete(smith);
  await start.reached;
  await upstream.waitForRequests(count + 1);
  const { body: before } = await smith.project.get(smith.runs);
  assert.deepEqual(before.data, []);
  start.release();
  const { status, body } = await answer;
  assert.equal(status, 200);
  assert.equal(body.choices[0].message.content, 'Here you are.');
  const run = await smith.get(body.ironcraft.run_id);
  assert.deepEqual([run.status, run.output.content], ['completed', 'Here you are.']);
  assert.equal(upstream.requests.length, count + 1);
  const frames = await (await smith.events(run.id)).text();
  assert.deepEqual(
    [...frames.matchAll(/^event: (.*)$/gm)].map(([, type]) => type),
    ['run.started', 'message.delta', 'message.completed', 'run.completed'],
  );
});

test('of a turn that cannot be started nothing is left, and its call is broken off', async () => {
  upstream.respondWith({ type: 'hang_before_headers' });
  const smith = await makeUpstreamSmith(platform, upstream);
  const count = upstream.requests.length;
  const start = holdNextStart();
  const answer = complete(smith);
  await start.reached;
  await upstream.waitForRequests(count + 1);
  const other = await smith.begin('Write 100000 words at 1 words per second', { model: 'builtin/demo' });
  start.release();
  assert.equal((await answer).body.error.code, 'conversation_locked');
  assert.equal(await upstream.requests.at(-1)?.closed, 'client');
  await smith.cancel(other);
  const { body } = await smith.project.get(smith.runs);
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    [other],
  );
  upstream.respondWith({ type: 'answer', deltas: ['Free.'] });
  assert.equal((await complete(smith)).status, 200, 'the smith is free, and so is the place for a run in flight');
});

test('the model of a busy smith is not asked', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const running = await smith.begin('Write 100000 words at 1 words per second', { model: 'builtin/demo' });
  const count = upstream.requests.length;
  assert.equal((await complete(smith)).body.error.code, 'conversation_locked');
  assert.equal(upstream.requests.length, count);
  await smith.cancel(running);
});

for (const [what, more, headers] of [
  ['an Idempotency-Key', {}, { 'idempotency-key': 'once' }],
  ['a stream', { stream: true }, {}],
] as const) {
  test(`the model is asked once the turn is stored where the request has ${what}`, async () => {
    upstream.respondWith({ type: 'answer', deltas: ['Here', ' you are.'] });
    const smith = await makeUpstreamSmith(platform, upstream);
    const count = upstream.requests.length;
    const start = holdNextStart();
    const answer = complete(smith, more, headers);
    await start.reached;
    for (let iteration = 0; iteration < 100; iteration += 1) await nextIteration();
    assert.equal(upstream.requests.length, count);
    start.release();
    assert.equal((await answer).status, 200);
    assert.equal(upstream.requests.length, count + 1);
  });
}
