/**
 * Work comes in its time though nobody uses the store: each pass says when the next thing is due, and its worker, which otherwise looks each
 * five minutes by then, looks at that time.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Database } from '../../src/kernel/db/database.ts';
import { LEASE_SECONDS } from '../../src/platform/engine/store/replica.ts';
import { testServerUrl } from '../support/database.ts';
import { FAR_CRON } from '../support/far-cron.ts';
import { eventually, makeSmith, question } from '../support/turns.ts';
import { DONE, type QuietWork, queueFire, queueMessage, queuePart, startQuietWork } from './quiet-work.ts';

/** By then a worker whose passes say nothing looks 511 and 811 seconds after the last use. */
const DUE_IN_S = 800;
const LATE_BY_S = 2;
const HOUR_S = 3_600;
/** A step of the clock is noticed within these, and a schedule is looked for within one more. */
const STEP_WITHIN_S = 16;
/** The interval of both followers of the feed, and a second. */
const FEED_WITHIN_S = 6;

interface Case {
  readonly what: string;
  /** Makes what is to be done; the values of the statements. */
  readonly prepare: (work: QuietWork) => Promise<readonly string[]>;
  /** The statement, an ordinary use of the store, that sets the time. */
  readonly putOff: string;
  /** SQL: it is done. */
  readonly done: string;
}

const DUE = `now() + interval '${DUE_IN_S} seconds'`;

const CASES: readonly Case[] = [
  {
    what: 'a schedule that is due fires',
    prepare: ({ makeSchedule }) => makeSchedule(),
    putOff: `update schedules set next_fire_at = ${DUE} where project_id = $1 and id = $2`,
    done: 'exists (select from schedule_fires where project_id = $1 and schedule_id = $2)',
  },
  {
    what: 'a delivery of a schedule that was put off begins its turn',
    prepare: ({ makeSchedule }) => makeSchedule(),
    putOff: queueFire(DUE),
    done: DONE.fire,
  },
  {
    what: 'a message of a channel that was put off begins its turn',
    prepare: ({ makeAnsweredChat }) => makeAnsweredChat(),
    putOff: queueMessage(DUE),
    done: DONE.message,
  },
  {
    what: 'an answer that its channel refused for a while is sent',
    prepare: ({ makeAnsweredChat }) => makeAnsweredChat(),
    putOff: queuePart(DUE),
    done: DONE.part,
  },
  {
    what: 'an answer of an account that is paused is sent',
    prepare: ({ makeAnsweredChat }) => makeAnsweredChat(),
    putOff: `
      with paused as (
        insert into channel_buckets (project_id, kind, account_id, free_at)
        select project_id, kind, account_id, ${DUE} from channel_outboxes where project_id = $1
      ) ${queuePart('now()').replace(/^\s*with/, ',')}`,
    done: DONE.part,
  },
  {
    what: 'a delivery of a webhook that failed once is attempted again',
    async prepare({ endpoint, makeDelivery }) {
      endpoint.answerWith(503);
      const delivery = await makeDelivery();
      endpoint.answerWith(200);
      return delivery;
    },
    putOff: `
      update webhook_deliveries set next_attempt_at = ${DUE}
      where project_id = $1 and id = $2 and status = 'pending' and misses = 1`,
    done: DONE.delivery,
  },
  {
    what: 'a question that nobody answers expires',
    prepare: ({ makeQuestion }) => makeQuestion(),
    putOff: `update approvals set expires_at = ${DUE} where project_id = $1 and run_id = $2`,
    done: DONE.question,
  },
  {
    what: 'a question that only a replica can carry on which has died is closed',
    prepare: ({ makeQuestion }) => makeQuestion(),
    putOff: `
      with silent as (
        insert into replicas (id, heartbeat_at, resting)
        values ('rep_silent', ${DUE} - interval '${LEASE_SECONDS} seconds', true) returning id
      )
      update approvals set holder = silent.id from silent where project_id = $1 and run_id = $2`,
    done: DONE.question,
  },
  ...(['created', 'retry'] as const).map((state) => ({
    what: state === 'retry' ? 'a job that failed once runs again' : 'a job that is to start later runs',
    prepare: async () => [randomUUID(), state],
    putOff: `
      insert into jobs.job (id, name, state, start_after)
      values ($1::uuid, 'sweep-idempotency-keys', cast($2 as text)::jobs.job_state, ${DUE})`,
    done: `exists (select from jobs.job where id = $1::uuid and state = 'completed' and $2 <> '')`,
  })),
  {
    what: 'a payment whose outcome is not known is looked up',
    prepare: ({ makePaidPage }) => makePaidPage(),
    putOff: `update wallet_payments set next_look_at = ${DUE} where organization_id = $1 and id = $2`,
    done: DONE.payment,
  },
];

