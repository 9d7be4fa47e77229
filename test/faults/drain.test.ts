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
import { endsInOrder, type Fleet, openFleet } from './fleet.ts';

/** The longest that a server may be given. One that has nothing to wait for ends in less than half of it. */
const LONG_DRAIN = { IRONCRAFT_DRAIN_SECONDS: '60' };
const TIMEOUT_MS = 30_000;
/** Soon over: turns are handed on when most of it is, and the rest is kept for closing. */
const SHORT_DRAIN = { IRONCRAFT_DRAIN_SECONDS: '4' };
/** Of what is left at its deadline; on a busy machine a server may be cut off in the middle of it. */
const TRIES = 3;

const store = testServerUrl() === undefined ? 'embedded' : 'server';

async function openServer(
  t: TestContext,
  variables: Readonly<Record<string, string>>,
): Promise<{ fleet: Fleet; server: ServerProcess }> {
  const fleet = await openFleet(t, {
    store,
    only: 'platform',
    variables: { IRONCRAFT_LOG_LEVEL: 'info', ...variables },
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

/** Sends the signal and waits until it is heard. */
async function beginDraining(server: ServerProcess): Promise<void> {
  server.kill('SIGTERM');
  await waitFor('drain', TIMEOUT_MS, async () => (server.stderr().includes('"draining"') ? true : undefined));
}

/** Before the deadline of the drain, which a server that waits for it would not. */
async function assertEndsEarly(server: ServerProcess): Promise<void> {
  const ended = await waitFor('end before the deadline', TIMEOUT_MS, () =>
    Promise.race([server.ended, Promise.resolve(undefined)]),
  );
  assert.deepEqual(ended, { code: 0, signal: null });
}

test('a draining server with nothing in flight ends without waiting for its deadline', async (t) => {
  const { fleet, server } = await openServer(t, LONG_DRAIN);
  const smith = await makeSmith(fleet, server, 'builtin/demo');
  assert.equal((await smith.ask('Hello')).body.status, 'completed');
  await beginDraining(server);
  await assertEndsEarly(server);
});

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

test('a draining server hands a turn on at its deadline, whoever waits for it and whoever does not read', async (t) => {
  for (let tries = 0; tries < TRIES; tries += 1) if (await handsOn(t)) return;
  assert.fail(`the server was cut off at its deadline ${TRIES} times`);
});

/** False: the server did not end in order within its drain time, after which it cuts off whoever is left. */
async function handsOn(t: TestContext): Promise<boolean> {
  const { fleet, server } = await openServer(t, SHORT_DRAIN);
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
  const flood = await flooded.begin('Write 100000 words');
  await flooded.settled(flood);
  const stuck = await openUnread(`${server.url}${flooded.runs}/${flood}/events`, smith.project.token);
  t.after(() => void stuck.destroy());

  await beginDraining(server);
  const reading = readOn(reader, seen);
  if (!(await endsInOrder(server, [reading, answer]))) return false;
  await reading;
  assert.equal(seen.at(-1)?.event, 'stream.detached');
  assert.deepEqual([seen.at(-1)?.data.run_id, seen.at(-1)?.data.reason], [runId, 'draining']);
  const { status, body } = await answer;
  assert.deepEqual([status, body.id, body.status], [201, runId, 'in_progress'], 'told how the run stands');

  const next = await fleet.start();
  const again = smithOf(fleet.project(next), smith.id);
  const rest = openFrames(await again.events(runId, seen.findLast(({ id }) => id !== undefined)?.id));
  await framesUntil(rest, isType('run.restarted'));
  await framesUntil(rest, isType('message.delta'));
  assert.equal((await again.cancel(runId)).status, 200);
  assert.equal((await collectFrames(await again.events(runId))).at(-1)?.event, 'run.cancelled');
  return true;
}

test('a draining server ends at a second signal, before its deadline, whatever is in flight', async (t) => {
  const { fleet, server } = await openServer(t, LONG_DRAIN);
  const upstream = await openUpstream(t, fleet, server);
  upstream.respondWith({ type: 'hang_before_headers' });
  const smith = await makeSmith(fleet, server);
  await smith.begin('Hello');
  await upstream.waitForRequests(1);
  await beginDraining(server);
  const ended = await waitFor('end before the deadline', TIMEOUT_MS, async () => {
    // An echo of the first within half a second does not count as another.
    server.kill('SIGTERM');
    return Promise.race([server.ended, Promise.resolve(undefined)]);
  });
  assert.deepEqual(ended, { code: 143, signal: null });
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
