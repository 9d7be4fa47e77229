/** SIGTERM, with whatever is under way: nothing is cut off that could end, nothing holds the process up, exit code 0. */
import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import { type ServerProcess, waitFor } from '../boot/server-process.ts';
import { testServerUrl } from '../support/database.ts';
import { collectFrames, readFrames } from '../support/read-frames.ts';
import {
  assemble,
  framesUntil,
  isType,
  openFrames,
  question,
  readOn,
  smithOf,
  type TestSmith,
  withinMs,
} from '../support/turns.ts';
import { endsInOrder, type Fleet, openFleet } from './fleet.ts';

/** As documented: the default of IRONCRAFT_DRAIN_SECONDS. */
const DRAIN_MS = 10_000;
/** Sooner than what waits for the deadline, on a busy machine too. */
const EARLY_MS = DRAIN_MS - 2_000;
const PATIENCE_MS = 10_000;

const store = testServerUrl() === undefined ? 'embedded' : 'server';

async function openServer(t: TestContext): Promise<{ fleet: Fleet; server: ServerProcess }> {
  const fleet = await openFleet(t, { store, only: 'platform', variables: { IRONCRAFT_LOG_LEVEL: 'info' } });
  return { fleet, server: await fleet.start() };
}

async function makeSmith(fleet: Fleet, server: ServerProcess): Promise<TestSmith> {
  const project = fleet.project(server);
  return smithOf(project, await project.createSmith());
}

/** Sends the signal and waits until it is heard. */
async function beginDraining(server: ServerProcess): Promise<{ elapsedMs: () => number }> {
  const startedMs = performance.now();
  server.kill('SIGTERM');
  await waitFor('the drain', PATIENCE_MS, async () => (server.stderr().includes('"draining"') ? true : undefined));
  return { elapsedMs: () => performance.now() - startedMs };
}

test('with nothing in flight it ends at once', (t) => withinMs(EARLY_MS, () => drainIdle(t)));

async function drainIdle(t: TestContext): Promise<number> {
  const { fleet, server } = await openServer(t);
  const smith = await makeSmith(fleet, server);
  assert.equal((await smith.ask('Hello')).body.status, 'completed');
  const { elapsedMs } = await beginDraining(server);
  await endsInOrder(server);
  return elapsedMs();
}

test('a turn of three seconds is finished, for those who stream it and those who wait; new turns are refused', (t) =>
  withinMs(EARLY_MS, () => drainShort(t)));

async function drainShort(t: TestContext): Promise<number> {
  const { fleet, server } = await openServer(t);
  const [streamed, awaited, idle] = [
    await makeSmith(fleet, server),
    await makeSmith(fleet, server),
    await makeSmith(fleet, server),
  ];
  const frames = readFrames(await streamed.stream('Write 60 words at 20 words per second'));
  const seen = await framesUntil(frames, isType('message.delta'));
  const answer = awaited.ask('Write 50 words at 20 words per second');
  await waitFor('the second turn', PATIENCE_MS, async () => {
    const { body } = await awaited.project.get(awaited.runs);
    return body.data.length === 1 ? true : undefined;
  });

  const { elapsedMs } = await beginDraining(server);
  const refused = await idle.ask('Hello');
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'service_overloaded']);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal((await idle.project.get(idle.runs)).status, 200, 'everything else is still answered');
  assert.equal((await fetch(`${server.url}/readyz`)).status, 503);

  const reading = readOn(frames, seen);
  const isInOrder = await endsInOrder(server, [reading, answer]);
  const tookMs = elapsedMs();
  if (!isInOrder) return tookMs;
  await reading;
  assert.equal(seen.at(-1)?.event, 'run.completed');
  assert.equal(assemble(seen).text.split(' ').length, 60);
  const { status, body } = await answer;
  assert.deepEqual([status, body.status, body.output.content.split(' ').length], [201, 'completed', 50]);
  return tookMs;
}

test('a turn of a minute is handed on; neither who waits for it nor who does not read holds the process up', (t) =>
  withinMs(DRAIN_MS, () => drainLong(t)));

async function drainLong(t: TestContext): Promise<number> {
  const { fleet, server } = await openServer(t);
  const smith = await makeSmith(fleet, server);
  const answer = smith.ask('Write 600 words at 10 words per second');
  const runId = await waitFor('the turn', PATIENCE_MS, async () => {
    const { body } = await smith.project.get(smith.runs);
    return body.data[0]?.id as string | undefined;
  });
  const reader = openFrames(await smith.events(runId));
  const seen = await framesUntil(reader, isType('message.delta'));
  // A socket that fills up, and its owner never looks at it again.
  const flooded = await makeSmith(fleet, server);
  const flood = await flooded.begin('Write 100000 words');
  await flooded.settled(flood);
  const stuck = await openUnread(`${server.url}${flooded.runs}/${flood}/events`, smith.project.token);
  t.after(() => void stuck.destroy());

  const { elapsedMs } = await beginDraining(server);
  const reading = readOn(reader, seen);
  const isInOrder = await endsInOrder(server, [reading, answer]);
  const tookMs = elapsedMs();
  if (!isInOrder) return tookMs;
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
  return tookMs;
}

test('a second signal ends it at once', (t) => withinMs(EARLY_MS, () => endTwice(t)));

async function endTwice(t: TestContext): Promise<number> {
  const { fleet, server } = await openServer(t);
  const smith = await makeSmith(fleet, server);
  await smith.project.post(smith.runs, question('Write 600 words at 10 words per second'), { prefer: 'respond-async' });
  const { elapsedMs } = await beginDraining(server);
  const ended = await waitFor('its end', PATIENCE_MS, async () => {
    // An echo of the first within half a second does not count as another.
    server.kill('SIGTERM');
    return Promise.race([server.ended, Promise.resolve(undefined)]);
  });
  const tookMs = elapsedMs();
  assert.deepEqual(ended, { code: 143, signal: null });
  return tookMs;
}

/** A response of which nothing is ever read. */
async function openUnread(url: string, token: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  get(url, { headers: { authorization: `Bearer ${token}` } }, resolve).on('error', reject);
  const message = await promise;
  // Cut off in the end: no error of the test's.
  message.on('error', () => undefined);
  return message;
}
