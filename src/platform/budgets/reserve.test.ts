/** Turns side by side at the edge of budgets: they pass a limit by no more than one of them, and use what there is. The soak has more races. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { testBudgetRaces } from '../../../test/faults/budget-races.ts';
import { startPlatform } from '../../../test/support/platform.ts';
import { eventually, question } from '../../../test/support/turns.ts';
import { TenantTransaction } from '../store/tenant-db.ts';
import { removeBudget } from './budget-store.ts';
import { releaseBudgets, releaseExpired } from './reserve.ts';

testBudgetRaces(4, 12, [0.5]);

const platform = await startPlatform();
after(() => platform.close());

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

test('an attempt gives nothing back once another replica has taken its turn over', async () => {
  const { db } = platform;
  const { projectId, post } = await platform.createProject();
  const { body: budget } = await post('/v1/budgets', { scope: 'tenant', limit: 1, action: 'block' });
  const { body: smith } = await post('/v1/smiths', { model: 'builtin/demo' });
  const { body: run } = await post(`/v1/smiths/${smith.id}/runs`, question('Hello'));
  const reserve = {
    text: `
      with taken_over as (update runs set status = 'in_progress', attempt = 2 where id = $2),
        held as (update budget_periods set reserved_micros = 500 where budget_id = $1 returning *)
      insert into budget_reservations (project_id, holder, budget_id, period_key, amount_micros, expires_at)
      select project_id, $2, budget_id, period_key, 500, now() + interval '1 hour' from held`,
    values: [budget.id, run.id],
  };
  await db.query(reserve);
  const left: number[] = [];
  for (const attempt of [1, 2]) {
    await releaseBudgets(db, { projectId, holder: run.id, attempt });
    const { rows } = await db.query<{ reserved_micros: number }>({
      text: 'select reserved_micros from budget_periods where budget_id = $1',
      values: [budget.id],
    });
    left.push(...rows.map(({ reserved_micros: micros }) => micros));
  }
  await db.query({ text: `update runs set status = 'completed' where id = $1`, values: [run.id] });
  assert.deepEqual(left, [500, 0]);
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
