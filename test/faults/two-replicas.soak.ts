/** Two server processes on one PostgreSQL: how soon what is done at one holds at the other. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { ServerProcess } from '../boot/server-process.ts';
import type { OpenAiUpstream } from '../fakes/openai-upstream.ts';
import { collectFrames } from '../support/read-frames.ts';
import { assemble, FAKE_MODEL, framesUntil, isType, openFrames, smithOf, withinMs } from '../support/turns.ts';
import { endsInOrder, type Fleet, NEEDS_SERVER } from './fleet.ts';
import { type ReplicaPair, startReplicaPair } from './replica-pair.ts';

const CANCEL_MS = 200;
/** So long has the replica that executes the run to stop it itself. */
const OVERRULED_MS = 120;
/** As documented: SIGTERM drains for this long. */
const DRAIN_MS = 10_000;
/** A replica that is silent for so long has lost its turns. */
const LEASE_MS = 5_000;

describe('two replicas on one PostgreSQL', { skip: NEEDS_SERVER }, () => {
  const cleanups: (() => Promise<void>)[] = [];
  let fleet: Fleet;
  let upstream: OpenAiUpstream;
  let a: ServerProcess;
  let makeSmith: ReplicaPair['makeSmith'];

  before(async () => {
    const t = { after: (work: () => Promise<void>) => void cleanups.push(work) };
    ({ fleet, upstream, a, makeSmith } = await startReplicaPair(t));
  });
  after(async () => {
    for (const work of cleanups) await work();
  });

  test('a reader on the other replica hears of the end without waiting for the next look into the store', async () => {
    const { onA, onB } = await makeSmith();
    // A wake-up that is missed costs the two seconds until the reader looks by itself.
    await withinMs(1_500, async () => {
      const lateMs: number[] = [];
      for (let round = 0; round < 12; round += 1) {
        const runId = await onA.begin('Write 8 words at 40 words per second');
        const ended = onA.settled(runId).then(() => performance.now());
        const frames = await collectFrames(await onB.events(runId));
        assert.equal(frames.at(-1)?.event, 'run.completed');
        lateMs.push(performance.now() - (await ended));
      }
      return Math.max(...lateMs);
    });
  });

  test('a cancel on the other replica stops the run within 200 ms: the socket to the model closes, what was said is kept', async () => {
    const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
    const deltas = Array.from({ length: 500 }, (_, index) => `w${index} `);
    upstream.respondWith({ type: 'answer', deltas, delayMs: 20 });
    const tookMs: { socket: number; answer: number }[] = [];
    let overruled = 0;
    for (let round = 0; round < 7; round += 1) {
      const frames = openFrames(await onA.stream('Hello'));
      const seen = await framesUntil(frames, isType('message.delta'));
      const runId: string = seen[0]?.data.run_id;
      const { closed } = upstream.requests.at(-1) ?? assert.fail('the model was not called');
      const startedMs = performance.now();
      const socketMs = closed.then((by) => {
        assert.equal(by, 'client');
        return performance.now() - startedMs;
      });
      const cancelled = await onB.cancel(runId);
      const answer = performance.now() - startedMs;
      assert.deepEqual([cancelled.status, cancelled.body], [200, { id: runId, status: 'cancelled' }]);
      tookMs.push({ socket: await socketMs, answer });
      const run = await onB.get(runId);
      assert.deepEqual([run.status, run.stop_reason], ['cancelled', 'cancelled']);
      seen.push(...(await framesUntil(frames, isType('run.cancelled'))));
      if (run.output === null) {
        // The machine was busy elsewhere: the replica did not answer in its time, and was overruled.
        assert.ok(answer >= OVERRULED_MS, `after ${answer} ms`);
        overruled += 1;
        continue;
      }
      assert.match(run.output.content, /^w0 /);
      assert.equal(assemble(seen).text, run.output.content);
      assert.ok(run.usage.output_tokens > 0, 'what was said is paid for');
    }
    assert.ok(overruled <= 3, `${overruled} of 7 were overruled`);
    for (const what of ['socket', 'answer'] as const) {
      const sorted = tookMs.map((took) => Math.round(took[what])).sort((x, y) => x - y);
      // The middle of the rounds: the machine of a test run is at times busy with another process.
      assert.ok((sorted[3] ?? Number.NaN) <= CANCEL_MS, `${what}: ${sorted} ms`);
    }
  });

  test('a cancel on the other replica stops a run whose model has not answered yet', async () => {
    await withinMs(1_000, async () => {
      const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
      upstream.respondWith({ type: 'hang_before_headers' });
      const before = upstream.requests.length;
      const runId = await onA.begin('Hello');
      await upstream.waitForRequests(before + 1);
      const startedMs = performance.now();
      assert.equal((await onB.cancel(runId)).status, 200);
      assert.equal(await upstream.requests.at(-1)?.closed, 'client');
      const tookMs = performance.now() - startedMs;
      assert.equal((await onA.get(runId)).status, 'cancelled');
      // The smith is free again.
      upstream.respondWith({ type: 'answer', deltas: ['Hello'] });
      assert.equal((await onB.ask('Hello')).body.status, 'completed');
      return tookMs;
    });
  });

  test('a replica that freezes loses its turns once its lease has passed', async () => {
    await withinMs(LEASE_MS + 5_000, async () => {
      const { onA, onB } = await makeSmith();
      const stream = openFrames(await onA.stream('Write 120 words at 60 words per second'));
      const [first] = await framesUntil(stream, isType('message.delta'));
      const runId: string = first?.data.run_id;
      a.kill('SIGSTOP');
      try {
        const onOther = openFrames(await onB.events(runId));
        const startedMs = performance.now();
        await framesUntil(onOther, isType('run.restarted'));
        return performance.now() - startedMs;
      } finally {
        a.kill('SIGCONT');
        await onB.settled(runId);
      }
    });
  });

  test('a replica that is told to drain while it has turns ends within its drain time', async () => {
    await withinMs(DRAIN_MS, async () => {
      const third = await fleet.start();
      const { onA, onB } = await makeSmith();
      const runId = await smithOf(fleet.project(third), onA.id).begin('Write 600 words at 20 words per second');
      const startedMs = performance.now();
      third.kill('SIGTERM');
      await endsInOrder(third);
      const drainedMs = performance.now() - startedMs;
      await onB.cancel(runId);
      return drainedMs;
    });
  });

  test('a draining replica keeps the lease of a turn for as long as it takes, and ends it', async () => {
    const third = await fleet.start({ IRONCRAFT_DRAIN_SECONDS: '60' });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    try {
      upstream.respondWith({
        type: 'answer',
        deltas: ['One', ' two'],
        holdAt: (chunks) => (chunks === 1 ? released : undefined),
      });
      const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
      const runId = await smithOf(fleet.project(third), onA.id).begin('Hello');
      await framesUntil(openFrames(await onB.events(runId)), isType('message.delta'));
      third.kill('SIGTERM');
      await wait(2 * LEASE_MS);
      release();
      assert.ok(await endsInOrder(third));
      assert.ok(!(await collectFrames(await onB.events(runId))).some(isType('run.restarted')));
      assert.equal((await onB.get(runId)).output.content, 'One two');
    } finally {
      release();
      third.kill('SIGKILL');
      await third.ended;
    }
  });
});
