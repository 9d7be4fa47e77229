/** What the statement that starts a turn reserves for its first model call. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { startPlatform, type TestProject } from '../../../test/support/platform.ts';
import { useUpstream } from '../../../test/support/turns.ts';
import { priceWorstCase } from './reserve.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform({ budgetWaitMs: 100 });
after(async () => {
  await platform.close();
  await upstream.close();
});

const MODEL = 'openai/gpt-4o-mini';
const ANSWER_TOKENS = 500;
/** More than is taken for the definition of a tool that is not known yet. */
const LONG_DESCRIPTION = 'Looks up what is known of the place. '.repeat(200);
const PLENTY = 100;

async function makeProject(): Promise<TestProject> {
  const project = await platform.createProject();
  await useUpstream(project, upstream, 'openai');
  return project;
}

function complete(project: TestProject, smithId: string, more: object = {}) {
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = { model: MODEL, messages, max_tokens: ANSWER_TOKENS, ...more };
  return project.post('/v1/chat/completions', body, { 'ic-smith-id': smithId });
}

async function readReserved(project: TestProject): Promise<number[]> {
  const { rows } = await platform.db.query<{ reserved_micros: number }>({
    text: 'select reserved_micros from budget_periods where project_id = $1 order by budget_id',
    values: [project.projectId],
  });
  return rows.map(({ reserved_micros }) => reserved_micros);
}

async function countReservations(project: TestProject): Promise<number> {
  const { rows } = await platform.db.query<{ count: number }>({
    text: 'select count(*)::int as count from budget_reservations where project_id = $1',
    values: [project.projectId],
  });
  return rows[0]?.count ?? Number.NaN;
}

/** What is reserved while the model is asked. */
async function reservedDuring(project: TestProject, ask: () => Promise<{ readonly status: number }>) {
  const asked = upstream.requests.length;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith({ type: 'answer', deltas: ['Hi'], held });
  const answered = ask();
  await upstream.waitForRequests(asked + 1);
  const reserved = await readReserved(project);
  release();
  assert.equal((await answered).status, 200);
  return reserved;
}

test('is at least what the call may cost, and is given back', async () => {
  const project = await makeProject();
  const smithId = await project.createSmith({ model: MODEL });
  await project.post('/v1/budgets', { scope: 'tenant', limit: PLENTY, action: 'block' });
  const plain = await reservedDuring(project, () => complete(project, smithId));
  const answer = priceWorstCase(MODEL, 0, ANSWER_TOKENS);
  assert.ok(plain[0] !== undefined && plain[0] > answer && plain[0] < 2 * answer, String(plain));
  assert.deepEqual(await readReserved(project), [0]);

  const description = LONG_DESCRIPTION;
  const tools = [{ type: 'function', function: { name: 'look_up', description, parameters: { type: 'object' } } }];
  const withTool = await reservedDuring(project, () => complete(project, smithId, { tools }));
  const definition = priceWorstCase(MODEL, LONG_DESCRIPTION.length / 5, 0);
  assert.ok((withTool[0] ?? 0) > answer + definition, `${withTool}: what the tool's definition takes is reserved too`);
  assert.deepEqual(await readReserved(project), [0]);
  assert.equal(await countReservations(project), 0);
});

test('counts what the thread holds', async () => {
  const project = await makeProject();
  const smithId = await project.createSmith({ model: MODEL });
  await project.post('/v1/budgets', { scope: 'tenant', limit: PLENTY, action: 'block' });
  const body = { model: MODEL, input: LONG_DESCRIPTION.repeat(10), max_output_tokens: ANSWER_TOKENS };
  const first = await project.post('/v1/responses', body, { 'ic-smith-id': smithId });
  assert.equal(first.status, 200, first.text);
  const next = { ...body, input: 'Go on', previous_response_id: first.body.id };
  const reserved = await reservedDuring(project, () => project.post('/v1/responses', next, { 'ic-smith-id': smithId }));
  const history = priceWorstCase(MODEL, (LONG_DESCRIPTION.length * 10) / 7, 0);
  assert.ok((reserved[0] ?? 0) > history + priceWorstCase(MODEL, 0, ANSWER_TOKENS), String(reserved));
});

test('is nothing of one budget while another has no room', async () => {
  const project = await makeProject();
  const smithId = await project.createSmith({ model: MODEL });
  await project.post('/v1/budgets', { scope: 'tenant', limit: PLENTY, action: 'block' });
  const { body: full } = await project.post('/v1/budgets', {
    scope: 'smith',
    scope_id: smithId,
    limit: 1,
    action: 'block',
  });
  assert.equal((await complete(project, smithId)).status, 200);
  const change = 'update budget_periods set reserved_micros = $3 where project_id = $1 and budget_id = $2';
  await platform.db.query({ text: change, values: [project.projectId, full.id, 1_000_000] });
  const refused = await complete(project, smithId);
  assert.equal(refused.status, 402, refused.text);
  assert.equal(refused.body.error.code, 'budget_exceeded');
  assert.equal(await countReservations(project), 0);
  await platform.db.query({ text: change, values: [project.projectId, full.id, 0] });
  assert.equal((await complete(project, smithId)).status, 200);
  assert.deepEqual(await readReserved(project), [0, 0]);
});

test('does not outlive a turn whose model is never asked', async () => {
  const project = await makeProject();
  const smithId = await project.createSmith({ model: MODEL });
  await project.post('/v1/budgets', { scope: 'tenant', limit: PLENTY, action: 'block' });
  upstream.respondWith({ type: 'status', status: 401 });
  assert.ok((await complete(project, smithId)).status >= 400);
  assert.equal(await countReservations(project), 0);
  assert.deepEqual(await readReserved(project), [0]);
  upstream.respondWith({ type: 'answer', deltas: ['Hi'] });
});
