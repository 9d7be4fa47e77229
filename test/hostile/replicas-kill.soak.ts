/**
 * Two replicas on one PostgreSQL take every hostile document and schema, and innocent files and turns beside them, while they
 * are killed with -9 in turn, each started again as a supervisor does. Whoever lives is ready all the time, every hostile
 * file gets its answer, and every innocent file and turn is done. IRONCRAFT_FAULT_KILLS sets the number of kills,
 * IRONCRAFT_TEST_SEED repeats the choices of a run, not its timing.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { type Fleet, NEEDS_SERVER, openFleet } from '../faults/fleet.ts';
import { createRandom, type Random } from '../faults/seeded-random.ts';
import { driveTurns } from '../faults/turn-driver.ts';
import { announceSeed } from '../support/announce-seed.ts';
import { isConnectionLost } from '../support/http-client.ts';
import { createClient } from '../support/platform.ts';
import { seedFor } from '../support/seed.ts';
import { type DocumentCase, SCHEMA_PLACES } from './cases.ts';
import { documents } from './documents.ts';
import { schemas } from './schemas.ts';
import { addDocument, openTenant, readIndexing, sendSchema, type Tenant } from './tenants.ts';

const KILLS = Number(process.env.IRONCRAFT_FAULT_KILLS ?? 20);

announceSeed('npm run test:all test/hostile/replicas-kill.soak.ts');

const LIFE_MS = { min: 500, max: 3_000 };
const READY_POLL_MS = 100;
/** A start that gets its connection to the database, on a machine that reads hostile files beside it. */
const BACK_WITHIN_MS = 60_000;
/** How long a supervisor goes on starting what gets none. */
const START_MS = 300_000;
const ANSWER_WITHIN_MS = 10_000;
const DOCUMENT_LANES = 4;
const SCHEMA_LANES = 2;
const TURN_LANES = 3;
const INNOCENT_EVERY = 4;
const INNOCENT_MS = 2_000;
const SETTLE_MS = 1_200_000;
const RETRY_MS = 50;

/**
 * Where processes end less often, so that no two do within the minute that a replica looks back, what they were reading is the
 * suspect: a machine that needs so long to start one may blame an innocent file.
 */
const CALM_MS = 20_000;
/** How often a file or a turn may be tried again after an abrupt end, without progress between. */
const MAX_RETRIES = 2;

const INNOCENT: DocumentCase = {
  name: 'innocent',
  filename: 'innocent.txt',
  bytes: () => Buffer.from(Array.from({ length: 400 }, (_, line) => `Line ${line} tells of tea.`).join('\n')),
  answer: 'completed',
};

interface Added {
  readonly document: DocumentCase;
  readonly tenant: Tenant;
  readonly fileId: string;
}

/** The two processes, and whoever asks them whether they are ready. */
class Replicas {
  readonly #fleet: Fleet;
  readonly #random: Random;
  readonly #alive: ServerProcess[] = [];
  readonly #backMs: number[] = [];
  readonly #notReady: string[] = [];
  readonly #killedAtMs: number[] = [];
  #asked = 0;
  #failedStarts = 0;

  constructor(fleet: Fleet, random: Random) {
    this.#fleet = fleet;
    this.#random = random;
  }

  get alive(): readonly ServerProcess[] {
    return this.#alive;
  }

  get backMs(): readonly number[] {
    return this.#backMs;
  }

  get asked(): number {
    return this.#asked;
  }

  get failedStarts(): number {
    return this.#failedStarts;
  }

