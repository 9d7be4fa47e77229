/** A turn and a job that end whichever process executes them, beside innocent ones, with a supervisor that starts processes again. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ServerProcess } from '../boot/server-process.ts';
import { isConnectionLost } from '../support/http-client.ts';
import type { TestProject } from '../support/platform.ts';
import { collectFrames } from '../support/read-frames.ts';
import { assemble, eventually, isType, smithOf } from '../support/turns.ts';
import { type Fleet, NEEDS_SERVER, openFleet } from './fleet.ts';

const REPLICAS = 2;
const INNOCENT_TURNS = 6;
/** Longer than two leases. */
const INNOCENT_TEXT = 'Write 240 words at 15 words per second';
/** Heartbeats that lapse, twice, and the waits before a retry. */
const JOBS_END_MS = 120_000;

describe('what ends the process that executes it', { skip: NEEDS_SERVER }, () => {
  const cleanups: (() => Promise<void>)[] = [];
  let fleet: Fleet;
  const alive: ServerProcess[] = [];
  const starting = new Set<Promise<void>>();
  let deaths = 0;
  let over = false;

  before(async () => {
    const program = fileURLToPath(new URL('poisoned-server.ts', import.meta.url));
    fleet = await openFleet({ after: (work) => void cleanups.push(work) }, { store: 'server', program });
    for (let started = 0; started < REPLICAS; started += 1) await startReplica();
  });
  after(async () => {
    over = true;
    await Promise.all(starting);
    for (const work of cleanups) await work();
  });

  /** Starts it again whenever it ends. One that takes over what ends it may do so before it says that it is ready. */
  async function startReplica(): Promise<void> {
    const server = await fleet.start().catch((error: Error) => {
      if (!/ended early/.test(error.message)) throw error;
    });
    if (server === undefined) return startAgain();
    alive.push(server);
    void server.ended.then(() => {
      alive.splice(alive.indexOf(server), 1);
      return startAgain();
    });
  }

  async function startAgain(): Promise<void> {
    if (over) return;
    deaths += 1;
    const next = startReplica().finally(() => starting.delete(next));
    starting.add(next);
    await next;
  }

  /** A client of whichever process lives, for as long as it does. */
  function projectOf(server: ServerProcess | undefined): TestProject {
    return fleet.project(server ?? assert.fail('no process lives'));
  }

  async function readRun(path: string) {
    try {
      const { body } = await projectOf(alive.at(-1)).get(path);
      return body.status === 'in_progress' ? undefined : body;
    } catch (error) {
      // The process that was asked has just ended.
      if (isConnectionLost(error) || error instanceof assert.AssertionError) return undefined;
      throw error;
    }
  }

  async function assertReady(): Promise<void> {
    await eventually(() => (alive.length === REPLICAS && starting.size === 0 ? true : undefined), 'all live again');
    for (const { url } of alive) assert.equal((await fetch(`${url}/readyz`)).status, 200);
  }

  test('a turn ends two processes at most and is set aside; the turns beside it go on', async (t) => {
    const deathsBefore = deaths;
    const innocent: string[] = [];
    for (let begun = 0; begun < INNOCENT_TURNS; begun += 1) {
      const project = projectOf(alive[begun % REPLICAS]);
      const smith = smithOf(project, await project.createSmith());
      innocent.push(`${smith.runs}/${await smith.begin(INNOCENT_TEXT)}`);
    }
    const project = projectOf(alive[0]);
    const smith = smithOf(project, await project.createSmith());
    const guilty = `${smith.runs}/${await smith.begin('Call the tool abort with {}')}`;

    const run = await eventually(() => readRun(guilty), 'the turn is set aside');
    t.diagnostic(`${deaths - deathsBefore} processes ended`);
    assert.deepEqual([run.status, run.error.code], ['failed', 'run_failed']);
    assert.match(run.error.message, /interrupted twice while it was executed and made no progress/);
    assert.ok(deaths - deathsBefore <= 2, `${deaths - deathsBefore} processes ended`);
    for (const path of innocent) {
      const { status, output, error } = await eventually(() => readRun(path), `${path} rests`);
      assert.deepEqual([status, error], ['completed', null]);
      assert.equal(output.content.split(' ').length, 240);
      const frames = await collectFrames(await projectOf(alive[0]).open('GET', `${path}/events`));
      assert.equal(assemble(frames).text, output.content);
      assert.equal(frames.filter(isType('run.completed')).length, 1);
    }
    await assertReady();
    assert.equal(deaths - deathsBefore, 2, 'none ended after it');
  });

  test('a job ends two processes at most and is given up; the jobs beside it are done', async (t) => {
    const deathsBefore = deaths;
    const db = fleet.db ?? assert.fail('the fleet has no database of its own');
    const project = projectOf(alive[0]);
    const smith = smithOf(project, await project.createSmith());
    assert.equal((await smith.ask('Call the tool queue with {}')).body.status, 'completed');
    const deadlineMs = performance.now() + JOBS_END_MS;
    const states = await eventually(async () => {
      const { rows } = await db.query<{ name: string; state: string }>({
        text: `select name, state::text from jobs.job where name in ('poisoned', 'innocent') order by name`,
        values: [],
      });
      const isOver = rows.every(({ state }) => state === 'completed' || state === 'failed');
      return isOver || performance.now() > deadlineMs ? rows.map(({ name, state }) => `${name} ${state}`) : undefined;
    }, 'the jobs are over');
    t.diagnostic(`${deaths - deathsBefore} processes ended`);
    const done = 'innocent completed';
    assert.deepEqual(states, [done, done, done, 'poisoned failed']);
    assert.equal(deaths - deathsBefore, 2);
    await assertReady();
  });
});
