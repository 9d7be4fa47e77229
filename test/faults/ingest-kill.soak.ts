/**
 * Server processes are killed with -9 at random moments while files of several projects are indexed. In the end every
 * file is completed, its chunks are stored once, in order and whole, and the counters of the stores are right.
 * IRONCRAFT_FAULT_KILLS sets the number of kills, IRONCRAFT_TEST_SEED repeats the choices of a run, not
 * its timing.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import { openDatabase } from '../../src/kernel/db/open-database.ts';
import { makeFolder, type ServerProcess, waitFor } from '../boot/server-process.ts';
import { startUpstream, type Upstream } from '../fakes/http-upstream.ts';
import { isConnectionLost } from '../support/http-client.ts';
import { type Client, createClient } from '../support/platform.ts';
import { seedFor } from '../support/seed.ts';
import { auditFiles, listIndexed } from './audit-files.ts';
import { type Fleet, NEEDS_NO_SERVER, NEEDS_SERVER, openFleet, patiently } from './fleet.ts';
import { createRandom, type Random } from './seeded-random.ts';
import { letCalmPass } from './trials.ts';

const KILLS = Number(process.env.IRONCRAFT_FAULT_KILLS ?? 20);
const EMBEDDED_KILLS = Math.max(2, Math.round(KILLS / 10));
const SEED = seedFor('ingest-kill');

const PROJECTS = 5;
const LIFE_MS = { min: 300, max: 2_500 };
/** A job whose process died is taken up when its heartbeat lapsed, and each round of kills may cost as much again. */
const SETTLE_MS = 300_000;
/** Each look is a request for each project, at a server that has enough to do. */
const LOOK_MS = 500;
/** Long enough that kills meet calls under way, and that a file of many chunks lives through several. */
const EMBED_MS = 120;
const MODEL = 'openai-compatible/small';
const LINES = { min: 20, max: 1_500 };

interface Tenant {
  readonly token: string;
  readonly storeId: string;
}

/** The projects, which go on adding files to their stores at whichever process lives. */
class Libraries {
  readonly #fleet: Fleet;
  readonly #random: Random;
  readonly #tenants: Tenant[] = [];

  constructor(fleet: Fleet, random: Random) {
    this.#fleet = fleet;
    this.#random = random;
  }

  async open(server: ServerProcess, upstream: Upstream<number>): Promise<void> {
    const organization = this.#fleet.organization(server);
    for (let made = 0; made < PROJECTS; made += 1) {
      const { body: project } = await patiently(() =>
        organization.post('/v1/organization/projects', { name: `Library ${made}` }),
      );
      const { body: minted } = await patiently(() =>
        organization.post(`/v1/organization/projects/${project.id}/tokens`),
      );
      const client = createClient(server.url, minted.token);
      const key = { api_key: 'sk-test', base_url: upstream.url };
      const saved = await patiently(() => client.put('/v1/tenant/model_keys/openai-compatible', key));
      assert.equal(saved.status, 200, saved.text);
      const asked = {
        embedding_model: MODEL,
        chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 20 } },
      };
      const store = await patiently(() => client.post('/v1/vector_stores', asked));
      assert.equal(store.status, 200, store.text);
      this.#tenants.push({ token: minted.token, storeId: store.body.id });
    }
  }

  /** Each project adds a batch of files. What the process does not live to answer may have been done or not. */
  async add(server: ServerProcess): Promise<void> {
    await Promise.all(
      this.#tenants.map(async ({ token, storeId }) => {
        try {
          await this.#addBatch(createClient(server.url, token), storeId);
        } catch (error) {
          if (!isConnectionLost(error)) throw error;
        }
      }),
    );
  }

  async #addBatch(client: Client, storeId: string): Promise<void> {
    const file_ids: string[] = [];
    for (let made = this.#random.integer(1, 3); made > 0; made -= 1) {
      const form = new FormData();
      const lines = this.#random.integer(LINES.min, LINES.max);
      form.set('file', new Blob([textOf(lines)]), `${lines}.txt`);
      form.set('purpose', 'assistants');
      const file = await patiently(() => client.post('/v1/files', form));
      assert.equal(file.status, 200, file.text);
      file_ids.push(file.body.id);
    }
    const batch = await patiently(() => client.post(`/v1/vector_stores/${storeId}/file_batches`, { file_ids }));
    assert.equal(batch.status, 200, batch.text);
  }

  /** Files in progress, as the stores count them. */
  async countUnfinished(server: ServerProcess): Promise<number> {
    let count = 0;
    for (const { token, storeId } of this.#tenants) {
      const client = createClient(server.url, token);
      const { body, text } = await patiently(() => client.get(`/v1/vector_stores/${storeId}`));
      assert.equal(body?.object, 'vector_store', text);
      count += body.file_counts.in_progress;
    }
    return count;
  }

  async settle(server: ServerProcess): Promise<void> {
    await waitFor('end of the indexing', SETTLE_MS, async () => {
      if (this.#fleet.db !== undefined) await letCalmPass(this.#fleet.db);
      if ((await this.countUnfinished(server)) === 0) return true;
      await wait(LOOK_MS);
      return undefined;
    });
  }
}

