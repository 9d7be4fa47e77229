/** Turns side by side at the edge of budgets: they pass a limit by no more than one of them, and use what there is. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { auditUsage } from '../../src/platform/usage/index.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { startPlatform, type TestPlatform } from '../support/platform.ts';
import { question, useUpstream } from '../support/turns.ts';

const MODEL = 'openai/gpt-4o-mini';
const COST = 0.006;
const TURNS = 6;
const AT_ONCE = 5;
const TIMEOUT_MS = 600_000;

let platform: TestPlatform;
let upstream: OpenAiUpstream;

/** Declares tests of so many races of few turns, and of of races of many turns, whose limits have these places between nothing and enough for all. */
export function testBudgetRaces(races: number, manyTurns: number, places: readonly number[]): void {
  before(async () => {
    upstream = await startOpenAiUpstream();
    upstream.respondWith({ type: 'answer', deltas: ['Hi'], usage: { promptTokens: 20, completionTokens: 9_995 } });
    platform = await startPlatform({ budgetWaitMs: 60_000 });
  });
  after(async () => {
    await platform.close();
    await upstream.close();
  });

  test(`${races} races of ${TURNS} turns pass no budget by more than one turn`, { timeout: TIMEOUT_MS }, async () => {
    let next = 0;
    const racer = async () => {
      for (let number = next++; number < races; number = next++) await race(number / races);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, racer));
    assert.deepEqual(await auditUsage(platform.db), []);
  });

  test(`a race of ${manyTurns} turns passes no budget by more than one turn`, { timeout: TIMEOUT_MS }, async () => {
    for (const place of places) await race(place, manyTurns);
    assert.deepEqual(await auditUsage(platform.db), []);
  });
}

/** A project whose turns cost COST each, with budgets of its own and of a customer. */
async function race(place: number, turns = TURNS): Promise<void> {
  const project = await platform.createProject();
  await useUpstream(project, upstream, 'openai');
  // From nothing (0) to more than the turns cost (1).
  const limit = Math.round(place * (turns + 1) * COST * 1e6) / 1e6;
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
  const about = `race at ${place}: ${spent} spent of ${limit} by ${completed} turns`;
  assert.equal(Math.round(spent * 1e6), Math.round(completed * COST * 1e6), about);
  assert.ok(spent < limit + COST, `${about}: more than one turn beyond the limit`);
  assert.ok(spent >= limit || completed === turns, `${about}: a turn was refused though there was room`);
  const { rows } = await platform.db.query({
    text: 'select reserved_micros from budget_periods where project_id = $1 and reserved_micros <> 0',
    values: [project.projectId],
  });
  assert.deepEqual(rows, [], `${about}: something stays reserved`);
}
