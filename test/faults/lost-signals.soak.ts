/**
 * Two server processes whose PostgreSQL drops most NOTIFYs: after a pause, in which nobody uses the store, turns begin, and schedules and
 * webhook deliveries come due that a connection has left which ended right after its commit. All are done within 30 seconds of their time and
 * the intervals of their workers. IRONCRAFT_FAULT_QUIET_ROUNDS sets the size (8 take ten minutes), IRONCRAFT_TEST_SEED repeats the
 * choices of a run, not its timing.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { asLook } from '../../src/kernel/db/looks.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { openTestDatabase } from '../support/database.ts';
import { FAR_CRON } from '../support/far-cron.ts';
import { seedFor } from '../support/seed.ts';
import { eventually, question, smithOf } from '../support/turns.ts';
import { type Endpoint, openEndpoint } from '../support/webhook-endpoint.ts';
import { type Fleet, NEEDS_SERVER, openFleet } from './fleet.ts';
import { createRandom, type Random } from './seeded-random.ts';

const ROUNDS = Number(process.env.IRONCRAFT_FAULT_QUIET_ROUNDS ?? 8);
const SEED = seedFor('lost-signals');
const DROPPED_SHARE = 0.8;
/** Workers wait for half as long after such a pause. */
const PAUSE_MS = { min: 20_000, max: 75_000 };
const DUE_IN_S = { min: 0, max: 20 };
const LATE_BY_MS = 30_000;
/** Of the fan-out of webhooks and of their dispatcher; of due schedules and of the dispatcher of their turns. */
const WEBHOOK_INTERVALS_MS = 6_000;
const SCHEDULE_INTERVALS_MS = 2_000;
/** The first retry of a delivery comes after a minute, or up to a tenth later. */
const RETRY_MS = 66_000;

interface Scene {
  readonly db: Database;
  readonly url: string;
  readonly fleet: Fleet;
  readonly servers: readonly ServerProcess[];
  readonly endpoint: Endpoint;
  readonly random: Random;
}

/** Work that was started. `done` is SQL, $1 is `id`. */
interface StartedWork {
  readonly what: string;
  readonly id: string;
  readonly done: string;
  /** From now on. */
  readonly withinMs: number;
}

test(`two processes, ${ROUNDS} pauses, most NOTIFYs dropped: all work is done in its time`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const { db, url = '', close } = await openTestDatabase({ store: 'server', poolSize: 2 });
  t.after(close);
  await dropNotifications(db);
  const fleet = await openFleet(t, { store: 'server', only: 'platform', databaseUrl: url });
  const servers = [await fleet.start(), await fleet.start()];
  const endpoint = await openEndpoint();
  t.after(() => endpoint.close());
  const random = createRandom(SEED);
  const scene: Scene = { db, url, fleet, servers, endpoint, random };
  const project = fleet.project(random.pick(servers));
  const { status, text } = await project.post('/v1/tenant/webhooks', { url: endpoint.url, events: ['run.completed'] });
  assert.equal(status, 201, text);
  await untilDone(t, scene, await beginTurn(scene));
  for (let round = 0; round < ROUNDS; round += 1) {
    // A schedule is made before the pause.
    const begin = random.pick([beginTurn, leaveDelivery, await makeSchedule(scene)]);
    await wait(random.integer(PAUSE_MS.min, PAUSE_MS.max));
    await untilDone(t, scene, await begin(scene));
  }
  const { rows } = await db.query<{ dropped: number }>({
    text: 'select last_value::int as dropped from test_clock.dropped',
    values: [],
  });
  t.diagnostic(`${rows[0]?.dropped} NOTIFYs were dropped`);
  assert.ok((rows[0]?.dropped ?? 0) > ROUNDS);
});

/** The function is found before PostgreSQL's own, as those of the time are. */
async function dropNotifications(db: Database): Promise<void> {
  await db.query({
    text: `
      create sequence test_clock.dropped;
      create function test_clock.pg_notify(channel text, payload text) returns void language plpgsql as $$
      begin
        if random() < ${DROPPED_SHARE} then
          perform nextval('test_clock.dropped');
        else
          perform pg_catalog.pg_notify(channel, payload);
        end if;
      end $$`,
  });
}

