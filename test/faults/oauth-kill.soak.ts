/**
 * Two replicas are killed with -9 while codes are redeemed, refresh tokens rotated, users' connections refreshed at an issuer that
 * ends whatever is presented twice, and runs resumed whose user has connected an account. In the end no code and no refresh
 * token was spent twice, no connection is stuck, and no run was forgotten or resumed twice. IRONCRAFT_FAULT_KILLS sets the
 * number of kills, IRONCRAFT_TEST_SEED repeats the choices of a run, not its timing.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../src/kernel/db/database.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { publishMcp } from '../support/mcp-deployment.ts';
import { type OAuthUpstream, startOAuthUpstream } from '../support/oauth-upstream.ts';
import type { TestProject } from '../support/platform.ts';
import { seedFor } from '../support/seed.ts';
import { eventually } from '../support/turns.ts';
import {
  assertNotStuck,
  connectAccount,
  type DrivenRun,
  driveAccounts,
  driveWaitingRuns,
  makeSmith,
} from './account-driver.ts';
import { SPENT_ONCE } from './audit-tokens.ts';
import { findBreaches } from './audit-turns.ts';
import { driveConnectors, type Replicas } from './connector-driver.ts';
import { NEEDS_SERVER, openFleet } from './fleet.ts';
import { createRandom } from './seeded-random.ts';
import { killBetweenTrials } from './trials.ts';

const KILLS = Number(process.env.IRONCRAFT_FAULT_KILLS ?? 20);
const SEED = seedFor('oauth-kill');
/** Of each kind. */
const CLIENTS = 3;
const LIFE_MS = { min: 200, max: 1_500 };
const BOTH_AT_ONCE_SHARE = 0.15;
/** Between what the issuer has done and that the replica knows: long enough that kills fall into it. */
const ANSWER_MS = { min: 0, max: 300 };
const PUBLIC_URL = 'http://127.0.0.1:8787';
const CALLBACK = `${PUBLIC_URL}/v1/oauth/callback`;

test(`two replicas on one PostgreSQL, ${KILLS} times killed with -9 over codes, refreshes and paused runs: nothing is spent twice, stuck or forgotten`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const random = createRandom(SEED);
  const upstream = await startOAuthUpstream(CALLBACK);
  t.after(() => upstream.close());
  const fleet = await openFleet(t, {
    store: 'server',
    only: 'platform',
    variables: { IRONCRAFT_PUBLIC_URL: PUBLIC_URL },
  });
  const alive = new Set<ServerProcess>();
  while (alive.size < 2) alive.add(await fleet.start());
  let isStopped = false;
  let isOver = false;
  // Where it fails, the clients end with it.
  t.after(() => {
    isOver = true;
  });
  let done = 0;
  const replicasOf = (own = random.fork()): Replicas => ({
    random: own,
    pick() {
      if (isOver) throw new Error('the test is over');
      if (alive.size === 0) return undefined;
      const server = own.pick([...alive]);
      return { url: server.url, project: fleet.project(server) };
    },
    stopped: () => isStopped,
    progress() {
      done += 1;
    },
  });
  const place = { upstream, publicUrl: PUBLIC_URL };
  const path = await prepare(fleet.project(random.pick([...alive])), upstream, replicasOf());
  const target = { publicUrl: PUBLIC_URL, resource: PUBLIC_URL + path };
  const delays = random.fork();
  upstream.answerDelayMs = () => delays.integer(ANSWER_MS.min, ANSWER_MS.max);

  const numbers = Array.from({ length: CLIENTS }, (_, number) => number);
  const driven = Promise.all([
    Promise.all(numbers.map(() => driveConnectors(replicasOf(), target))),
    Promise.all(numbers.map(() => driveAccounts(replicasOf(), place))),
    Promise.all(numbers.map((number) => driveWaitingRuns(replicasOf(), place, `run-${number}`))),
  ]);
  driven.catch(() => undefined);
  for (let killed = 0; killed < KILLS; ) {
    const before = done;
    await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
    await Promise.race([driven, eventually(async () => done > before || undefined, 'something is under way')]);
    const victims = random.next() < BOTH_AT_ONCE_SHARE ? [...alive] : [random.pick([...alive])];
    for (const victim of victims) alive.delete(victim);
    await killBetweenTrials(fleet, victims);
    killed += victims.length;
    for (const _ of victims) alive.add(await fleet.start());
  }
  isStopped = true;
  const [connectors, accounts, runs] = await driven;

  const ends = await Promise.all(accounts.map(({ smithId }) => assertNotStuck(replicasOf(), place, smithId)));
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  const drivenRuns = runs.flat();
  const resumed = drivenRuns.filter(({ hasPaused }) => hasPaused);
  t.diagnostic(
    `${KILLS} kills; ${sum(connectors.map(({ codes }) => codes))} codes, ${sum(connectors.map(({ refreshes }) => refreshes))} ` +
      `refreshes of connectors, ${sum(connectors.map(({ lost }) => lost))} answers lost; ` +
      `${sum(accounts.map(({ refreshes }) => refreshes))} refreshes of accounts, ` +
      `${sum(accounts.map(({ reconnected }) => reconnected)) + ends.filter((end) => end === 'expired').length} connected again, ` +
      `${upstream.counts.refused} refused by the issuer; ${drivenRuns.length} runs, ${resumed.length} resumed`,
  );
  assert.equal(upstream.counts.refused, 0, 'the issuer saw a code or a refresh token twice');
  const db = fleet.db ?? assert.fail('the fleet has no database of its own');
  await assertSpentOnce(db);
  await assertResumedOnce(db, upstream, drivenRuns);
});

