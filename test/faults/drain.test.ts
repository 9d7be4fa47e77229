/** SIGTERM, with whatever is under way: nothing is cut off that could end, nothing holds the process up, exit code 0. */
import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { after, before, describe, test } from 'node:test';
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
import { assertEndsInOrder, beginDraining, DRAIN_ON_REQUEST, type Fleet, openFleet, passDrainTime } from './fleet.ts';

const TIMEOUT_MS = 30_000;

const store = testServerUrl() === undefined ? 'embedded' : 'server';

const DELTAS = Array.from({ length: 60 }, (_, index) => `w${index} `);

async function makeSmith(fleet: Fleet, server: ServerProcess, model = FAKE_MODEL): Promise<TestSmith> {
  const project = fleet.project(server);
  return smithOf(project, await project.createSmith({ model }));
}

describe('a platform process that is told to stop', () => {
  const cleanups: (() => Promise<void>)[] = [];
  let fleet: Fleet;
  let upstream: OpenAiUpstream;
  let handedOn: { readonly smithId: string; readonly runId: string; readonly lastId: number | undefined };

  before(async () => {
    const t = { after: (work: () => Promise<void>) => void cleanups.unshift(work) };
    fleet = await openFleet(t, { store, only: 'platform' });
    upstream = await startOpenAiUpstream();
    t.after(() => upstream.close());
  });
  after(async () => {
    for (const work of cleanups) await work();
  });

  test('a draining server refuses new turns, ends those that finish in its time, and hands on the rest, also where readers wait or do not read', async (t) => {
    const server = await fleet.start(DRAIN_ON_REQUEST);
    await useUpstream(fleet.project(server), upstream);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    t.after(() => release());
    upstream.respondWith({ type: 'answer', deltas: DELTAS, holdAt: (chunks) => (chunks < 20 ? undefined : released) });
    const streamed = await makeSmith(fleet, server);
    const awaited = await makeSmith(fleet, server);
    const idle = await makeSmith(fleet, server);
    const frames = readFrames(await streamed.stream('Hello'));
    const seen = await framesUntil(frames, isType('message.delta'));
    const answer = awaited.ask('Hello');
    await upstream.waitForRequests(2);

    upstream.respondWith({ type: 'answer', deltas: ['Hello', ' there', '.'], fault: { afterChunks: 2, type: 'hang' } });
    const lasting = await makeSmith(fleet, server);
    const lastingAnswer = lasting.ask('Hello');
    const runId = await waitFor('turn', TIMEOUT_MS, async () => {
      const { body } = await lasting.project.get(lasting.runs);
      return body.data[0]?.id as string | undefined;
    });
    const reader = openFrames(await lasting.events(runId));
    const lastingSeen = await framesUntil(reader, isType('message.delta'));
    // A socket that fills up, and its owner never looks at it again.
    const flooded = await makeSmith(fleet, server, 'builtin/demo');
    const flood = await flooded.begin('Write 20000 words');
    await flooded.settled(flood);
    const stuck = await openUnread(`${server.url}${flooded.runs}/${flood}/events`, lasting.project.token);
    t.after(() => void stuck.destroy());

    await beginDraining(server);
    const refused = await idle.ask('Hello');
    assert.deepEqual([refused.status, refused.body.error.code], [503, 'service_overloaded']);
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal((await idle.project.get(idle.runs)).status, 200, 'everything else is still answered');
    assert.equal((await fetch(`${server.url}/readyz`)).status, 503);

    release();
    await readOn(frames, seen);
    assert.equal(seen.at(-1)?.event, 'run.completed');
    assert.equal(assemble(seen).text, DELTAS.join(''));
    const finished = await answer;
    assert.deepEqual(
      [finished.status, finished.body.status, finished.body.output.content],
      [201, 'completed', DELTAS.join('')],
    );

    const reading = readOn(reader, lastingSeen);
    passDrainTime(server);
    await assertEndsInOrder(server);
    await reading;
    const last = lastingSeen.at(-1);
    assert.equal(last?.event, 'stream.detached');
    assert.deepEqual([last?.data.run_id, last?.data.reason], [runId, 'draining']);
    const { status, body } = await lastingAnswer;
    assert.deepEqual([status, body.id, body.status], [201, runId, 'in_progress'], 'told how the run stands');
    handedOn = { smithId: lasting.id, runId, lastId: lastingSeen.findLast(({ id }) => id !== undefined)?.id };
  });

  test('the next server goes on with the turn that was handed on, and ends by itself once the turns in flight are finished', async (t) => {
    const next = await fleet.start(DRAIN_ON_REQUEST);
    const { smithId, runId, lastId } = handedOn;
    const smith = smithOf(fleet.project(next), smithId);
    const rest = openFrames(await smith.events(runId, lastId));
    await framesUntil(rest, isType('run.restarted'));
    await framesUntil(rest, isType('message.delta'));
    assert.equal((await smith.cancel(runId)).status, 200);
    assert.equal((await collectFrames(await smith.events(runId))).at(-1)?.event, 'run.cancelled');

    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    t.after(() => release());
    upstream.respondWith({ type: 'answer', deltas: DELTAS, holdAt: (chunks) => (chunks < 20 ? undefined : released) });
    const frames = readFrames(await smith.stream('Hello'));
    const seen = await framesUntil(frames, isType('message.delta'));
    await beginDraining(next);
    release();
    const reading = readOn(frames, seen);
    await assertEndsInOrder(next);
    await reading;
    assert.equal(seen.at(-1)?.event, 'run.completed');
    assert.equal(assemble(seen).text, DELTAS.join(''));
  });
});

/** A response of which nothing is ever read. */
async function openUnread(url: string, token: string): Promise<IncomingMessage> {
  const message = await waitFor('response to leave unread', TIMEOUT_MS, async () => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    get(url, { headers: { authorization: `Bearer ${token}` } }, resolve).on('error', reject);
    const { statusCode } = await promise;
    if (statusCode === 200) return promise;
    (await promise).resume();
    assert.equal(statusCode, 503);
    return undefined;
  });
  // Cut off in the end: no error of the test's.
  message.on('error', () => undefined);
  return message;
}