async function untilDone(
  t: { diagnostic(message: string): void },
  { db }: Scene,
  { what, id, done, withinMs }: StartedWork,
): Promise<void> {
  const startedMs = performance.now();
  const isDone = async () => {
    const { rows } = await db.query<{ done: boolean }>({ text: `select ${done} as done`, values: [id] });
    return rows[0]?.done || undefined;
  };
  await eventually(isDone, `${what}, ${withinMs} ms after it began`, withinMs);
  t.diagnostic(`${what} after ${Math.round(performance.now() - startedMs)} ms`);
}

/** Each run tells of its end, whose event is delivered. */
async function beginTurn({ fleet, servers, random }: Scene): Promise<StartedWork> {
  const project = fleet.project(random.pick(servers));
  const id = await smithOf(project, await project.createSmith()).begin('Write 3 words');
  return {
    what: 'the event of a turn is delivered',
    id,
    done: `exists (
      select from webhook_deliveries d join events e on e.project_id = d.project_id and e.id = d.event_id
      where e.data ->> 'run_id' = $1 and d.status = 'succeeded')`,
    withinMs: LATE_BY_MS + WEBHOOK_INTERVALS_MS,
  };
}

async function makeSchedule({ fleet, servers, random }: Scene): Promise<(scene: Scene) => Promise<StartedWork>> {
  const project = fleet.project(random.pick(servers));
  const path = `/v1/smiths/${await project.createSmith()}/schedules`;
  const { status, body, text } = await project.post(path, { cron: FAR_CRON, ...question('Write 3 words') });
  assert.equal(status, 201, text);
  return async (scene) => {
    const dueInS = random.integer(DUE_IN_S.min, DUE_IN_S.max);
    await changeSilently(scene, `update schedules set next_fire_at = now() + $2 * interval '1 second' where id = $1`, [
      body.id,
      dueInS,
    ]);
    return {
      what: `a schedule that was due in ${dueInS} s has started its turn`,
      id: body.id,
      done: `exists (select from schedule_fires where schedule_id = $1 and status = 'started')`,
      withinMs: dueInS * 1_000 + LATE_BY_MS + SCHEDULE_INTERVALS_MS,
    };
  };
}

/** A delivery comes due once more; half of them fail at first. */
async function leaveDelivery(scene: Scene): Promise<StartedWork> {
  const { db, endpoint, random } = scene;
  const { rows } = await db.query<{ id: string }>({
    text: `select id from webhook_deliveries where status = 'succeeded' order by id limit 1`,
    values: [],
  });
  const id = rows[0]?.id ?? assert.fail('nothing was delivered');
  const dueInS = random.integer(DUE_IN_S.min, DUE_IN_S.max);
  const fails = random.next() < 0.5;
  const taken = endpoint.received.length;
  if (fails) endpoint.answerWith(503);
  const dueAt = `now() + $2 * interval '1 second'`;
  await changeSilently(
    scene,
    `update webhook_deliveries set status = 'pending', misses = 0, next_attempt_at = ${dueAt} where id = $1`,
    [id, dueInS],
  );
  const withinMs = dueInS * 1_000 + LATE_BY_MS + WEBHOOK_INTERVALS_MS;
  if (fails) {
    const isRefused = () => endpoint.received.length > taken || undefined;
    await eventually(isRefused, `a delivery is attempted, due in ${dueInS} s`, withinMs);
    endpoint.answerWith(200);
  }
  return {
    what: fails ? 'a delivery is made that failed once' : `a delivery is made that was due in ${dueInS} s`,
    id,
    done: `exists (select from webhook_deliveries where id = $1 and status = 'succeeded')`,
    withinMs: fails ? RETRY_MS + LATE_BY_MS + WEBHOOK_INTERVALS_MS : withinMs,
  };
}

/** By a process that ends right after its commit, and tells nobody. */
async function changeSilently({ url }: Scene, text: string, values: readonly unknown[]): Promise<void> {
  const other = await connectServer({ url, poolSize: 1 });
  const { rowCount } = await asLook(other).query({ text, values });
  await other.close();
  assert.equal(rowCount, 1);
}