/** An MCP server here and one there, and a provider. The path of the one here. */
async function prepare(project: TestProject, upstream: OAuthUpstream, replicas: Replicas): Promise<string> {
  const provider = { ...upstream.client, issuer: upstream.issuer, scopes_allowed: ['read', 'offline_access'] };
  const saved = await project.put('/v1/tenant/providers/work', provider);
  assert.equal(saved.status, 200, saved.text);
  const put = await project.put('/v1/tenant/mcp/notes', { url: upstream.mcpUrl, auth: { kind: 'oauth' } });
  assert.ok(put.status < 300, put.text);
  // Its list of tools takes an account.
  const smithId = await makeSmith(replicas);
  await connectAccount(replicas, { upstream, publicUrl: PUBLIC_URL }, smithId, 'mcp:notes');
  const { body, text } = await project.post('/v1/tenant/mcp/notes/refresh');
  assert.equal(body.status, 'ready', text);
  const { path } = await publishMcp(project, { type: 'smith', id: await makeSmith(replicas) });
  return path;
}

async function assertSpentOnce(db: Database): Promise<void> {
  assert.deepEqual(await findBreaches(db, SPENT_ONCE), []);
}

/** One pause, one call at most: a call that was under way when its replica died is not made again. */
async function assertResumedOnce(db: Database, { calls }: OAuthUpstream, driven: readonly DrivenRun[]): Promise<void> {
  const { rows } = await db.query<{ id: string; status: string; pauses: number; steps: number; waits: number }>({
    text: `
      select r.id, r.status, jsonb_array_length(r.pauses) as pauses,
        (select count(*)::int from run_steps s where s.project_id = r.project_id and s.run_id = r.id and s.kind = 'tool') as steps,
        (select count(*)::int from connection_waits w where w.project_id = r.project_id and w.run_id = r.id) as waits
      from runs r order by r.id`,
    values: [],
  });
  const expected = driven.map(({ id, hasPaused }) => {
    return { id, status: 'completed', pauses: hasPaused ? 1 : 0, steps: 1, waits: 0 };
  });
  assert.deepEqual(
    rows,
    expected.sort((a, b) => (a.id < b.id ? -1 : 1)),
  );
  const marks = calls.map(({ args }) => (args as { mark: string }).mark);
  assert.deepEqual(
    marks.filter((mark, index) => marks.indexOf(mark) !== index),
    [],
    'a call was made twice',
  );
}
