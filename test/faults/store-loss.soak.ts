/**
 * PostgreSQL goes away as in a power cut while turns are under way, and comes back. The cluster is the test's own
 * (test/postgres17), so that it may be killed.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { type ServerProcess, waitFor } from '../boot/server-process.ts';
import type { TestProject } from '../support/platform.ts';
import { type Frame, readFrames } from '../support/read-frames.ts';
import { seedFor } from '../support/seed.ts';
import { assemble, clientTool, eventually, question, smithOf, type TestSmith } from '../support/turns.ts';
import { auditTurns } from './audit-turns.ts';
import { type Cluster, NEEDS_CLUSTERS, startCluster } from './cluster.ts';
import { type Cleanup, type Fleet, NEEDS_SERVER, openFleet } from './fleet.ts';
import { createRandom } from './seeded-random.ts';
import { driveTurns } from './turn-driver.ts';

/** Longer than a lease, and than the shorter turn. */
const OUTAGE_MS = 7_000;
const PATIENCE_MS = 60_000;
const KILLS = Math.max(3, Math.round(Number(process.env.IRONCRAFT_FAULT_KILLS ?? 20) / 6));
const CLIENTS = 6;
const SEED = seedFor('store-loss');

const skip = NEEDS_SERVER || NEEDS_CLUSTERS;

describe('PostgreSQL goes away in the middle of turns', { skip }, () => {
  const cleanups: (() => Promise<void>)[] = [];
  let cluster: Cluster;
  let fleet: Fleet;
  let servers: readonly ServerProcess[];
  let [a, b]: TestProject[] = [];

  before(async () => {
    const t: Cleanup = { after: (work) => void cleanups.unshift(work) };
    cluster = await startCluster(t);
    fleet = await openFleet(t, { store: 'server', only: 'platform', databaseUrl: cluster.url });
    servers = [await fleet.start(), await fleet.start()];
    [a, b] = servers.map((server) => fleet.project(server));
  });
  after(async () => {
    for (const work of cleanups) await work();
  });

  test('servers live on and say so; with it back, every turn ends and is charged once', async () => {
    assert.ok(a !== undefined && b !== undefined);
    const paused = await begin(a, 'Call the tool look_up with {}', { tools: [clientTool('look_up')] }, 2, 1);
    assert.equal((await paused.smith.settled(paused.runId)).status, 'paused');
    const ending = await begin(a, 'Write 60 words at 20 words per second', {}, 1, 0);
    const lasting = await begin(b, 'Write 240 words at 20 words per second', {}, 1, 0);
    const frames: Frame[] = [];
    const reading = keepReading(lasting, frames);
    await eventually(
      () => (frames.some(({ event }) => event === 'message.delta') ? true : undefined),
      'the first words',
    );

    const lostMs = performance.now();
    await cluster.kill();
    for (const server of servers) {
      const unready = await waitFor('an unready answer', PATIENCE_MS, () => askReadiness(server, 503));
      assert.deepEqual(unready, { ok: false, service: 'ironcraft-platform', checks: { db: 'failed', files: 'ok' } });
      assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    }
    for (const project of [a, b]) {
      const body = question('Hello');
      for (const ask of [() => project.get('/v1/smiths'), () => project.post(ending.smith.runs, body)]) {
        const refused = await ask();
        const { type, code, message } = refused.body.error;
        assert.deepEqual([refused.status, type, code], [503, 'api_error', 'storage_unavailable'], refused.text);
        assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
        assert.doesNotMatch(message, /postgres|127\.0\.0\.1/, 'no word about what is behind the service');
      }
    }
    await waitFor(
      'the end of the outage',
      PATIENCE_MS,
      async () => performance.now() - lostMs > OUTAGE_MS || undefined,
    );
    for (const server of servers) assert.equal((await fetch(`${server.url}/healthz`)).status, 200, 'it lives');

    await cluster.start();
    for (const server of servers) await waitFor('a ready answer', PATIENCE_MS, () => askReadiness(server, 200));
    for (const project of [a, b]) assert.equal((await project.get('/v1/smiths')).status, 200);
    for (const { smith, runId } of [ending, lasting]) {
      const run = await waitFor('the end of a turn', PATIENCE_MS, async () => {
        const { body } = await smith.project.get(`${smith.runs}/${runId}`);
        return body.status === 'in_progress' ? undefined : body;
      });
      assert.equal(run.status, 'completed', JSON.stringify(run.error));
    }
    await reading;
    assert.equal(assemble(frames).text, (await lasting.smith.get(lasting.runId)).output.content);
    await answerOnce(paused);
    for (const project of [a, b]) {
      const next = await begin(project, 'Write 5 words', {}, 1, 0);
      assert.equal((await next.smith.settled(next.runId)).status, 'completed');
    }
    await audit();
  });

  test(`killed ${KILLS} times at random moments under turns of every kind: none is lost, none is charged twice`, async (t) => {
    const random = createRandom(SEED);
    let stopped = false;
    const clients = Array.from({ length: CLIENTS }, (_, index) => {
      const mine = random.fork();
      const pick = () => fleet.project(mine.pick(servers));
      return driveTurns({ pick, random: mine, name: `loss-${index}`, stopped: () => stopped, mayFail: true });
    });
    const all = Promise.all(clients);
    // Awaited in the end; a failure before is no unhandled one.
    all.catch(() => undefined);
    for (let kills = 0; kills < KILLS; kills += 1) {
      await wait(random.integer(300, 2_500));
      await cluster.kill();
      await cluster.start();
    }
    await wait(random.integer(300, 2_500));
    stopped = true;
    const turns = (await all).flat();
    await audit();
    t.diagnostic(`${turns.length} turns`);
    for (const server of servers) assert.deepEqual(await server.stop(), { code: 0, signal: null });
  });

  async function audit(): Promise<void> {
    const db = await connectServer({ url: cluster.url, poolSize: 1 });
    try {
      assert.deepEqual(await auditTurns(db), { booking: [], order: [] });
      await assertReplicas(db, servers.length);
    } finally {
      await db.close();
    }
  }
});

