/** Schedules at work: over HTTP, with a clock that the test moves. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { FAR_CRON } from '../../../test/support/far-cron.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../test/support/platform.ts';
import { eventually, smithOf, type TestSmith } from '../../../test/support/turns.ts';
import { createManualClock, type ManualClock } from '../../kernel/clock/clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Of looks for what is due: the workers wait for it by the clock of the machine. */
const INTERVAL_MS = 50;

/** The clock begins at the time that it is, as tokens are signed by it, at the thirtieth second. */
const clock: ManualClock = createManualClock(new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS + 30_000));
const platform = await startPlatform({ clock, scheduleIntervalMs: INTERVAL_MS });
after(() => platform.close());

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

interface Place {
  readonly project: TestProject;
  readonly smith: TestSmith;
  readonly schedules: string;
  create(body?: object): Promise<Json>;
  get(id: string): Promise<Json>;
  /** Runs of the smith, oldest first. */
  runs(): Promise<Json[]>;
}

async function makePlace(settings: Record<string, unknown> = {}, from: TestPlatform = platform): Promise<Place> {
  const project = await from.createProject();
  const smith = smithOf(project, await project.createSmith(settings));
  const schedules = `/v1/smiths/${smith.id}/schedules`;
  return {
    project,
    smith,
    schedules,
    async create(body = {}) {
      const answer = await project.post(schedules, { cron: FAR_CRON, input: say('Write 2 words'), ...body });
      assert.equal(answer.status, 201, answer.text);
      return answer.body;
    },
    get: async (id) => (await project.get(schedules)).body.data.find((one: Json) => one.id === id),
    runs: async () => (await project.get(`${smith.runs}?limit=100`)).body.data.toReversed(),
  };
}

const say = (content: string) => [{ role: 'user', content }];

/** Every minute. */
const EACH_MINUTE = '* * * * *';

const settled = (place: Place, id: string, deliveries = 1) =>
  eventually(async () => {
    const schedule = await place.get(id);
    const runs = await place.runs();
    const done = schedule.waiting === 0 && schedule.last_delivery !== null && runs.length >= deliveries;
    return done && runs.every(({ status }: Json) => status !== 'in_progress') ? { schedule, runs } : undefined;
  }, 'the deliveries are settled');

/** Long enough for every worker to have looked; what must not happen has not happened by then. */
async function letWorkersLook(place: Place): Promise<void> {
  const other = await place.project.createSmith();
  const path = `/v1/smiths/${other}/schedules`;
  const { id } = (await place.project.post(path, { cron: EACH_MINUTE, input: say('Write 1 words') })).body;
  clock.advance(MINUTE_MS);
  await eventually(async () => {
    const { data } = (await place.project.get(path)).body;
    return data[0].last_delivery ?? undefined;
  }, 'another schedule has fired');
  await place.project.delete(`${path}/${id}`);
}

test('at its time it begins one run, which says whose it is', async () => {
  const place = await makePlace();
  const { id, next_fire_at } = await place.create({ name: 'Report', cron: EACH_MINUTE });
  clock.set(new Date(next_fire_at));
  const { schedule, runs } = await settled(place, id);
  assert.equal(runs.length, 1);
  const [run] = runs;
  assert.deepEqual([run.status, run.channel, run.input], ['completed', 'schedule', say('Write 2 words')]);
  assert.deepEqual(run.actor, { kind: 'smith', id: place.smith.id, token_id: '', email: '' });
  const { last_delivery, last_fire_at } = schedule;
  assert.deepEqual(run.metadata, { schedule_id: id, delivery_id: last_delivery.id });
  assert.match(last_delivery.id, /^schd_/);
  const { id: _delivery, ...rest } = last_delivery;
  assert.deepEqual(rest, { status: 'started', due_at: next_fire_at, run_id: run.id, error: null });
  assert.equal(last_fire_at, next_fire_at);
  assert.equal(Date.parse(schedule.next_fire_at), Date.parse(next_fire_at) + MINUTE_MS);
  const events = await place.project.get(`/v1/events?smith_id=${place.smith.id}&type=run.completed`);
  assert.deepEqual(events.body.data[0].actor, run.actor);
});

test('each of its times begins one', async () => {
  const place = await makePlace();
  const { id } = await place.create({ cron: EACH_MINUTE });
  for (let time = 1; time <= 4; time += 1) {
    clock.advance(MINUTE_MS);
    await settled(place, id, time);
  }
  assert.equal((await place.runs()).length, 4);
});

