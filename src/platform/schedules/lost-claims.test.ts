/** What replicas leave behind that die, and several replicas at once. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { FAR_CRON } from '../../../test/support/far-cron.ts';
import { startPlatform } from '../../../test/support/platform.ts';
import { eventually, smithOf } from '../../../test/support/turns.ts';
import { createManualClock } from '../../kernel/clock/clock.ts';
import { removeSettled } from './due-store.ts';
import { claimSmiths } from './queue-store.ts';

const MINUTE_MS = 60_000;
/** Of looks for what is due: the workers wait for it by the clock of the machine. */
const INTERVAL_MS = 50;
const clock = createManualClock(new Date());
const first = await startPlatform({ clock, scheduleIntervalMs: INTERVAL_MS });
after(() => first.close());
const second = await startPlatform({ clock, sharing: first, scheduleIntervalMs: INTERVAL_MS });
after(() => second.close());
const { db } = first;

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

async function makeSchedule(body: object = {}) {
  const project = await first.createProject();
  const smith = smithOf(project, await project.createSmith());
  const schedules = `/v1/smiths/${smith.id}/schedules`;
  const input = [{ role: 'user', content: 'Write 2 words' }];
  const { id } = (await project.post(schedules, { cron: FAR_CRON, input, ...body })).body;
  const get = async (): Promise<Json> => (await project.get(schedules)).body.data[0];
  const runNow = async (): Promise<string> => (await project.post(`${schedules}/${id}/run_now`)).body.delivery_id;
  const last = (delivery: string) =>
    eventually(async () => {
      const { last_delivery, waiting } = await get();
      return waiting === 0 && last_delivery?.id === delivery ? last_delivery : undefined;
    }, 'the delivery is settled');
  const countRuns = async (): Promise<number> => (await project.get(smith.runs)).body.data.length;
  return { id, project, smith, path: `${schedules}/${id}`, get, runNow, last, countRuns };
}

/** As it is where a replica has begun the turn of a delivery, and died before it wrote that down. */
async function forgetSettlement(deliveryId: string, claims: number, nextAttemptAt: Date): Promise<void> {
  await db.query({
    text: `
      with fire as (
        update schedule_fires set status = 'queued', run_id = null, settled_at = null where id = $1 returning *
      ), schedule as (
        update schedules s set waiting = 1, last_delivery = null from fire where s.id = fire.schedule_id
      )
      update schedule_queues q set claims = $2, next_attempt_at = $3
      from fire where q.project_id = fire.project_id and q.smith_id = fire.smith_id`,
    values: [deliveryId, claims, nextAttemptAt],
  });
}

test('a delivery whose turn has begun already is found, and begins no second one', async () => {
  const schedule = await makeSchedule();
  const delivery = await schedule.runNow();
  const begun = await schedule.last(delivery);
  await schedule.smith.settled(begun.run_id);
  await forgetSettlement(delivery, 1, clock.now());
  const found = await schedule.last(delivery);
  assert.deepEqual([found.status, found.run_id], ['started', begun.run_id]);
  assert.equal(await schedule.countRuns(), 1);
});

test('also where its smith could not begin it any more', async () => {
  const schedule = await makeSchedule();
  const delivery = await schedule.runNow();
  const begun = await schedule.last(delivery);
  await schedule.smith.settled(begun.run_id);
  await schedule.project.patch(`/v1/smiths/${schedule.smith.id}`, { model: 'openai/gpt-5' });
  await forgetSettlement(delivery, 1, clock.now());
  assert.deepEqual((await schedule.last(delivery)).run_id, begun.run_id);
});

test('a claim is another’s until its lease ends', async () => {
  const schedule = await makeSchedule();
  const delivery = await schedule.runNow();
  await schedule.smith.settled((await schedule.last(delivery)).run_id);
  await forgetSettlement(delivery, 1, new Date(clock.now().getTime() + 10_000));
  clock.advance(9_000);
  const other = await makeSchedule();
  await other.last(await other.runNow());
  assert.equal((await schedule.get()).waiting, 1);
  clock.advance(1_000);
  await schedule.last(delivery);
});