  /** The longest time between two kills. */
  get killsApartMs(): number {
    return Math.max(...this.#killedAtMs.slice(1).map((ms, at) => ms - (this.#killedAtMs[at] ?? ms)));
  }

  get notReady(): readonly string[] {
    return this.#notReady;
  }

  pick(): ServerProcess {
    return this.#random.pick(this.#alive);
  }

  /** As a supervisor does: one that gets no connection to the database in time is started again. */
  async start(): Promise<void> {
    const server = await this.#startAgainAndAgain();
    this.#alive.push(server);
    void this.#watch(server);
  }

  /** Kills the one that has lived longest, and starts another in its place. */
  async kill(): Promise<void> {
    const victim = this.#alive.shift() ?? assert.fail('none lives');
    victim.kill('SIGKILL');
    this.#killedAtMs.push(performance.now());
    assert.equal((await victim.ended).signal, 'SIGKILL', 'it lived until then');
    await this.start();
  }

  async #startAgainAndAgain(): Promise<ServerProcess> {
    const deadlineMs = performance.now() + START_MS;
    for (;;) {
      const startedMs = performance.now();
      try {
        const server = await this.#fleet.start({ IRONCRAFT_DATA_DIR: this.#fleet.dataDir });
        this.#backMs.push(performance.now() - startedMs);
        return server;
      } catch (error) {
        if (!/no connection to PostgreSQL/.test(String(error)) || performance.now() > deadlineMs) throw error;
        this.#failedStarts += 1;
      }
    }
  }

  async #watch(server: ServerProcess): Promise<void> {
    while (this.#alive.includes(server)) {
      const problem = await askReady(server.url);
      // An answer that its end cut off says nothing.
      if (problem !== undefined && this.#alive.includes(server)) this.#notReady.push(problem);
      this.#asked += 1;
      await wait(READY_POLL_MS, undefined, { ref: false });
    }
  }
}

async function askReady(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const text = await response.text();
    return response.status === 200 ? undefined : `${response.status} ${text}`;
  } catch (error) {
    return String(error);
  }
}

test(`two replicas on one PostgreSQL take every hostile case and are killed ${KILLS} times: nothing innocent is lost`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const startedMs = performance.now();
  const random = createRandom(seedFor('replicas-kill'));
  const fleet = await openFleet(t, {
    store: 'server',
    only: 'platform',
    variables: { IRONCRAFT_READ_SECONDS: '2' },
  });
  const db = fleet.db ?? assert.fail('the fleet has no database of its own');
  const replicas = new Replicas(fleet, random.fork());
  await replicas.start();
  await replicas.start();
  const tenants = await openTenants(fleet, replicas);
  let killing = true;
  const added: Added[] = [];
  const work = Promise.all([
    addAll(replicas, tenants, () => killing, added),
    ...Array.from({ length: SCHEMA_LANES }, (_, lane) =>
      sendSchemas(replicas, at(tenants, DOCUMENT_LANES + lane), lane),
    ),
    ...Array.from({ length: TURN_LANES }, (_, lane) =>
      driveTurns({
        pick: () => fleet.project(replicas.pick()),
        random: random.fork(),
        name: `innocent-${lane}`,
        stopped: () => !killing,
      }),
    ),
  ]);
  work.catch(() => undefined);
  try {
    for (let kills = 0; kills < KILLS; kills += 1) {
      await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
      await replicas.kill();
    }
  } finally {
    killing = false;
  }
  await work;
  await assertAnswered(replicas, added);
  await assertTriedInVain(db);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  tell(t, replicas, added, seconds);
  assert.deepEqual(replicas.notReady, [], 'whoever lives is ready');
  assert.ok(Math.max(...replicas.backMs) < BACK_WITHIN_MS, `back after ${replicas.backMs.map(Math.round)} ms`);
  for (const server of replicas.alive) assert.deepEqual(await server.stop(), { code: 0, signal: null });
});

function tell(
  t: TestContext,
  { backMs, asked, failedStarts }: Replicas,
  added: readonly Added[],
  seconds: number,
): void {
  const innocent = added.filter(({ document }) => document === INNOCENT).length;
  t.diagnostic(
    `${KILLS} kills, ${added.length - innocent} hostile and ${innocent} innocent files, ${asked} times asked for readiness, back after ${Math.round(Math.max(...backMs))} ms at most, ${failedStarts} starts without a connection in time, ${seconds} s`,
  );
}

async function openTenants(fleet: Fleet, replicas: Replicas): Promise<Tenant[]> {
  const server = replicas.pick();
  const gate = { url: server.url, organization: fleet.organization(server) };
  const names = Array.from({ length: DOCUMENT_LANES + SCHEMA_LANES }, (_, lane) => `Lane ${lane}`);
  return Promise.all(names.map((name) => openTenant(gate, name)));
}

