/**
 * Server processes are killed with -9 while their turns call tools of an MCP server, which counts what it gets. In the end
 * every turn is complete, and no call was made twice but those that the server says may be. IRONCRAFT_FAULT_KILLS sets the
 * number of kills, IRONCRAFT_TEST_SEED repeats the choices of a run, not its timing.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import { openDatabase } from '../../src/kernel/db/open-database.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { type FakeMcpServer, startMcpServer } from '../fakes/mcp-server.ts';
import type { TestProject } from '../support/platform.ts';
import { seedFor } from '../support/seed.ts';
import { eventually, question } from '../support/turns.ts';
import { countTurns } from './audit-turns.ts';
import { type Fleet, NEEDS_NO_SERVER, NEEDS_SERVER, openFleet } from './fleet.ts';
import { createRandom, type Random } from './seeded-random.ts';
import { killProcesses, killUnlessOnTrial, letCalmPass, untilNoneOnTrial } from './trials.ts';
import { insist } from './turn-driver.ts';

const KILLS = Number(process.env.IRONCRAFT_FAULT_KILLS ?? 20);
const EMBEDDED_KILLS = Math.max(3, Math.round(KILLS / 5));
const SEED = seedFor('mcp-kill');
const CLIENTS = 8;
const LIFE_MS = { min: 200, max: 1_500 };
/** How long a call takes: most of a turn. */
const CALL_MS = { min: 20, max: 400 };
const BOTH_AT_ONCE_SHARE = 0.15;
/** So many calls are under way at every second kill; the others come when they come. */
const CALLS_HIT = CLIENTS / 2;

/** The same arguments are never sent for two calls. */
interface DrivenCall {
  readonly token: string;
  readonly isReadOnly: boolean;
  readonly runId: string;
}

interface Clients {
  readonly pick: () => TestProject | undefined;
  readonly stopped: () => boolean;
}

/** Asks one smith for a call after the other, and waits until each turn is complete. */
async function driveCalls(clients: Clients, random: Random, name: string): Promise<DrivenCall[]> {
  const smith = await insist(clients, 'a smith', async (project) => {
    const made = await project.post('/v1/smiths', { external_id: `calling-${name}`, model: 'builtin/demo' });
    return [200, 201].includes(made.status) ? made.body.id : undefined;
  });
  const runs = `/v1/smiths/${smith}/runs`;
  const calls: DrivenCall[] = [];
  while (!clients.stopped()) {
    const token = `${name}-${calls.length}`;
    const isReadOnly = random.next() < 0.3;
    const text = `Call the tool peer__${isReadOnly ? 'look' : 'note'} with {"token":"${token}"}.`;
    const headers = { 'idempotency-key': token, prefer: 'respond-async' };
    const runId = await insist(clients, `the run of ${token}`, async (project) => {
      const begun = await project.post(runs, question(text), headers);
      if (begun.status === 503) return undefined;
      assert.equal(begun.status, 201, begun.text);
      return begun.body.id as string;
    });
    const run = await insist(clients, `the end of ${token}`, async (project) => {
      const { status, body } = await project.get(`${runs}/${runId}`);
      return status === 200 && body.status !== 'in_progress' ? body : undefined;
    });
    assert.equal(run.status, 'completed', `${token}: ${JSON.stringify(run)}`);
    calls.push({ token, isReadOnly, runId });
  }
  return calls;
}

interface Peer {
  readonly server: FakeMcpServer;
  /** Answers no call while it works, which begins once so many have come. */
  holdCalls<Result>(work: () => Promise<Result>): Promise<Result>;
}

async function startPeer(t: TestContext, random: Random): Promise<Peer> {
  const server = await startMcpServer([{ name: 'note' }, { name: 'look', annotations: { readOnlyHint: true } }]);
  t.after(() => server.close());
  let underWay = 0;
  let released = Promise.resolve();
  server.onCall = async ({ arguments: given }) => {
    underWay += 1;
    await wait(random.integer(CALL_MS.min, CALL_MS.max));
    await released;
    underWay -= 1;
    return { content: [{ type: 'text', text: JSON.stringify(given) }] };
  };
  return {
    server,
    async holdCalls(work) {
      const { promise, resolve } = Promise.withResolvers<void>();
      released = promise;
      try {
        await eventually(() => underWay >= CALLS_HIT || undefined, `${CALLS_HIT} calls are under way`);
        return await work();
      } finally {
        resolve();
      }
    },
  };
}

async function register(project: TestProject, server: FakeMcpServer): Promise<void> {
  const put = await project.put('/v1/tenant/mcp/peer', { url: server.url });
  assert.ok(put.status < 300, put.text);
  const { body, text } = await project.post('/v1/tenant/mcp/peer/refresh');
  assert.equal(body.status, 'ready', text);
}

/**
 * Waits for the turns that are under way. With one process alone nothing tells kills from outside from a turn that ends its
 * process: one that kills in a row hit before it has done anything would be set aside, as it should be.
 */
async function finishTakenOver(project: TestProject): Promise<void> {
  const list = async (): Promise<string[]> => {
    const { status, body } = await project.get('/v1/runs?status=in_progress&limit=100');
    assert.equal(status, 200);
    return body.data.map(({ id }: { id: string }) => id);
  };
  const before = await list();
  await eventually(async () => {
    const now = await list();
    return before.some((id) => now.includes(id)) ? undefined : true;
  }, 'the turns of before come to an end');
}