test('what came due while nobody looked runs once', async () => {
  const place = await makePlace();
  const { id } = await place.create({ cron: EACH_MINUTE });
  clock.advance(3 * HOUR_MS);
  const { schedule } = await settled(place, id);
  assert.ok(Date.parse(schedule.next_fire_at) > clock.now().getTime());
  await letWorkersLook(place);
  const { runs } = await settled(place, id, 2);
  assert.equal(runs.length, 2, 'one for three hours, one for the minute since');
});

test('a time that comes again, as it was set by a clock that is slow, begins nothing again, and holds up no other', async () => {
  const [place, other] = [await makePlace(), await makePlace()];
  const { id, next_fire_at } = await place.create({ cron: EACH_MINUTE });
  clock.set(new Date(next_fire_at));
  await settled(place, id);
  clock.advance(-1_000);
  await place.project.patch(`${place.schedules}/${id}`, { enabled: false });
  const { body } = await place.project.patch(`${place.schedules}/${id}`, { enabled: true });
  assert.equal(body.next_fire_at, next_fire_at);
  clock.advance(1_000);
  const { id: otherId } = await other.create({ cron: EACH_MINUTE });
  clock.advance(MINUTE_MS);
  await settled(other, otherId);
  const { runs } = await settled(place, id, 2);
  assert.equal(runs.length, 2, 'one for each time');
});

test('without messages, the smith is told which schedule is due, on the clock of its zone', async () => {
  const place = await makePlace();
  const { id, next_fire_at } = await place.create({
    name: 'Report',
    cron: EACH_MINUTE,
    timezone: 'Asia/Kolkata',
    input: [],
  });
  clock.set(new Date(next_fire_at));
  const { runs } = await settled(place, id);
  const local = new Date(Date.parse(next_fire_at) + 5.5 * HOUR_MS).toISOString().slice(0, 16).replace('T', ' ');
  assert.deepEqual(runs[0].input, say(`The schedule Report is due: ${local} (Asia/Kolkata).`));
});

test('its turns go on with the thread that it names, or each begins one', async () => {
  const [one, each] = [await makePlace(), await makePlace()];
  const first = await one.create({ cron: EACH_MINUTE, thread_id: 'daily' });
  const second = await each.create({ cron: EACH_MINUTE });
  for (let time = 1; time <= 2; time += 1) {
    clock.advance(MINUTE_MS);
    await settled(one, first.id, time);
    await settled(each, second.id, time);
  }
  assert.deepEqual(
    (await one.runs()).map(({ thread_id }) => thread_id),
    ['daily', 'daily'],
  );
  assert.equal(new Set((await each.runs()).map(({ thread_id }) => thread_id)).size, 2);
});

describe('run_now', () => {
  test('begins a run at once, and leaves the times as they are', async () => {
    const place = await makePlace();
    const { id, next_fire_at } = await place.create();
    const answer = await place.project.post(`${place.schedules}/${id}/run_now`);
    assert.equal(answer.status, 200, answer.text);
    const { delivery_id, ...rest } = answer.body;
    assert.deepEqual(rest, { schedule_id: id, status: 'queued' });
    const { schedule, runs } = await settled(place, id);
    assert.equal(schedule.next_fire_at, next_fire_at);
    assert.equal(schedule.last_delivery.id, delivery_id);
    assert.equal(schedule.last_fire_at, clock.now().toISOString());
    assert.equal(runs[0].metadata.delivery_id, delivery_id);
  });

  test('works while the schedule is disabled, and says so to a smith that is told nothing else', async () => {
    const place = await makePlace();
    const { id } = await place.create({ enabled: false, input: [] });
    await place.project.post(`${place.schedules}/${id}/run_now`);
    const { runs } = await settled(place, id);
    assert.match(runs[0].input[0].content, new RegExp(`^The schedule ${id} is run by hand: .* \\(UTC\\)\\.$`));
  });

  test('twice with one key is one delivery', async () => {
    const place = await makePlace();
    const { id } = await place.create();
    const call = () => place.project.post(`${place.schedules}/${id}/run_now`, {}, { 'idempotency-key': 'now' });
    const first = await call();
    const second = await call();
    assert.deepEqual([second.status, second.body], [200, first.body]);
    await settled(place, id);
    await letWorkersLook(place);
    assert.equal((await place.runs()).length, 1);
  });

  test('of 60 deliveries that wait is refused one more, which names the limit', async () => {
    const place = await makePlace();
    const { id } = await place.create();
    const runId = await place.smith.begin('Write 100000 words at 1 words per second');
    const call = () => place.project.post(`${place.schedules}/${id}/run_now`);
    for (let delivery = 0; delivery < 60; delivery += 1) assert.equal((await call()).status, 200);
    const refused = await call();
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'concurrency_limit_exceeded'], refused.text);
    assert.match(refused.body.error.message, /^60 deliveries/);
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal((await place.project.delete(`${place.schedules}/${id}`)).status, 204);
    await place.smith.cancel(runId);
  });
});