/** The tenant at whichever replica lives. */
function atLiving(replicas: Replicas, tenant: Tenant): Tenant {
  const { url } = replicas.pick();
  return { ...tenant, url, client: createClient(url, tenant.client.token) };
}

/** Every hostile document once, and innocent ones between them for as long as the killing goes on. */
async function addAll(
  replicas: Replicas,
  tenants: readonly Tenant[],
  goesOn: () => boolean,
  added: Added[],
): Promise<void> {
  const left = documents.toReversed();
  const addNext = async (tenant: Tenant, turn: number): Promise<boolean> => {
    const document = turn % INNOCENT_EVERY === 0 ? INNOCENT : (left.pop() ?? (goesOn() ? INNOCENT : undefined));
    if (document === undefined) return false;
    const { fileId } = await insist(() => addDocument(atLiving(replicas, tenant), document));
    added.push({ document, tenant, fileId });
    return true;
  };
  await Promise.all(
    tenants.slice(0, DOCUMENT_LANES).map(async (tenant) => {
      // No faster than they are read, once the hostile ones are through.
      for (let turn = 0; await addNext(tenant, turn); turn += 1) await wait(left.length > 0 ? RETRY_MS : INNOCENT_MS);
    }),
  );
}

/** What comes of them is another test's concern; here they are under way when a replica ends. */
async function sendSchemas(replicas: Replicas, tenant: Tenant, lane: number): Promise<void> {
  for (const [index, case_] of schemas.entries()) {
    const place = case_.places?.[0] ?? at(SCHEMA_PLACES, (index + lane) % SCHEMA_PLACES.length);
    const { answer } = await insist(() => sendSchema(atLiving(replicas, tenant), case_, place));
    assert.ok(answer.status < 500 || answer.status === 503, `${case_.name}: ${answer.status} ${answer.text}`);
  }
}

/** Every file has the answer that is right, whatever happened to who worked on it. */
async function assertAnswered(replicas: Replicas, added: readonly Added[]): Promise<void> {
  const deadlineMs = performance.now() + SETTLE_MS;
  const wrong: string[] = [];
  for (const { document, tenant, fileId } of added) {
    for (;;) {
      const { answer, message } = await insist(() => readIndexing(atLiving(replicas, tenant), fileId));
      if (answer !== undefined) {
        const isRight = [document.answer].flat().some((right) => right === answer);
        const isBlamed = replicas.killsApartMs > CALM_MS && /ended abruptly/.test(message);
        if (!isRight && !isBlamed) wrong.push(`${document.name}: ${answer} ${message}`);
        break;
      }
      assert.ok(performance.now() < deadlineMs, `${document.name} is still being indexed`);
      await wait(READY_POLL_MS);
    }
  }
  assert.deepEqual(wrong, []);
}

async function assertTriedInVain(db: Database): Promise<void> {
  const { rows: jobs } = await db.query({
    text: `select job_id, since_progress from jobs.abrupt_end where since_progress > $1`,
    values: [MAX_RETRIES],
  });
  assert.deepEqual(jobs, [], 'no job ends more processes');
  const { rows: turns } = await db.query({
    // The end after the last retry is counted, too.
    text: `select id, status, interrupted_by from runs
           where cardinality(interrupted_by) - (status = 'failed')::int > $1`,
    values: [MAX_RETRIES],
  });
  assert.deepEqual(turns, [], 'no turn ends more processes');
  const { rows: failed } = await db.query({
    text: `select id from runs where status = 'failed' and metadata ? 'kind'`,
    values: [],
  });
  assert.deepEqual(failed, [], 'no innocent turn has failed');
}

/** Asks one replica after the other until one lives to answer. */
async function insist<T>(attempt: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + START_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConnectionLost(error) || performance.now() > deadlineMs) throw error;
    }
    await wait(RETRY_MS);
  }
}

function at<T>(items: readonly T[], index: number): T {
  return items[index] ?? assert.fail('there is no such lane');
}
