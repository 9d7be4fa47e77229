/**
 * Two replicas that are killed with -9 at random moments while schedules fire: each due time begins one turn, and a smith's in
 * their order. IRONCRAFT_FAULT_SCHEDULES and IRONCRAFT_FAULT_SCHEDULE_KILLS set the sizes (1,000 and 20 take two minutes),
 * IRONCRAFT_TEST_SEED repeats the choices of a run, not its timing.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Database } from '../../src/kernel/db/database.ts';
import type { ServerProcess } from '../boot/server-process.ts';
import { FAR_CRON } from '../support/far-cron.ts';
import type { TestProject } from '../support/platform.ts';
import { seedFor } from '../support/seed.ts';
import { eventually } from '../support/turns.ts';
import { NEEDS_SERVER, openFleet } from './fleet.ts';
import { createRandom, type Random } from './seeded-random.ts';
import { killBetweenTrials } from './trials.ts';

const SCHEDULES = Number(process.env.IRONCRAFT_FAULT_SCHEDULES ?? 400);
const KILLS = Number(process.env.IRONCRAFT_FAULT_SCHEDULE_KILLS ?? 8);
const SEED = seedFor('schedules-kill');

/** Their turns wait for each other. */
const SCHEDULES_A_SMITH = 4;
/** What comes due between two kills comes within this time, and the kill in or after it. */
const SPREAD_MS = 500;
const LIFE_MS = { min: 200, max: 1_600 };

test(`two replicas, ${SCHEDULES} schedules, ${KILLS} kills with -9: every due time begins one turn`, {
  skip: NEEDS_SERVER,
}, async (t) => {
  const random = createRandom(SEED);
  const fleet = await openFleet(t, { store: 'server', only: 'platform' });
  const db = fleet.db ?? assert.fail('the fleet has no database of its own');
  const alive: ServerProcess[] = [await fleet.start(), await fleet.start()];
  const [first = assert.fail()] = alive;
  const ids = await createSchedules(fleet.project(first));
  const armed = new Map<string, string>();
  const perWave = Math.ceil(ids.length / (KILLS + 1));

  for (let wave = 0; wave <= KILLS; wave += 1) {
    await arm(db, random, ids.slice(wave * perWave, (wave + 1) * perWave), armed);
    await wait(random.integer(LIFE_MS.min, LIFE_MS.max));
    if (wave === KILLS) break;
    const victim = random.pick(alive);
    alive.splice(alive.indexOf(victim), 1);
    await killBetweenTrials(fleet, [victim]);
    alive.push(await fleet.start());
  }
  const startedMs = performance.now();
  await eventually(async () => ((await countUnsettled(db)) === 0 ? true : undefined), 'every due time is settled');
  t.diagnostic(`settled ${Math.round(performance.now() - startedMs)} ms after the last kill`);
  await assertFiredOnce(t, db, armed);
});

/** Their own times are far away: they come due when they are armed. */
async function createSchedules(project: TestProject): Promise<string[]> {
  const limit = pLimit(8);
  const body = { cron: FAR_CRON, input: [{ role: 'user', content: 'Write 6 words at 20 words per second' }] };
  const smiths = Array.from({ length: Math.ceil(SCHEDULES / SCHEDULES_A_SMITH) }, () =>
    limit(async () => {
      const path = `/v1/smiths/${await project.createSmith()}/schedules`;
      const made: string[] = [];
      for (let index = 0; index < SCHEDULES_A_SMITH; index += 1) made.push((await project.post(path, body)).body.id);
      return made;
    }),
  );
  return (await Promise.all(smiths)).flat();
}

async function arm(db: Database, random: Random, ids: readonly string[], armed: Map<string, string>): Promise<void> {
  const { rows } = await db.query<{ id: string; next_fire_at: Date }>({
    text: `
      update schedules set next_fire_at = date_trunc('milliseconds', now() + armed.ms * interval '1 ms')
      from unnest($1::text[], $2::int[]) as armed (id, ms)
      where schedules.id = armed.id returning schedules.id, next_fire_at`,
    values: [ids, ids.map(() => random.integer(0, SPREAD_MS))],
  });
  assert.equal(rows.length, ids.length);
  for (const { id, next_fire_at } of rows) armed.set(id, next_fire_at.toISOString());
}

/** Schedules that have not come due, and deliveries and turns that are not through. */
async function countUnsettled(db: Database): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    text: `
      select (select count(*) from schedules where next_fire_at < now() + interval '1 minute' or waiting > 0)
        + (select count(*) from schedule_fires where status = 'queued')
        + (select count(*) from runs where status = 'in_progress') as count`,
    values: [],
  });
  return rows[0]?.count ?? Number.NaN;
}

interface FireRow {
  readonly id: string;
  readonly schedule_id: string;
  readonly smith_id: string;
  readonly due_at: Date;
  readonly status: string;
  readonly run_id: string | null;
  readonly runs: string[];
  readonly begun_at: Date;
}

async function assertFiredOnce(t: TestContext, db: Database, armed: ReadonlyMap<string, string>): Promise<void> {
  const { rows: fires } = await db.query<FireRow>({
    text: `
      select f.id, f.schedule_id, f.smith_id, f.due_at, f.status, f.run_id, array_agg(r.id) as runs, min(r.created_at) as begun_at
      from schedule_fires f
      left join runs r on r.project_id = f.project_id and r.channel = 'schedule' and r.metadata ->> 'delivery_id' = f.id
      group by f.project_id, f.id order by f.smith_id, f.due_at, f.id`,
    values: [],
  });
  const problems = fires.flatMap((fire, index) => {
    const before = fires[index - 1];
    const isLate = before?.smith_id === fire.smith_id && before.begun_at > fire.begun_at;
    return [
      ...(fire.status === 'started' ? [] : [`${fire.id} is ${fire.status}`]),
      ...(fire.runs.length === 1 && fire.runs[0] === fire.run_id ? [] : [`${fire.id} began ${fire.runs.join()}`]),
      ...(armed.get(fire.schedule_id) === fire.due_at.toISOString() ? [] : [`${fire.id} was never due`]),
      ...(isLate ? [`${fire.id} began before ${before.id}`] : []),
    ];
  });
  assert.deepEqual(problems, []);
  assert.equal(fires.length, armed.size, 'each due time is there once');
  assert.equal(new Set(fires.map(({ schedule_id }) => schedule_id)).size, armed.size);
  const { rows: counts } = await db.query<{ runs: number; restarted: number; leased: number }>({
    text: `
      select count(*) as runs, count(*) filter (where attempt > 1) as restarted,
        (select count(*) from schedule_queues where next_attempt_at is not null) as leased
      from runs`,
    values: [],
  });
  assert.equal(counts[0]?.runs, armed.size, 'no turn was begun but for a due time');
  assert.equal(counts[0]?.leased, 0, 'no queue is left behind');
  t.diagnostic(`${fires.length} due times, ${counts[0]?.restarted} turns taken over`);
}