test('a delivery that five claims did not survive is given up, and those behind it go on', async () => {
  const schedule = await makeSchedule();
  const runId = await schedule.smith.begin('Write 100000 words at 1 words per second');
  const [guilty, next] = [await schedule.runNow(), await schedule.runNow()];
  await db.query({
    text: 'update schedule_queues set claims = 5 where project_id = $1',
    values: [schedule.project.projectId],
  });
  await schedule.smith.cancel(runId);
  clock.advance(5_000);
  const after = await schedule.last(next);
  assert.equal(after.status, 'started');
  const { rows } = await db.query<Json>({ text: 'select * from schedule_fires where id = $1', values: [guilty] });
  assert.deepEqual([rows[0].status, rows[0].error.code, rows[0].run_id], ['failed', 'internal_error', null]);
});

test('what comes due together on two replicas begins one turn each', async () => {
  const project = await first.createProject();
  const paths = await Promise.all(
    Array.from({ length: 60 }, async () => {
      const path = `/v1/smiths/${await project.createSmith()}/schedules`;
      const made = await project.post(path, { cron: '* * * * *', input: [{ role: 'user', content: 'Write 1 words' }] });
      assert.equal(made.status, 201, made.text);
      return path;
    }),
  );
  const ROUNDS = 3;
  for (let round = 1; round <= ROUNDS; round += 1) {
    clock.advance(MINUTE_MS);
    await eventually(async () => {
      const { rows } = await db.query<{ settled: number }>({
        text: `select count(*) as settled from schedule_fires where project_id = $1 and status = 'started'`,
        values: [project.projectId],
      });
      return rows[0]?.settled === round * paths.length || undefined;
    }, 'all have begun');
  }
  const { rows } = await db.query<{ runs: number; deliveries: number; schedules: number }>({
    text: `
      select count(*) as runs, count(distinct metadata ->> 'delivery_id') as deliveries,
        count(distinct metadata ->> 'schedule_id') as schedules
      from runs where project_id = $1`,
    values: [project.projectId],
  });
  assert.deepEqual(rows[0], {
    runs: ROUNDS * paths.length,
    deliveries: ROUNDS * paths.length,
    schedules: paths.length,
  });
});

test('deliveries that are settled go when they are old', async () => {
  const schedule = await makeSchedule();
  const delivery = await schedule.runNow();
  await schedule.last(delivery);
  const count = async (): Promise<number> => {
    const { rows } = await db.query<{ count: number }>({
      text: 'select count(*) as count from schedule_fires where project_id = $1',
      values: [schedule.project.projectId],
    });
    return rows[0]?.count ?? Number.NaN;
  };
  await removeSettled(db, new Date(clock.now().getTime() - 1), 1_000);
  assert.equal(await count(), 1);
  await removeSettled(db, new Date(clock.now().getTime() + 1), 1_000);
  assert.equal(await count(), 0);
});

test('a project with many queues delays no other, and one that is full is left alone', async () => {
  const [due, now] = [new Date('2099-01-01'), new Date('2099-01-02')];
  await db.query({
    text: `
      insert into schedule_queues (project_id, smith_id, next_attempt_at)
      select 'a', 'smith ' || n, $1::timestamptz from generate_series(1, 50) n union all select 'b', 'smith', $1`,
    values: [due],
  });
  const look = async (after: string, allowed: ReadonlyMap<string, number> = new Map()) => {
    const { queues, next } = await claimSmiths(db, { now, after, allowed, limit: 32 });
    return { projects: Object.groupBy(queues, ({ project_id }) => project_id), next };
  };
  const first = await look('');
  assert.deepEqual([Object.keys(first.projects), first.projects.a?.length, first.next], [['a'], 32, 'a']);
  const second = await look(first.next);
  assert.deepEqual([Object.keys(second.projects), second.projects.b?.length, second.next], [['b'], 1, '']);
  assert.deepEqual(await look('', new Map([['a', 0]])), { projects: Object.create(null), next: '' });
  assert.equal((await look('', new Map([['a', 3]]))).projects.a?.length, 3);
  assert.equal((await look('')).projects.a?.length, 15);
  await db.query({ text: `delete from schedule_queues where project_id in ('a', 'b')`, values: [] });
});
