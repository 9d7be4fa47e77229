/**
 * A process dies right after its commit, and no NOTIFY tells of what it has left. A server that rests finds it all the same: it asks
 * PostgreSQL each 15 seconds whether rows have changed, and each worker looks at its interval from then on.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { testServerUrl } from '../support/database.ts';
import { eventually } from '../support/turns.ts';
import { ANSWER, DONE, type QuietWork, queueFire, queueMessage, queuePart, startQuietWork } from './quiet-work.ts';

/** Between two questions whether rows have changed. */
const ASKED_EACH_S = 15;
/** A worker finds its work before ASKED_EACH_S, its interval and so many seconds more have passed. */
const SLACK_S = 1;

interface Case {
  readonly worker: string;
  readonly intervalS: number;
  /** Makes what must be there before the server comes to rest; the values of the statements. */
  readonly prepare: (work: QuietWork) => Promise<readonly string[]>;
  /** The statement that changes a row. */
  readonly leave: string;
  /** SQL: the worker has found it. */
  readonly found: string;
  /** Part of the worker's own statement, if it looks more often than others while the server rests. The rows change right after a look. */
  readonly look?: string;
}

const CASES: readonly Case[] = [
  {
    worker: 'due schedules',
    intervalS: 1,
    prepare: ({ makeSchedule }) => makeSchedule(),
    leave: `update schedules set next_fire_at = now() - interval '1 minute' where project_id = $1 and id = $2`,
    found: 'exists (select from schedule_fires where project_id = $1 and schedule_id = $2)',
  },
  {
    worker: 'schedule dispatcher',
    intervalS: 1,
    prepare: ({ makeSchedule }) => makeSchedule(),
    leave: queueFire('now()'),
    found: DONE.fire,
  },
  {
    worker: 'channel dispatcher',
    intervalS: 1,
    prepare: ({ makeAnsweredChat }) => makeAnsweredChat(),
    leave: queueMessage('now()'),
    found: DONE.message,
  },
  {
    worker: 'channel sender',
    intervalS: 1,
    prepare: ({ makeAnsweredChat }) => makeAnsweredChat(),
    leave: queuePart('now()'),
    found: DONE.part,
  },
  {
    worker: 'channel answers',
    intervalS: 3,
    prepare: ({ makeAnsweredChat }) => makeAnsweredChat(),
    leave: `
      with gone as (
        delete from channel_parts where project_id = $1 and answer_id in (select id ${ANSWER})
      )
      update channel_answers set state = 'open', segments = 0, settled_at = null where project_id = $1 and chat_id = $2`,
    found: `(select state <> 'open' ${ANSWER})`,
  },
  {
    worker: 'webhook dispatcher',
    intervalS: 1,
    prepare: ({ makeDelivery }) => makeDelivery(),
    leave: `update webhook_deliveries set status = 'pending', next_attempt_at = now() where project_id = $1 and id = $2`,
    found: DONE.delivery,
  },
  rewoundFollower('webhook fan-out', 'webhooks'),
  rewoundFollower('event sealer', 'chain'),
  {
    worker: 'leave pauses',
    intervalS: 2,
    prepare: ({ makeQuestion }) => makeQuestion(),
    leave: 'update approvals set expires_at = now() where project_id = $1 and run_id = $2',
    found: DONE.question,
  },
  {
    // One transaction leaves a job and the rows that it is about: the tables of the job queue itself are not counted.
    worker: 'jobs that are ready',
    intervalS: 2,
    prepare: async ({ server }) => [(await server.createProject()).projectId, randomUUID()],
    leave: `
      with about as (update projects set name = name where id = $1 returning id)
      insert into jobs.job (id, name) select $2::uuid, 'sweep-idempotency-keys' from about`,
    found: `exists (select from projects join jobs.job on job.id = $2::uuid and job.state = 'completed' where projects.id = $1)`,
  },
  {
    worker: 'budgets',
    intervalS: 15,
    async prepare({ server }) {
      const { projectId, post } = await server.createProject();
      const { body: budget } = await post('/v1/budgets', { scope: 'tenant', limit: 1, action: 'block' });
      await server.db.query({
        text: `
          with held as (
            update budget_periods set reserved_micros = 500 where project_id = $1 and budget_id = $2 returning *
          )
          insert into budget_reservations (project_id, holder, budget_id, period_key, amount_micros, expires_at)
          select project_id, 'run_dead', budget_id, period_key, 500, now() + interval '1 day' from held`,
        values: [projectId, budget.id],
      });
      return [projectId, budget.id];
    },
    leave: 'update budget_reservations set expires_at = now() where project_id = $1 and budget_id = $2',
    found: '(select reserved_micros = 0 from budget_periods where project_id = $1 and budget_id = $2)',
    look: 'from budget_reservations where expires_at <= now()',
  },
  {
    worker: 'end suspended calls',
    intervalS: 2,
    prepare: async ({ server }) => [(await server.createProject()).projectId],
    leave: `
      insert into mcp_suspended_calls (project_id, run_id, call_id, smith_id, server_id, revision, sealed_session)
      values ($1, 'run_gone', 'call_1', 'smith_1', 'server_1', 1, '')`,
    found: 'not exists (select from mcp_suspended_calls where project_id = $1)',
    look: 'update mcp_suspended_calls',
  },
  {
    worker: 'wallet payments',
    intervalS: 2,
    prepare: ({ makePaidPage }) => makePaidPage(),
    leave: 'update wallet_payments set next_look_at = now() where organization_id = $1 and id = $2',
    found: DONE.payment,
    look: 'update wallet_payments',
  },
  {
    worker: 'telegram accounts',
    intervalS: 5,
    async prepare({ server }) {
      const { projectId } = await server.createProject();
      const settings = { webhook_url: '', polled_by: 'dead', polled_until: '2999-01-01T00:00:00Z' };
      await server.db.query({
        text: `
          insert into channel_accounts (project_id, kind, account_id, settings, sealed_secrets, secret_keys)
          values ($1, 'telegram', $1, $2, '', '{}')`,
        values: [projectId, JSON.stringify(settings)],
      });
      return [projectId];
    },
    leave: `
      update channel_accounts set settings = settings || '{"polled_until":"2000-01-01T00:00:00Z"}' where project_id = $1`,
    found: `(select settings ->> 'polled_by' <> 'dead' from channel_accounts where project_id = $1)`,
    look: 'update channel_accounts',
  },
];

function rewoundFollower(worker: string, name: string): Case {
  return {
    worker,
    intervalS: 5,
    prepare: async () => [name],
    leave: `update feed_followers set cursor = '0/' where name = $1`,
    found: `(select cursor <> '0/' from feed_followers where name = $1)`,
  };
}

const skip = testServerUrl() === undefined ? 'set IRONCRAFT_TEST_DATABASE_URL to run these' : false;

describe('a server that rests', { skip }, () => {
  let work: QuietWork;
  before(async () => {
    work = await startQuietWork();
  });
  after(() => work.close());

  for (const { worker, intervalS, prepare, leave, found, look } of CASES) {
    const withinS = ASKED_EACH_S + intervalS + SLACK_S;
    test(`the worker "${worker}" finds within ${withinS} seconds what is left without a word`, async () => {
      const { store } = work;
      const values = await prepare(work);
      await store.rest();
      if (look !== undefined) await store.passUntilSent(look);
      await store.changeSilently(leave, values);
      assert.equal(await store.isTrue(found, values), false, 'before any time has passed');
      await store.pass(withinS);
      // The worker has found it by now. What it does may take real time.
      await eventually(async () => (await store.isTrue(found, values)) || undefined, `${worker} finds it`);
    });
  }
});