describe('a smith that is busy', () => {
  test('is waited for: what came due meanwhile begins in order, as soon as it is free', async () => {
    const place = await makePlace();
    const first = await place.create({ cron: EACH_MINUTE, input: say('Write 1 words') });
    const second = await place.create({ cron: EACH_MINUTE, input: say('Write 2 words') });
    const runId = await place.smith.begin('Write 100000 words at 1 words per second');
    clock.advance(MINUTE_MS);
    await eventually(async () => (await place.get(second.id)).waiting === 1 || undefined, 'the first time waits');
    clock.advance(MINUTE_MS);
    await eventually(async () => (await place.get(second.id)).waiting === 2 || undefined, 'the second time waits');
    await letWorkersLook(place);
    await eventually(async () => (await place.get(first.id)).waiting === 3 || undefined, 'and the third');
    for (const { id } of [first, second]) await place.project.patch(`${place.schedules}/${id}`, { cron: FAR_CRON });
    await place.smith.cancel(runId);
    // The clock stands still: nothing but the ends of turns brings the next one.
    const { runs } = await settled(place, first.id, 7);
    assert.deepEqual(
      (await Promise.all([first, second].map(({ id }) => place.get(id)))).map(({ waiting }) => waiting),
      [0, 0],
    );
    const fired = runs.slice(1);
    assert.ok(fired.every(({ status }: Json) => status === 'completed'));
    const due = await Promise.all(fired.map(({ metadata }: Json) => dueAt(place, metadata.delivery_id)));
    assert.deepEqual(due, due.toSorted());
    assert.equal(new Set(due).size, 3);
  });

  test('is found free by looking again, where the end of its turn is not heard of', async () => {
    const place = await makePlace();
    const { id } = await place.create();
    // In progress on a replica that is not here.
    const runId = await place.smith.begin('Write 1 words');
    await place.smith.settled(runId);
    const elsewhere = 'rep_elsewhere';
    await platform.db.query({
      text: `insert into replicas (id, heartbeat_at) values ($1, now() + interval '1 day')`,
      values: [elsewhere],
    });
    const setStatus = (status: string) =>
      platform.db.query({
        text: 'update runs set status = $2, replica_id = $3 where id = $1',
        values: [runId, status, elsewhere],
      });
    await setStatus('in_progress');
    await place.project.post(`${place.schedules}/${id}/run_now`);
    await letWorkersLook(place);
    assert.equal((await place.get(id)).waiting, 1);
    await setStatus('completed');
    await platform.db.query({ text: 'delete from replicas where id = $1', values: [elsewhere] });
    clock.advance(5_000);
    await settled(place, id, 2);
  });

  test('keeps 60 times of a schedule waiting; one more is skipped, and says so', async () => {
    const place = await makePlace();
    const { id } = await place.create({ cron: EACH_MINUTE });
    const runId = await place.smith.begin('Write 100000 words at 1 words per second');
    await platform.db.query({ text: 'update schedules set waiting = 60 where id = $1', values: [id] });
    clock.advance(MINUTE_MS);
    const { last_delivery, waiting } = await eventually(async () => {
      const schedule = await place.get(id);
      return schedule.last_delivery === null ? undefined : schedule;
    }, 'a time is skipped');
    assert.deepEqual([waiting, last_delivery.status, last_delivery.run_id], [60, 'skipped', null]);
    assert.equal(last_delivery.error.code, 'conversation_locked');
    assert.match(last_delivery.error.message, /^60 deliveries/);
    await place.smith.cancel(runId);
  });

  async function dueAt(place: Place, deliveryId: string): Promise<string> {
    const { rows } = await platform.db.query<{ due_at: Date }>({
      text: 'select due_at from schedule_fires where project_id = $1 and id = $2',
      values: [place.project.projectId, deliveryId],
    });
    return rows[0]?.due_at.toISOString() ?? '';
  }
});

