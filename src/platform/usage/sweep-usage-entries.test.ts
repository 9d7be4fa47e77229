import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform, type TestProject } from '../../../test/support/platform.ts';
import { settleBudgets } from '../budgets/watch-budgets.ts';
import { auditUsage, recordUsage } from './index.ts';
import { sweepUsageEntries } from './sweep-usage-entries.ts';

const platform = await startPlatform();
const { db } = platform;
after(() => platform.close());

const signal = new AbortController().signal;
const DAY_MS = 86_400_000;

/** As what was recorded so many days ago, and counted then. */
async function recordAt(project: TestProject, days: number, meter: string, quantity: number): Promise<void> {
  const at = new Date(Date.now() - days * DAY_MS);
  const ids = await recordUsage(db, project.projectId, [
    { source: 'meter', meter, quantity, at },
    { source: 'embedding', model: 'openai/text-embedding-3-small', calls: 1, costMicros: 7, at },
  ]);
  await db.query({
    text: 'update usage_entries set created_at = $3 where project_id = $1 and id = any($2)',
    values: [project.projectId, ids, at],
  });
}

async function report(project: TestProject) {
  const day = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
  const spans = [`from=${day(360)}`, `from=${day(700)}&to=${day(361)}`];
  const usage = await Promise.all(spans.map((span) => project.get(`/v1/usage?group_by=day,meter,model&${span}`)));
  return usage.map(({ body }) => body.data);
}

test('old entries go in small batches; sums, budgets and the list of what is left stay', async () => {
  const project = await platform.createProject();
  const budget = await project.post('/v1/budgets', { scope: 'tenant', limit: 5, period: 'total' });
  for (let n = 0; n < 5; n += 1) await recordAt(project, 401 + n, 'old', 1);
  await recordAt(project, 399, 'young', 2);
  await recordAt(project, 0, 'new', 4);
  const status = async () => (await project.get(`/v1/budgets/${budget.body.id}/status`)).body;
  const before = [await report(project), await status()];
  assert.equal(await sweepUsageEntries(db, { keptDays: 0 }, signal), 0);
  assert.equal(await sweepUsageEntries(db, { keptDays: 400, batchSize: 3 }, signal), 10);
  assert.equal(await sweepUsageEntries(db, { keptDays: 400, batchSize: 3 }, signal), 0);
  await settleBudgets(db, signal);
  assert.deepEqual([await report(project), await status()], before);
  const { data } = (await project.get('/v1/usage/events')).body;
  assert.deepEqual(data.map(({ meter }: { meter: string }) => meter).sort(), ['new', 'young']);
  const since = new Date(Date.now() - 400 * DAY_MS).toISOString().slice(0, 10);
  const differences = await auditUsage(db, { since });
  assert.deepEqual(
    differences.filter(({ project_id }) => project_id === project.projectId),
    [],
  );
});

test('a span of long ago that is pushed today is kept: its id is what counts it once', async () => {
  const project = await platform.createProject();
  const at = new Date(Date.now() - 1_000 * DAY_MS);
  const entry = { id: 'span_old', source: 'external', calls: 1, inputTokens: 5, at } as const;
  await recordUsage(db, project.projectId, [entry]);
  await sweepUsageEntries(db, { keptDays: 400 }, signal);
  assert.deepEqual(await recordUsage(db, project.projectId, [entry]), []);
});

test('a sweep that is told to stop begins no further batch', async () => {
  const project = await platform.createProject();
  for (let n = 0; n < 3; n += 1) await recordAt(project, 500, 'old', 1);
  const over = AbortSignal.abort();
  assert.equal(await sweepUsageEntries(db, { keptDays: 400, batchSize: 2 }, over), 0);
  assert.ok((await sweepUsageEntries(db, { keptDays: 400, batchSize: 2 }, signal)) >= 6);
});
