/**
 * Server processes are killed with -9 at random moments while turns of every kind are under way. In the end every turn
 * that was accepted is complete, is paid for once, and was shown once. IRONCRAFT_FAULT_KILLS sets the number of kills,
 * IRONCRAFT_TEST_SEED repeats the choices of a run, not its timing.
 */
import assert from 'node:assert/strict';
import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import { openDatabase } from '../../src/kernel/db/open-database.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { seedFor } from '../support/seed.ts';
import { eventually } from '../support/turns.ts';
import { auditTurns, countTurns } from './audit-turns.ts';
import { type Fleet, NEEDS_NO_SERVER, NEEDS_SERVER, openFleet } from './fleet.ts';
import { createRandom, type Random } from './seeded-random.ts';
import { killBetweenTrials } from './trials.ts';
import { type DrivenTurn, driveTurns } from './turn-driver.ts';

const KILLS = Number(process.env.IRONCRAFT_FAULT_KILLS ?? 20);
const EMBEDDED_KILLS = Math.max(4, Math.round(KILLS / 5));
const SEED = seedFor('kill-nine');

const CLIENTS = 8;
/** From a server's start to its end, or its sibling's. */
const LIFE_MS = { min: 200, max: 2_500 };
const BOTH_AT_ONCE_SHARE = 0.15;

/** The processes of one store, and the clients that use whichever lives. */
class Battlefield {
  readonly #fleet: Fleet;
  readonly #random: Random;
  readonly #alive = new Set<ServerProcess>();
  readonly #clients: Promise<DrivenTurn[]>[] = [];
  #stopped = false;
  kills = 0;

  constructor(fleet: Fleet, random: Random) {
    this.#fleet = fleet;
    this.#random = random;
  }