interface Begun {
  readonly smith: TestSmith;
  readonly runId: string;
}

async function begin(
  project: TestProject,
  text: string,
  more: Record<string, unknown>,
  modelSteps: number,
  calls: number,
): Promise<Begun> {
  const smith = smithOf(project, await project.createSmith());
  const body = { ...question(text), ...more, metadata: { model_steps: modelSteps, calls } };
  const headers = { prefer: 'respond-async', 'idempotency-key': smith.id };
  const begun = await project.post(smith.runs, body, headers);
  assert.equal(begun.status, 201, begun.text);
  return { smith, runId: begun.body.id };
}

/** Reads on from the last frame whenever the stream ends early, as an EventSource does. */
async function keepReading({ smith, runId }: Begun, frames: Frame[]): Promise<void> {
  await waitFor('the end of the stream', 2 * PATIENCE_MS, async () => {
    const response = await smith.events(runId, frames.at(-1)?.id);
    if (response.status !== 200) await response.body?.cancel();
    else for await (const frame of readFrames(response)) if (frame.id !== undefined) frames.push(frame);
    return frames.at(-1)?.event === 'run.completed' || undefined;
  });
}

async function answerOnce({ smith, runId }: Begun): Promise<void> {
  const [call] = (await smith.get(runId)).output.tool_calls;
  const answered = await smith.submit(runId, { kind: 'tool_result', tool_call_id: call.id, result: {} });
  assert.deepEqual([answered.status, answered.body.status], [200, 'completed'], answered.text);
}

async function askReadiness(server: ServerProcess, status: number): Promise<unknown> {
  const reply = await fetch(`${server.url}/readyz`);
  const body = await reply.json();
  return reply.status === status ? body : undefined;
}

async function assertReplicas(db: Database, count: number): Promise<void> {
  const { rows } = await db.query({
    text: `select id from replicas where resting or heartbeat_at > now() - interval '5 seconds'`,
    values: [],
  });
  assert.equal(rows.length, count, 'every server beats again, or rests');
}
