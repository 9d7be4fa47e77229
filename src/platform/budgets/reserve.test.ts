/** Turns side by side at the edge of budgets: they pass a limit by no more than one of them, and use what there is. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../test/support/platform.ts';
import { eventually, question, useUpstream } from '../../../test/support/turns.ts';
import { TenantTransaction } from '../store/tenant-db.ts';
import { auditUsage } from '../usage/index.ts';
import { removeBudget } from './budget-store.ts';
import { releaseBudgets, releaseExpired } from './reserve.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform({ budgetWaitMs: 60_000 });
after(async () => {
  await platform.close();
  await upstream.close();
});

const MODEL = 'openai/gpt-4o-mini';
const COST = 0.006;
const TURNS = 6;
/** The embedded store runs one statement at a time: there is less to race. IRONCRAFT_FAULT_RACES=200 is the full size. */
const RACES = Number(process.env.IRONCRAFT_FAULT_RACES ?? (platform.db.kind === 'server' ? 60 : 30));
const AT_ONCE = 5;

/** A project whose turns cost COST each, with budgets of its own and of a customer. */
async function race(number: number, turns = TURNS): Promise<void> {
  const project = await platform.createProject();
  await useUpstream(project, upstream, 'openai');
  // From nothing to more than the turns cost, at every place between.
  const limit = Math.round(((number % 17) / 17) * (turns + 1) * COST * 1e6) / 1e6;
  const customer = (await project.post('/v1/customers', { name: 'Acme' })).body.id;
  const budgets = [
    { scope: 'tenant', limit, action: 'block', period: 'total' },
    { scope: 'customer', scope_id: customer, limit: limit * 2, action: 'block' },
  ];
  const created = await Promise.all(budgets.map((budget) => project.post('/v1/budgets', budget)));
  const smiths = await Promise.all(
    Array.from({ length: turns }, () => project.createSmith({ model: MODEL, customer_id: customer })),
  );
  const answers = await Promise.all(
    smiths.map((id, index) =>
      index % 2 === 0
        ? project.post(`/v1/smiths/${id}/runs`, question('Hello'))
        : project.post('/v1/responses', { input: 'Hello' }, { 'ic-smith-id': id }),
    ),
  );
  const completed = answers.filter(({ body }) => body.status === 'completed').length;
  for (const { status, body, text } of answers) {
    assert.ok(body.status === 'completed' || text.includes('budget_exceeded'), `${status}: ${text}`);
  }
  const { spent } = (await project.get(`/v1/budgets/${created[0]?.body.id}/status`)).body;
  const about = `race ${number}: ${spent} spent of ${limit} by ${completed} turns`;
  assert.equal(Math.round(spent * 1e6), Math.round(completed * COST * 1e6), about);
  assert.ok(spent < limit + COST, `${about}: more than one turn beyond the limit`);
  assert.ok(spent >= limit || completed === turns, `${about}: a turn was refused though there was room`);
  const { rows } = await platform.db.query({
    text: 'select reserved_micros from budget_periods where project_id = $1 and reserved_micros <> 0',
    values: [project.projectId],
  });
  assert.deepEqual(rows, [], `${about}: something stays reserved`);
}

test(`${RACES} races of ${TURNS} turns`, { timeout: 600_000 }, async () => {
  upstream.respondWith({ type: 'answer', deltas: ['Hi'], usage: { promptTokens: 20, completionTokens: 9_995 } });
  let next = 0;
  const racer = async () => {
    for (let number = next++; number < RACES; number = next++) await race(number);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, racer));
  assert.deepEqual(await auditUsage(platform.db), []);
});

test('a race of fifty turns, with room for some of them', { timeout: 600_000 }, async () => {
  upstream.respondWith({ type: 'answer', deltas: ['Hi'], usage: { promptTokens: 20, completionTokens: 9_995 } });
  for (const number of [1, 9]) await race(number, 50);
});

test('a reservation that a crash has left is let go once it expires', async () => {
  const project = await platform.createProject();
  const { body: budget } = await project.post('/v1/budgets', { scope: 'tenant', limit: 1, action: 'block' });
  await platform.db.query({
    text: `
      insert into budget_reservations (project_id, holder, budget_id, period_key, amount_micros, expires_at)
      select project_id, 'run_1', budget_id, period_key, 500, now() - interval '1 second' from budget_periods where budget_id = $1
      union all
      select project_id, 'run_2', budget_id, period_key, 300, now() + interval '1 hour' from budget_periods where budget_id = $1`,
    values: [budget.id],
  });
  await platform.db.query({
    text: 'update budget_periods set reserved_micros = 800 where budget_id = $1',
    values: [budget.id],
  });
  await releaseExpired(platform.db);
  const { rows } = await platform.db.query({
    text: 'select reserved_micros, spent_micros from budget_periods where budget_id = $1',
    values: [budget.id],
  });
  assert.deepEqual(rows, [{ reserved_micros: 300, spent_micros: 0 }]);
});

test('a budget that is removed while a call gives back what it had reserved of it is in nobody’s way', async (t) => {
  if (platform.db.kind === 'embedded') return t.skip('it runs one statement at a time');
  const { db } = platform;
  const { projectId, post } = await platform.createProject();
  const { body: budget } = await post('/v1/budgets', { scope: 'tenant', limit: 1, action: 'block' });
  await db.query({
    text: `
      with held as (update budget_periods set reserved_micros = 500 where budget_id = $1 returning *)
      insert into budget_reservations (project_id, holder, budget_id, period_key, amount_micros, expires_at)
      select project_id, 'run_1', budget_id, period_key, 500, now() + interval '1 hour' from held`,
    values: [budget.id],
  });
  const waiting = (count: number) =>
    eventually(async () => {
      const { rowCount } = await db.query({
        text: `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        values: [],
      });
      return rowCount === count ? true : undefined;
    }, `${count} wait for the period`);
  const held = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  const holding = db.transaction(async (tx) => {
    await tx.query({ text: 'select from budget_periods where budget_id = $1 for update', values: [budget.id] });
    held.resolve();
    await letGo.promise;
  });
  await held.promise;
  const removing = db.transaction((tx) => removeBudget(new TenantTransaction(tx, projectId), budget.id));
  await waiting(1);
  const releasing = releaseBudgets(db, { projectId, holder: 'run_1' });
  await waiting(2);
  letGo.resolve();
  const ends = await Promise.allSettled([holding, removing, releasing]);
  assert.deepEqual(
    ends.filter(({ status }) => status === 'rejected'),
    [],
  );
});