  get alive(): readonly ServerProcess[] {
    return [...this.#alive];
  }

  async start(): Promise<void> {
    this.#alive.add(await this.#fleet.start());
  }

  /** Sends clients that go on until `settle`. */
  send(count: number): void {
    for (let index = 0; index < count; index += 1) {
      const random = this.#random.fork();
      const pick = () => (this.#alive.size === 0 ? undefined : this.#fleet.project(random.pick(this.alive)));
      const client = driveTurns({ pick, random, name: `${index}`, stopped: () => this.#stopped });
      // Awaited in the end; a failure before is no unhandled one.
      client.catch(() => undefined);
      this.#clients.push(client);
    }
  }

  /** Ends one process as a power cut would. */
  async kill(server: ServerProcess): Promise<void> {
    this.#alive.delete(server);
    server.kill('SIGKILL');
    assert.equal((await server.ended).signal, 'SIGKILL', 'it lived until then');
    this.kills += 1;
  }

  /** With a database of their own. */
  async killBetweenTrials(servers: readonly ServerProcess[]): Promise<void> {
    for (const server of servers) this.#alive.delete(server);
    await killBetweenTrials(this.#fleet, servers);
    this.kills += servers.length;
  }

  /**
   * Waits for the turns that are under way. With one process alone nothing tells kills from outside from a turn that ends its
   * process: one that two kills in a row hit before it has done anything would be set aside, as it should be.
   */
  async finishTakenOver(): Promise<void> {
    const project = this.#fleet.project(this.#random.pick(this.alive));
    const list = (): Promise<string[]> =>
      eventually(async () => {
        const { status, body } = await project.get('/v1/runs?status=in_progress&limit=100');
        // So soon after a start the store may still be too busy with what was left.
        if (status === 503) return undefined;
        assert.equal(status, 200);
        return body.data.map(({ id }: { id: string }) => id);
      }, 'the store answers');
    const before = await list();
    await eventually(async () => {
      const now = await list();
      return before.some((id) => now.includes(id)) ? undefined : true;
    }, 'the turns of before come to an end');
  }

  /** Lets every client finish its turn. */
  async settle(): Promise<DrivenTurn[]> {
    this.#stopped = true;
    return (await Promise.all(this.#clients)).flat();
  }
}

test(`two replicas on one PostgreSQL, ${KILLS} times killed with -9: no turn is lost, none is charged twice`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const startedMs = performance.now();
  const random = createRandom(SEED);
  const fleet = await openFleet(t, { store: 'server', only: 'platform' });
  const field = new Battlefield(fleet, random);
  await field.start();
  await field.start();
  field.send(CLIENTS);
  while (field.kills < KILLS) {
    await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
    await untilUnderWay(fleet);
    const both = random.next() < BOTH_AT_ONCE_SHARE;
    const victims = both ? field.alive : [random.pick(field.alive)];
    await field.killBetweenTrials(victims);
    await Promise.all(victims.map(() => field.start()));
  }
  const turns = await field.settle();
  const db = fleet.db ?? assert.fail('the fleet has no database of its own');
  await assertNothingLost(t, db, turns, field.kills, startedMs);
  await assertNoReplicaLeaked(db, fleet, field.alive);
});

test(`one process on the embedded store, ${EMBEDDED_KILLS} times killed with -9 and started on the same folder: no turn is lost`, {
  skip: NEEDS_NO_SERVER,
}, async (t) => {
  const startedMs = performance.now();
  const random = createRandom(SEED + 1);
  const fleet = await openFleet(t, { store: 'embedded', only: 'platform' });
  const field = new Battlefield(fleet, random);
  await field.start();
  field.send(4);
  while (field.kills < EMBEDDED_KILLS) {
    await field.finishTakenOver();
    await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
    await Promise.all(field.alive.map((server) => field.kill(server)));
    tearLock(join(fleet.dataDir, 'database'), field.kills);
    await field.start();
  }
  const turns = await field.settle();
  for (const server of field.alive) assert.deepEqual(await server.stop(), { code: 0, signal: null });
  const db = await openDatabase({ url: undefined, dataDir: fleet.dataDir, poolSize: 1 });
  try {
    await assertNothingLost(t, db, turns, field.kills, startedMs);
  } finally {
    await db.close();
  }
});

/** The lock of the folder in states that a killed owner, or one that is killed while it writes, can leave. */
function tearLock(folder: string, round: number): void {
  const owner = join(folder, 'owner.json');
  const left = ['nothing torn', 'half an owner', 'an owner that lives', 'no owner', 'no lock'][round % 5];
  if (left === 'half an owner') truncateSync(owner, 9);
  if (left === 'an owner that lives') writeFileSync(owner, JSON.stringify({ pid: process.pid, since: new Date() }));
  if (left === 'no owner') rmSync(owner);
  if (left === 'no lock') rmSync(join(folder, 'lock'));
}

/** Where servers are slow to start, a kill may come before anybody has asked them for anything. */
async function untilUnderWay({ db }: Fleet): Promise<void> {
  await eventually(async () => {
    const rows = await db?.query({ text: `select id from runs where status = 'in_progress' limit 1`, values: [] });
    return rows?.rows.length === 1 ? true : undefined;
  }, 'a turn is under way');
}

async function assertNothingLost(
  t: TestContext,
  db: Database,
  turns: readonly DrivenTurn[],
  kills: number,
  startedMs: number,
): Promise<void> {
  const audit = await auditTurns(db);
  const counts = await countTurns(db);
  const left = turns.filter(({ leftPaused }) => leftPaused).length;
  const lost = turns.length - counts.completed - counts.paused;
  const twice = new Set(audit.booking.map(({ run_id }) => run_id)).size;
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  t.diagnostic(
    `${kills} kills, ${turns.length} turns, ${counts.takenOver} of them taken over, ${lost} lost, ${twice} charged twice, ${seconds} s`,
  );
  assert.deepEqual(audit, { booking: [], order: [] });
  assert.equal(new Set(turns.map(({ runId }) => runId)).size, turns.length, 'each create started a run of its own');
  assert.deepEqual(
    { runs: counts.runs, completed: counts.completed, paused: counts.paused },
    { runs: turns.length, completed: turns.length - left, paused: left },
  );
  assert.ok(counts.takenOver >= kills / 4, 'kills hit turns under way');
}

/** Only who lives beats; the rows of the dead go with the next sweep. */
async function assertNoReplicaLeaked(db: Database, fleet: Fleet, alive: readonly ServerProcess[]): Promise<void> {
  await db.query({ text: `update replicas set heartbeat_at = heartbeat_at - interval '2 hours'`, values: [] });
  for (const server of alive) assert.deepEqual(await server.stop(), { code: 0, signal: null });
  const sweeper = await fleet.start();
  await eventually(async () => {
    const { rows } = await db.query({ text: 'select id from replicas', values: [] });
    return rows.length === 1 ? true : undefined;
  }, 'the one that lives is the only replica');
  await sweeper.stop();
}