test('a project that is full has its deliveries wait, and each begins in the end', async () => {
  const narrow = await startPlatform({ limits: { projectRunsInFlight: 2 }, scheduleIntervalMs: INTERVAL_MS });
  try {
    const project = await narrow.createProject();
    const made = await Promise.all(
      Array.from({ length: 9 }, async () => {
        const smith = await project.createSmith();
        const path = `/v1/smiths/${smith}/schedules`;
        const { body } = await project.post(path, {
          cron: FAR_CRON,
          input: say('Write 6 words at 30 words per second'),
        });
        assert.equal((await project.post(`${path}/${body.id}/run_now`)).status, 200);
        return path;
      }),
    );
    for (const path of made) {
      const delivery = await eventually(
        async () => (await project.get(path)).body.data[0].last_delivery ?? undefined,
        'each delivery has begun',
      );
      assert.equal(delivery.status, 'started');
    }
    assert.equal((await project.get('/v1/runs?limit=100')).body.data.length, 9);
  } finally {
    await narrow.close();
  }
});

describe('a delivery for which no turn can begin is failed, and says why', () => {
  test('a model whose key is missing', async () => {
    const place = await makePlace({ model: 'openai/gpt-5' });
    const { id } = await place.create({ cron: EACH_MINUTE });
    clock.advance(MINUTE_MS);
    const { last_delivery, waiting } = await eventually(async () => {
      const schedule = await place.get(id);
      return schedule.last_delivery === null ? undefined : schedule;
    }, 'the delivery has failed');
    assert.deepEqual([waiting, last_delivery.status, last_delivery.run_id], [0, 'failed', null]);
    assert.equal(last_delivery.error.code, 'model_key_missing');
    assert.match(last_delivery.error.message, /key/);
  });

  test('a budget that is spent', async () => {
    const place = await makePlace();
    const budget = await place.project.post('/v1/budgets', { scope: 'tenant', limit: 0, action: 'block' });
    assert.equal(budget.status, 201, budget.text);
    const { id } = await place.create();
    await place.project.post(`${place.schedules}/${id}/run_now`);
    const delivery = await eventually(async () => (await place.get(id)).last_delivery ?? undefined, 'it has failed');
    assert.deepEqual([delivery.status, delivery.error.code, delivery.run_id], ['failed', 'budget_exceeded', null]);
    assert.deepEqual(await place.runs(), []);
  });

  test('an organization without a card', async () => {
    const prepaid = await startPlatform({ billing: { mode: 'credits' }, scheduleIntervalMs: INTERVAL_MS });
    try {
      const place = await makePlace({}, prepaid);
      const { id } = await place.create();
      await place.project.post(`${place.schedules}/${id}/run_now`);
      const delivery = await eventually(async () => (await place.get(id)).last_delivery ?? undefined, 'it has failed');
      assert.deepEqual([delivery.status, delivery.error.code], ['failed', 'card_required']);
    } finally {
      await prepaid.close();
    }
  });

  test('a file that is deleted', async () => {
    const place = await makePlace();
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['text']), 'notes.txt');
    const { id: file_id } = (await place.project.post('/v1/files', form)).body;
    const { id } = await place.create({ input: [{ role: 'user', content: [{ type: 'input_file', file_id }] }] });
    await place.project.delete(`/v1/files/${file_id}`);
    await place.project.post(`${place.schedules}/${id}/run_now`);
    const delivery = await eventually(async () => (await place.get(id)).last_delivery ?? undefined, 'it has failed');
    assert.deepEqual([delivery.status, delivery.error.code], ['failed', 'invalid_input']);
  });

  test('a conversation that is deleted', async () => {
    const project = await platform.createProject();
    const smith = smithOf(project, await project.createSmith({ external_id: 'ada' }));
    const schedules = `/v1/smiths/${smith.id}/schedules`;
    const { id: thread_id } = (await project.post('/v1/conversations', { user: 'ada' })).body;
    const made = await project.post(schedules, { cron: FAR_CRON, input: say('Write 2 words'), thread_id });
    assert.equal(made.status, 201, made.text);
    const run = () => project.post(`${schedules}/${made.body.id}/run_now`);
    const last = async () => (await project.get(schedules)).body.data[0].last_delivery;
    await run();
    const begun = await eventually(async () => (await last()) ?? undefined, 'the first has begun');
    assert.equal(begun.status, 'started');
    await smith.settled(begun.run_id);
    assert.equal((await project.delete(`/v1/conversations/${thread_id}`)).status, 200);
    await run();
    const failed = await eventually(async () => {
      const delivery = await last();
      return delivery.id === begun.id ? undefined : delivery;
    }, 'the second has failed');
    assert.deepEqual([failed.status, failed.error.code], ['failed', 'conversation_not_found']);
  });

  test('a smith that is archived while it waits; afterwards it comes due no more', async () => {
    const place = await makePlace();
    const { id } = await place.create({ cron: EACH_MINUTE });
    const runId = await place.smith.begin('Write 100000 words at 1 words per second');
    await place.project.post(`${place.schedules}/${id}/run_now`);
    assert.equal((await place.project.delete(`/v1/smiths/${place.smith.id}`)).status, 204);
    await place.smith.cancel(runId);
    const read = async () => {
      const { rows } = await platform.db.query<Json>({ text: 'select * from schedules where id = $1', values: [id] });
      return rows[0];
    };
    const row = await eventually(async () => {
      const found = await read();
      return found.last_delivery === null ? undefined : found;
    }, 'the delivery has failed');
    assert.deepEqual([row.last_delivery.status, row.last_delivery.error.code], ['failed', 'not_found']);
    clock.advance(MINUTE_MS);
    await eventually(async () => ((await read()).next_fire_at === null ? true : undefined), 'it has no next time');
    assert.equal((await read()).last_delivery.id, row.last_delivery.id);
  });

  test('a project that is deleted: what waits begins no turn, and nothing comes due any more', async () => {
    const place = await makePlace();
    const { id } = await place.create({ cron: EACH_MINUTE });
    await place.smith.begin('Write 100000 words at 1 words per second');
    await place.project.post(`${place.schedules}/${id}/run_now`);
    const path = `/v1/organization/projects/${place.project.projectId}`;
    assert.equal((await platform.organization.delete(path)).status, 204);
    const read = async (text: string) =>
      (await platform.db.query<Json>({ text, values: [place.project.projectId] })).rows;
    // The turn under way is cancelled, so the one that waits has its turn.
    const delivery = await eventually(async () => {
      const [schedule] = await read('select * from schedules where project_id = $1');
      return schedule.last_delivery ?? undefined;
    }, 'the delivery has failed');
    assert.deepEqual([delivery.status, delivery.error.code], ['failed', 'not_found']);
    clock.advance(MINUTE_MS);
    await eventually(async () => {
      const [schedule] = await read('select * from schedules where project_id = $1');
      return schedule.next_fire_at === null || undefined;
    }, 'it has no next time');
    const runs = await read('select status from runs where project_id = $1');
    assert.deepEqual(
      runs.map(({ status }) => status),
      ['cancelled'],
    );
  });
});

