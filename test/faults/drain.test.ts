/** SIGTERM, with whatever is under way: nothing is cut off that could end, nothing holds the process up, exit code 0. */
import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import { type ServerProcess, waitFor } from '../boot/server-process.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { testServerUrl } from '../support/database.ts';
import { collectFrames, readFrames } from '../support/read-frames.ts';
import {
  assemble,
  FAKE_MODEL,
  framesUntil,
  isType,
  openFrames,
  readOn,
  smithOf,
  type TestSmith,
  useUpstream,
} from '../support/turns.ts';
import {
  assertEndsEarly,
  beginDraining,
  DRAIN_ON_REQUEST,
  type Fleet,
  LONG_DRAIN,
  openFleet,
  passDrainTime,
} from './fleet.ts';

const TIMEOUT_MS = 30_000;

const store = testServerUrl() === undefined ? 'embedded' : 'server';

async function openServer(
  t: TestContext,
  variables: Readonly<Record<string, string>>,
): Promise<{ fleet: Fleet; server: ServerProcess }> {
  const fleet = await openFleet(t, {
    store,
    only: 'platform',
    variables,
  });
  return { fleet, server: await fleet.start() };
}

/** The project's smiths talk to it. */
async function openUpstream(t: TestContext, fleet: Fleet, server: ServerProcess): Promise<OpenAiUpstream> {
  const upstream = await startOpenAiUpstream();
  t.after(() => upstream.close());
  await useUpstream(fleet.project(server), upstream);
  return upstream;
}

async function makeSmith(fleet: Fleet, server: ServerProcess, model = FAKE_MODEL): Promise<TestSmith> {
  const project = fleet.project(server);
  return smithOf(project, await project.createSmith({ model }));
}

test('a draining server refuses new turns and ends once those in flight are finished for who streams and who waits', async (t) => {
  const { fleet, server } = await openServer(t, LONG_DRAIN);
  const upstream = await openUpstream(t, fleet, server);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  t.after(() => release());
  const deltas = Array.from({ length: 60 }, (_, index) => `w${index} `);
  upstream.respondWith({ type: 'answer', deltas, holdAt: (chunks) => (chunks < 20 ? undefined : released) });
  const [streamed, awaited, idle] = [
    await makeSmith(fleet, server),
    await makeSmith(fleet, server),
    await makeSmith(fleet, server),
  ];
  const frames = readFrames(await streamed.stream('Hello'));
  const seen = await framesUntil(frames, isType('message.delta'));
  const answer = awaited.ask('Hello');
  await upstream.waitForRequests(2);

  await beginDraining(server);
  const refused = await idle.ask('Hello');
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'service_overloaded']);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal((await idle.project.get(idle.runs)).status, 200, 'everything else is still answered');
  assert.equal((await fetch(`${server.url}/readyz`)).status, 503);

  release();
  const reading = readOn(frames, seen);
  await assertEndsEarly(server);
  await reading;
  assert.equal(seen.at(-1)?.event, 'run.completed');
  assert.equal(assemble(seen).text, deltas.join(''));
  const { status, body } = await answer;
  assert.deepEqual([status, body.status, body.output.content], [201, 'completed', deltas.join('')]);
});

test('a draining server hands a turn on when its time has passed, whoever waits for it and whoever does not read', async (t) => {
  const { fleet, server } = await openServer(t, DRAIN_ON_REQUEST);
  const upstream = await openUpstream(t, fleet, server);
  upstream.respondWith({ type: 'answer', deltas: ['Hello', ' there', '.'], fault: { afterChunks: 2, type: 'hang' } });
  const smith = await makeSmith(fleet, server);
  const answer = smith.ask('Hello');
  const runId = await waitFor('turn', TIMEOUT_MS, async () => {
    const { body } = await smith.project.get(smith.runs);
    return body.data[0]?.id as string | undefined;
  });
  const reader = openFrames(await smith.events(runId));
  const seen = await framesUntil(reader, isType('message.delta'));
  // A socket that fills up, and its owner never looks at it again.
  const flooded = await makeSmith(fleet, server, 'builtin/demo');
  const flood = await flooded.begin('Write 20000 words');
  await flooded.settled(flood);
  const stuck = await openUnread(`${server.url}${flooded.runs}/${flood}/events`, smith.project.token);
  t.after(() => void stuck.destroy());

  await beginDraining(server);
  const reading = readOn(reader, seen);
  passDrainTime(server);
  await assertEndsEarly(server);
  await reading;
  assert.equal(seen.at(-1)?.event, 'stream.detached');
  assert.deepEqual([seen.at(-1)?.data.run_id, seen.at(-1)?.data.reason], [runId, 'draining']);
  const { status, body } = await answer;
  assert.deepEqual([status, body.id, body.status], [201, runId, 'in_progress'], 'told how the run stands');

  const next = await fleet.start(LONG_DRAIN);
  const again = smithOf(fleet.project(next), smith.id);
  const rest = openFrames(await again.events(runId, seen.findLast(({ id }) => id !== undefined)?.id));
  await framesUntil(rest, isType('run.restarted'));
  await framesUntil(rest, isType('message.delta'));
  assert.equal((await again.cancel(runId)).status, 200);
  assert.equal((await collectFrames(await again.events(runId))).at(-1)?.event, 'run.cancelled');

  // A second signal ends it at once, whatever is in flight.
  upstream.respondWith({ type: 'hang_before_headers' });
  const before = upstream.requests.length;
  await again.begin('Hello');
  await upstream.waitForRequests(before + 1);
  await beginDraining(next);
  const ended = await waitFor('end at a second signal', TIMEOUT_MS, async () => {
    // An echo of the first within half a second does not count as another.
    next.kill('SIGINT');
    return Promise.race([next.ended, Promise.resolve(undefined)]);
  });
  assert.deepEqual(ended, { code: 130, signal: null });
});

/** A response of which nothing is ever read. */
async function openUnread(url: string, token: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  get(url, { headers: { authorization: `Bearer ${token}` } }, resolve).on('error', reject);
  const message = await promise;
  // Cut off in the end: no error of the test's.
  message.on('error', () => undefined);
  return message;
}