/**
 * Where there are several processes, at a moment when it sets no turn aside. While it waits for calls to hold, turns of the last kill are taken
 * over, and one may be on trial: then it lets all go on first.
 */
async function kill(fleet: Fleet, victims: readonly ServerProcess[], holding: Peer | undefined): Promise<void> {
  const { db } = fleet;
  const hold = <Result>(work: () => Promise<Result>) => (holding === undefined ? work() : holding.holdCalls(work));
  if (db === undefined) return hold(() => killProcesses(victims));
  do {
    await letCalmPass(db);
    await untilNoneOnTrial(db);
  } while (!(await hold(() => killUnlessOnTrial(fleet, victims))));
}

/** Starts servers, kills them under way, and lets the clients finish. */
async function killUnderWay(t: TestContext, fleet: Fleet, servers: number, kills: number, seed: number) {
  const random = createRandom(seed);
  const peer = await startPeer(t, random.fork());
  const alive = new Set<ServerProcess>();
  while (alive.size < servers) alive.add(await fleet.start());
  await register(fleet.project(random.pick([...alive])), peer.server);
  let isStopped = false;
  const clients: Clients = {
    pick: () => (alive.size === 0 ? undefined : fleet.project(random.pick([...alive]))),
    stopped: () => isStopped,
  };
  const driven = Array.from({ length: CLIENTS }, (_, index) => driveCalls(clients, random.fork(), `${index}`));
  for (const each of driven) each.catch(() => undefined);
  for (let killed = 0, round = 0; killed < kills; round += 1) {
    if (servers === 1) await finishTakenOver(fleet.project(random.pick([...alive])));
    const before = peer.server.calls().length;
    await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
    await eventually(() => peer.server.calls().length > before || undefined, 'calls are under way');
    const victims = random.next() < BOTH_AT_ONCE_SHARE ? [...alive] : [random.pick([...alive])];
    await kill(fleet, victims, round % 2 === 0 ? peer : undefined);
    for (const victim of victims) alive.delete(victim);
    killed += victims.length;
    for (const _ of victims) alive.add(await fleet.start());
  }
  isStopped = true;
  const calls = (await Promise.all(driven)).flat();
  return { calls, peer: peer.server, alive: [...alive] };
}

/** What the store and the server of the tools say of the same calls. */
async function assertCallsMadeOnce(
  t: TestContext,
  db: Database,
  { calls, peer }: { readonly calls: readonly DrivenCall[]; readonly peer: FakeMcpServer },
  kills: number,
): Promise<void> {
  const received = new Map<string, number>();
  for (const { params } of peer.calls()) {
    const { token } = params.arguments as { token: string };
    received.set(token, (received.get(token) ?? 0) + 1);
  }
  const { rows } = await db.query<{ run_id: string; status: string; error: string | null }>({
    text: `select run_id, status, error from run_steps where kind = 'tool'`,
    values: [],
  });
  const steps = new Map(rows.map((row) => [row.run_id, row]));
  const timesOf = ({ token }: DrivenCall) => received.get(token) ?? 0;
  const twice = calls.filter((call) => !call.isReadOnly && timesOf(call) > 1);
  const unmade = calls.filter((call) => steps.get(call.runId)?.error === null && timesOf(call) === 0);
  const unknown = calls.filter(({ runId }) => /its outcome is unknown/.test(steps.get(runId)?.error ?? ''));
  const other = calls.filter(({ runId }) => !/^(?:$|.*its outcome is unknown)/.test(steps.get(runId)?.error ?? ''));
  const repeated = calls.filter((call) => call.isReadOnly && timesOf(call) > 1);
  const counts = await countTurns(db);
  t.diagnostic(
    `${kills} kills, ${calls.length} turns with a call each, ${calls.length - counts.completed} lost, ${counts.takenOver} taken over; ` +
      `${twice.length} calls without a hint made twice, ${unknown.length} not repeated, ${repeated.length} read-only ones repeated`,
  );
  assert.deepEqual({ twice, unmade, other }, { twice: [], unmade: [], other: [] });
  assert.deepEqual([counts.runs, counts.completed], [calls.length, calls.length]);
  assert.deepEqual([steps.size, rows.length], [calls.length, calls.length], 'each turn made its call');
  assert.ok(unknown.length + repeated.length >= kills / 4, 'kills hit calls under way');
}

test(`two replicas on one PostgreSQL, ${KILLS} times killed with -9 during calls of MCP tools: none is made twice, no turn is lost`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const fleet = await openFleet(t, { store: 'server', only: 'platform' });
  const made = await killUnderWay(t, fleet, 2, KILLS, SEED);
  await assertCallsMadeOnce(t, fleet.db ?? assert.fail('the fleet has no database of its own'), made, KILLS);
});

test(`one process on the embedded store, ${EMBEDDED_KILLS} times killed with -9 during calls of MCP tools: none is made twice`, {
  skip: NEEDS_NO_SERVER,
}, async (t) => {
  const fleet = await openFleet(t, { store: 'embedded', only: 'platform' });
  const made = await killUnderWay(t, fleet, 1, EMBEDDED_KILLS, SEED + 1);
  for (const server of made.alive) assert.deepEqual(await server.stop(), { code: 0, signal: null });
  const db = await openDatabase({ url: undefined, dataDir: fleet.dataDir, poolSize: 1 });
  try {
    await assertCallsMadeOnce(t, db, made, EMBEDDED_KILLS);
  } finally {
    await db.close();
  }
});