describe('what waits', () => {
  test('goes with its schedule', async () => {
    const place = await makePlace();
    const { id } = await place.create();
    const runId = await place.smith.begin('Write 100000 words at 1 words per second');
    await place.project.post(`${place.schedules}/${id}/run_now`);
    assert.equal((await place.project.delete(`${place.schedules}/${id}`)).status, 204);
    await place.smith.cancel(runId);
    await letWorkersLook(place);
    assert.equal((await place.runs()).length, 1);
  });

  test('stops when its schedule is disabled, but for what was asked for by hand', async () => {
    const place = await makePlace();
    const { id } = await place.create({ cron: EACH_MINUTE });
    const runId = await place.smith.begin('Write 100000 words at 1 words per second');
    clock.advance(MINUTE_MS);
    await eventually(async () => (await place.get(id)).waiting === 1 || undefined, 'its time waits');
    const { delivery_id } = (await place.project.post(`${place.schedules}/${id}/run_now`)).body;
    const stopped = await place.project.patch(`${place.schedules}/${id}`, { enabled: false });
    assert.equal(stopped.status, 200, stopped.text);
    assert.equal((await place.get(id)).waiting, 1);
    await place.smith.cancel(runId);
    const { runs } = await settled(place, id, 2);
    assert.deepEqual(
      runs.map(({ metadata }: Json) => metadata.delivery_id),
      [undefined, delivery_id],
    );
  });

  test('says what the schedule says when its turn begins', async () => {
    const place = await makePlace();
    const { id } = await place.create();
    const runId = await place.smith.begin('Write 100000 words at 1 words per second');
    await place.project.post(`${place.schedules}/${id}/run_now`);
    await place.project.patch(`${place.schedules}/${id}`, { input: say('Write 3 words') });
    await place.smith.cancel(runId);
    const { runs } = await settled(place, id, 2);
    assert.deepEqual(runs[1].input, say('Write 3 words'));
  });
});

test('a schedule that is disabled or deleted comes due no more', async () => {
  const place = await makePlace();
  const [disabled, deleted] = [await place.create({ cron: EACH_MINUTE }), await place.create({ cron: EACH_MINUTE })];
  await place.project.patch(`${place.schedules}/${disabled.id}`, { enabled: false });
  await place.project.delete(`${place.schedules}/${deleted.id}`);
  clock.advance(HOUR_MS);
  await letWorkersLook(place);
  assert.deepEqual(await place.runs(), []);
});
