/**
 * What callers are told while PostgreSQL is killed, stopped or read-only: 503 `storage_unavailable` with `Retry-After` from
 * both services, whatever they remember of a token, until it is back. The cluster is the test's own. For the tests of the gate and of the soak.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type ServerProcess, waitFor } from '../boot/server-process.ts';
import { startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import type { Answer, Client, TestProject } from '../support/platform.ts';
import { collectFrames, type Frame } from '../support/read-frames.ts';
import { FAKE_MODEL, question, smithOf, useUpstream } from '../support/turns.ts';
import { type Cluster, NEEDS_CLUSTERS, startCluster } from './cluster.ts';
import { type Cleanup, createPatientClient, NEEDS_SERVER, openFleet } from './fleet.ts';

const PATIENCE_MS = 60_000;

export interface Outages {
  /** Whether an administrator stops it, too. */
  readonly isStopped: boolean;
}

/** Declares the tests. */
export function testStoreOutages({ isStopped }: Outages): void {
  describe('while the database does not answer', { skip: NEEDS_SERVER || NEEDS_CLUSTERS }, () => {
    const cleanups: (() => Promise<void>)[] = [];
    let cluster: Cluster;
    /** Of both services, in one process. */
    let urls: { readonly platform: string; readonly domains: string };
    let project: TestProject;
    let workspace: Client;
    let smithId: string;

    before(async () => {
      const t: Cleanup = { after: (work) => void cleanups.unshift(work) };
      cluster = await startCluster(t);
      const variables = { IRONCRAFT_MASTER_KEY: randomBytes(32).toString('base64') };
      const fleet = await openFleet(t, { store: 'server', databaseUrl: cluster.url, variables });
      const server = await fleet.start();
      urls = { platform: server.url, domains: await domainsUrlOf(server) };
      project = fleet.project(server);
      smithId = await project.createSmith();
      await project.createSmith({ external_id: 'someone' });
      const anybody = createPatientClient(urls.domains, '');
      const account = await anybody.post('/accounts', { email: 'someone@example.com' });
      assert.equal(account.status, 201, account.text);
      workspace = createPatientClient(urls.domains, account.body.token.token);
    });
    after(async () => {
      for (const work of cleanups) await work();
    });

    /** Reads and writes with tokens that both services have seen. */
    async function ask(): Promise<{ reads: Answer[]; writes: Answer[] }> {
      const name = `free-${randomBytes(4).toString('hex')}.com`;
      const chat = { model: 'builtin/demo', messages: [{ role: 'user', content: 'Hello' }], user: 'someone' };
      const reads = [project.get('/v1/smiths'), project.get(`/v1/smiths/${smithId}`), workspace.get('/domains')];
      const writes = [
        project.post('/v1/smiths', { model: 'builtin/demo' }),
        project.post(`/v1/smiths/${smithId}/runs`, question('Hello')),
        project.post('/v1/chat/completions', chat),
        workspace.post('/domains', { domain: name, confirm_price: 11.9 }),
      ];
      const [read, written] = await Promise.all([Promise.all(reads), Promise.all(writes)]);
      return { reads: read, writes: written };
    }

    function assertUnavailable(answer: Answer): void {
      const { error } = answer.body;
      assert.deepEqual([answer.status, error.code ?? error], [503, 'storage_unavailable'], answer.text);
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      assert.doesNotMatch(
        answer.text,
        /postgres|127\.0\.0\.1|ECONN|read-only/i,
        'no word of what is behind the service',
      );
    }

    async function assertReadiness(status: 200 | 503): Promise<void> {
      for (const url of Object.values(urls)) {
        const origin = new URL(url).origin;
        await waitFor(`a readiness of ${status}`, PATIENCE_MS, async () => {
          const reply = await fetch(`${origin}/readyz`);
          const { checks } = (await reply.json()) as { checks: Record<string, string> };
          return reply.status === status && checks.db === (status === 200 ? 'ok' : 'failed') ? true : undefined;
        });
        assert.equal((await fetch(`${origin}/healthz`)).status, 200);
      }
    }

    async function assertWell(): Promise<void> {
      await assertReadiness(200);
      const { reads, writes } = await ask();
      for (const { status, text } of [...reads, ...writes]) assert.ok(status === 200 || status === 201, text);
    }

    async function assertGone(): Promise<void> {
      const { reads, writes } = await ask();
      for (const answer of [...reads, ...writes]) assertUnavailable(answer);
      // A text that cannot be a token is refused without the store.
      assert.equal((await project.as('tha_live_nonsense').get('/v1/smiths')).status, 401);
      await assertReadiness(503);
    }

    // A test that failed may have left it stopped.
    beforeEach(() => cluster.start());

    if (isStopped)
      test('both services answer 503 to reads and writes with known tokens while the store is stopped, and recover', async () => {
        await assertWell();
        await cluster.stop();
        for (let round = 0; round < 2; round += 1) await assertGone();
        await cluster.start();
        await assertWell();
      });

    test('a read-only database takes no write and is not ready, and its reads are answered', async () => {
      await cluster.administer('alter database DATABASE set default_transaction_read_only to on');
      await cluster.administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'DATABASE'`);
      await assertReadiness(503);
      const { reads, writes } = await ask();
      for (const { status, text } of reads) assert.equal(status, 200, text);
      for (const answer of writes) assertUnavailable(answer);
      await cluster.administer('alter database DATABASE reset default_transaction_read_only');
      await cluster.administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'DATABASE'`);
      await assertWell();
    });

    test('both services answer 503 while the store is killed, streams under way say that it is gone and where to go on, and their turns end well', async (t) => {
      const upstream = await startOpenAiUpstream();
      t.after(() => upstream.close());
      await useUpstream(project, upstream);
      const smith = smithOf(project, await project.createSmith({ model: FAKE_MODEL }));
      // Each answer stops in its middle until the store is gone.
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      t.after(() => release());
      upstream.respondWith({
        type: 'answer',
        deltas: ['Hello', ' there', '.'],
        holdAt: (chunks) => (chunks < 2 ? undefined : released),
      });
      const run = await project.post(smith.runs, question('Hello'), { prefer: 'respond-async' });
      const native = await smith.events(run.body.id);
      const other = await project.createSmith({ model: FAKE_MODEL });
      const chat = { model: FAKE_MODEL, messages: [{ role: 'user', content: 'Hello' }], stream: true };
      const completion = await project.open('POST', `/v1/chat/completions`, chat, { 'ic-smith-id': other });
      const third = await project.createSmith({ external_id: 'streamer', model: FAKE_MODEL });
      const asked = { model: FAKE_MODEL, user: 'streamer', input: 'Hello', stream: true };
      const response = await project.open('POST', '/v1/responses', asked);
      assert.deepEqual([native.status, completion.status, response.status], [200, 200, 200], third);
      await upstream.waitForRequests(3);
      await cluster.kill();
      await assertGone();
      release();
      const [frames, chunks, events] = await Promise.all([native, completion, response].map(collectFrames));
      const last = (all: Frame[] = []) => all.at(-1);
      assert.deepEqual([last(frames)?.event, last(frames)?.data.reason], ['stream.detached', 'storage_unavailable']);
      assert.equal(last(chunks)?.data.error.code, 'storage_unavailable');
      assert.deepEqual([last(events)?.event, last(events)?.data.code], ['error', 'storage_unavailable']);
      await cluster.start();
      await assertWell();
      const rested = await smith.settled(run.body.id);
      assert.equal(rested.status, 'completed', JSON.stringify(rested.error));
    });
  });
}

/** It is said after the platform's. */
function domainsUrlOf(server: ServerProcess): Promise<string> {
  return waitFor(
    'address of the domain service',
    PATIENCE_MS,
    async () => /is served at (\S+)\n/.exec(server.stdout())?.[1],
  );
}