/** Opens a transaction that has a number, and ends without a change. */
async function holdTransaction(db: Database): Promise<{ end(): Promise<void> }> {
  const started = Promise.withResolvers<void>();
  const { promise: ending, resolve: end } = Promise.withResolvers<void>();
  const ended = db.transaction(async (tx) => {
    await tx.query({ text: 'select pg_current_xact_id()', values: [] });
    started.resolve();
    await ending;
  });
  await Promise.race([started.promise, ended]);
  return {
    end() {
      end();
      return ended;
    },
  };
}

const skip = testServerUrl() === undefined ? 'set IRONCRAFT_TEST_DATABASE_URL to run these' : false;

describe('in a quiet store', { skip }, () => {
  let work: QuietWork;
  before(async () => {
    work = await startQuietWork();
  });
  after(() => work.close());

  for (const { what, prepare, putOff, done } of CASES) {
    test(`${what} within ${LATE_BY_S} seconds of its time, and not before`, async () => {
      const { store } = work;
      const values = await prepare(work);
      await store.change(putOff, values);
      await store.pass(DUE_IN_S - 1);
      assert.equal(await store.isTrue(done, values), false, 'a second before');
      await store.pass(1 + LATE_BY_S);
      // The work has started by now, and ends in real time.
      await eventually(async () => (await store.isTrue(done, values)) || undefined, what);
    });
  }

  test(`an event is sealed and fanned out within ${FEED_WITHIN_S} seconds once an older transaction has ended, though nothing changes`, async () => {
    const { store, server, endpoint } = work;
    const project = await server.createProject();
    assert.equal((await project.post('/v1/tenant/webhooks', { url: endpoint.url, events: [] })).status, 201);
    const older = await holdTransaction(store.outside);
    const smithId = await project.createSmith();
    const ofSmith = `from events e where e.project_id = $1 and e.smith_id = $2 and e.type = 'smith.created'`;
    const isTaken = (table: string) =>
      store.isTrue(
        `exists (select from ${table} t where t.project_id = $1 and t.event_id in (select e.id ${ofSmith}))`,
        [project.projectId, smithId],
      );
    const taken = async () => [await isTaken('event_links'), await isTaken('webhook_deliveries')];
    await store.pass(400);
    assert.deepEqual(await taken(), [false, false], 'an older event could still come');
    await older.end();
    await store.pass(FEED_WITHIN_S);
    await eventually(async () => (await taken()).every(Boolean) || undefined, 'the event is taken');
  });

  test(`a schedule fires within ${STEP_WITHIN_S} seconds if the time of day steps beyond its time`, async () => {
    const { store, server } = work;
    const { project, id: smithId } = await makeSmith(server);
    const schedule = { cron: FAR_CRON, ...question('Write 1 words') };
    const { body } = await project.post(`/v1/smiths/${smithId}/schedules`, schedule);
    await store.db.query({
      text: `update schedules set next_fire_at = now() + interval '2 hours' where id = $1`,
      values: [body.id],
    });
    await store.rest();
    const fired = 'exists (select from schedule_fires where schedule_id = $1)';
    store.stepClock(2 * HOUR_S * 1_000);
    assert.equal(await store.isTrue(fired, [body.id]), false, 'before any time has passed');
    await store.pass(STEP_WITHIN_S);
    await eventually(async () => (await store.isTrue(fired, [body.id])) || undefined, 'the schedule fires');
  });
});