/** The first lines of one text: what a file holds follows from its length. */
function textOf(lines: number): string {
  return Array.from({ length: lines }, (_, at) => `Line ${at} tells of the number ${at * 7919}.`).join('\n');
}

async function kill(server: ServerProcess): Promise<void> {
  server.kill('SIGKILL');
  assert.equal((await server.ended).signal, 'SIGKILL', 'it lived until then');
}

test(`two replicas on one PostgreSQL, ${KILLS} times killed with -9 while they index: no file is lost, no chunk is there twice`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const random = createRandom(SEED);
  const upstream = await startEmbeddings(t);
  // Replicas share the folder that the bytes of files lie in.
  const fleet = await openFleet(t, {
    store: 'server',
    only: 'platform',
    variables: { IRONCRAFT_DATA_DIR: await makeFolder(t) },
  });
  const libraries = new Libraries(fleet, random.fork());
  const alive = [await fleet.start(), await fleet.start()];
  await libraries.open(at(alive, 0), upstream);
  let hits = 0;
  for (let kills = 0; kills < KILLS; kills += 1) {
    const adding = libraries.add(random.pick(alive));
    await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
    const victim = random.integer(0, 1);
    await kill(at(alive, victim));
    await adding;
    if ((await libraries.countUnfinished(at(alive, 1 - victim))) > 0) hits += 1;
    alive[victim] = await fleet.start();
  }
  await libraries.settle(at(alive, 0));
  for (const server of alive) assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.ok(hits >= KILLS / 4, `${hits} of the kills met files that were being indexed`);
  await assertIndexedOnce(t, fleet.db ?? assert.fail('the fleet has no database of its own'), KILLS);
});

test(`one process on the embedded store, ${EMBEDDED_KILLS} times killed with -9 while it indexes: no file is lost`, {
  skip: NEEDS_NO_SERVER,
}, async (t) => {
  const random = createRandom(SEED + 1);
  const upstream = await startEmbeddings(t);
  const fleet = await openFleet(t, { store: 'embedded', only: 'platform' });
  const libraries = new Libraries(fleet, random.fork());
  let server = await fleet.start();
  await libraries.open(server, upstream);
  for (let kills = 0; kills < EMBEDDED_KILLS; kills += 1) {
    const adding = libraries.add(server);
    // Of two or three random moments none might meet a job under way, on a machine that is slow at the time.
    if (kills % 2 === 0) await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
    else await upstream.waitForRequests(upstream.requests.length + 1);
    await kill(server);
    await adding;
    server = await fleet.start();
  }
  await libraries.settle(server);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  const db = await openDatabase({ url: undefined, dataDir: fleet.dataDir, poolSize: 1 });
  try {
    await assertIndexedOnce(t, db, EMBEDDED_KILLS);
  } finally {
    await db.close();
  }
});

async function assertIndexedOnce(t: TestContext, db: Database, kills: number): Promise<void> {
  const files = await listIndexed(db);
  const { rows: jobs } = await db.query<{ count: number }>({
    text: `select count(*) as count from jobs.job where name = 'ingest-file' and retry_count > 0`,
    values: [],
  });
  const chunks = files.reduce((sum, { positions }) => sum + positions.length, 0);
  t.diagnostic(`${kills} kills, ${files.length} files, ${chunks} chunks, ${jobs[0]?.count} jobs taken up again`);
  assert.ok((jobs[0]?.count ?? 0) > 0, 'kills hit jobs under way');
  assert.deepEqual(await auditFiles(db, (filename) => textOf(Number.parseInt(filename, 10))), []);
}

/** Embeddings of the OpenAI dialect that take their time. */
async function startEmbeddings(t: TestContext): Promise<Upstream<number>> {
  const upstream = await startUpstream<number>('/v1', EMBED_MS, async (delayMs, { body, response, pause }) => {
    if (!(await pause(delayMs))) return;
    const { input, model } = Object(body);
    const texts: string[] = [input].flat().map(String);
    const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: [1, text.length, index] }));
    const usage = { prompt_tokens: texts.length, total_tokens: texts.length };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ object: 'list', data, model, usage }));
  });
  t.after(() => upstream.close());
  return upstream;
}

function at<T>(items: readonly T[], index: number): T {
  return items[index] ?? assert.fail('there is no such process');
}
