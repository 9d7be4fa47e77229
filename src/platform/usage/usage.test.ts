import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../test/support/platform.ts';
import { clientTool, makeSmith, makeUpstreamSmith, useUpstream } from '../../../test/support/turns.ts';
import { auditUsage, recordUsage } from './index.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

/** Has a list price. */
const MODEL = 'openai/gpt-4o-mini';
const USAGE = { promptTokens: 1_000, completionTokens: 200, cachedTokens: 400, reasoningTokens: 50 };

async function makeProject() {
  const project = await platform.createProject();
  await project.put('/v1/tenant/model_keys/openai', { api_key: 'sk-test', base_url: upstream.url });
  return project;
}

async function readDays(projectId: string) {
  const { rows } = await platform.db.query({
    text: 'select * from usage_daily where project_id = $1 order by source, model, meter, smith_id',
    values: [projectId],
  });
  return rows;
}

/** Of this file's projects: others share the database. */
async function findDifferences(projectId: string) {
  return (await auditUsage(platform.db)).filter((difference) => difference.project_id === projectId);
}

test('a turn counts by day, with cached and reasoning tokens and its smith’s customer', async () => {
  const project = await makeProject();
  const customer = await project.post('/v1/customers', { name: 'Acme' });
  const smithId = await project.createSmith({ model: MODEL, customer_id: customer.body.id });
  upstream.respondWith({ type: 'answer', deltas: ['Hi'], usage: USAGE });
  for (let turn = 0; turn < 2; turn += 1) {
    const run = await project.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content: 'Hello' }] });
    assert.equal(run.status, 201, run.text);
    const { usage } = run.body;
    assert.deepEqual(
      [usage.input_tokens, usage.cached_input_tokens, usage.output_tokens, usage.reasoning_tokens],
      [1_000, 400, 200, 50],
    );
  }
  const [day, ...more] = await readDays(project.projectId);
  assert.equal(more.length, 0);
  assert.ok(day !== undefined && Number(day.cost_micros) > 0);
  assert.deepEqual(
    [day.source, day.model, day.smith_id, day.customer_id, day.calls, day.unpriced_calls],
    ['turn', MODEL, smithId, customer.body.id, 2, 0],
  );
  assert.deepEqual(
    [day.input_tokens, day.cached_input_tokens, day.output_tokens, day.reasoning_tokens],
    [2_000, 800, 400, 100],
  );
  assert.deepEqual(await findDifferences(project.projectId), []);
});

test('the dialect shows cached and reasoning tokens', async () => {
  const project = await makeProject();
  const smithId = await project.createSmith({ model: MODEL });
  upstream.respondWith({ type: 'answer', deltas: ['Hi'], usage: USAGE });
  const headers = { 'ic-smith-id': smithId };
  const chat = await project.post(
    '/v1/chat/completions',
    { model: MODEL, messages: [{ role: 'user', content: 'Hello' }] },
    headers,
  );
  assert.deepEqual(chat.body.usage, {
    prompt_tokens: 1_000,
    completion_tokens: 200,
    total_tokens: 1_200,
    prompt_tokens_details: { cached_tokens: 400 },
    completion_tokens_details: { reasoning_tokens: 50 },
  });
  const response = await project.post('/v1/responses', { model: MODEL, input: 'Hello' }, headers);
  assert.deepEqual(response.body.usage, {
    input_tokens: 1_000,
    input_tokens_details: { cached_tokens: 400 },
    output_tokens: 200,
    output_tokens_details: { reasoning_tokens: 50 },
    total_tokens: 1_200,
  });
});

/** About 1,000 tokens of arguments. */
const LONG_CALL = { name: 'save', arguments: JSON.stringify({ text: 'many words '.repeat(500) }) };

test('what a provider does not count is estimated: the thoughts and the arguments of calls as well as the text', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const tools = [clientTool('save')];
  const outputOf = async (answer: Omit<Parameters<typeof upstream.respondWith>[0] & object, 'type'>) => {
    upstream.respondWith({ type: 'answer', ...answer });
    const { body } = await smith.ask('Save it', { tools });
    return body.usage.output_tokens;
  };
  assert.ok((await outputOf({ toolCalls: [LONG_CALL] })) > 500);
  assert.ok((await outputOf({ reasoning: ['Many words '.repeat(500)], deltas: ['Hi'] })) > 500);
});

for (const type of ['reset', 'end'] as const) {
  test(`a call that breaks off (${type}) in the arguments of a tool counts those that had come`, async () => {
    const smith = await makeSmith(platform, { model: MODEL });
    await useUpstream(smith.project, upstream, 'openai');
    upstream.respondWith({ type: 'answer', toolCalls: [LONG_CALL], fault: { afterChunks: 1, type } });
    const runId = await smith.begin('Save it', { tools: [clientTool('save')] });
    const run = await smith.settled(runId);
    assert.equal(run.status, 'failed');
    assert.ok(run.usage.output_tokens > 250, `${run.usage.output_tokens} tokens`);
    assert.ok(run.usage.output_tokens < 1_000, `${run.usage.output_tokens} tokens`);
    assert.deepEqual(await findDifferences(smith.project.projectId), []);
  });
}

test('a call that breaks off counts the tools that it was asked with', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const tools = [clientTool('save', { description: 'many words '.repeat(200) })];
  upstream.respondWith({ type: 'answer', deltas: ['Hello', ' there'] });
  const { body: whole } = await smith.ask('Hi', { tools });
  upstream.respondWith({ type: 'answer', deltas: ['Hello', ' there'], fault: { afterChunks: 1, type: 'reset' } });
  const cut = await smith.settled(await smith.begin('Hi', { tools }));
  assert.deepEqual([whole.status, cut.status], ['completed', 'failed']);
  assert.equal(cut.usage.input_tokens, whole.usage.input_tokens);
});

test('a summary of a thread is estimated where the provider does not count', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const inThread = { thread_id: 'main' };
  upstream.respondWith({ type: 'answer', deltas: ['Noted'] });
  for (let turn = 1; turn <= 4; turn += 1) await smith.ask(`Turn ${turn} ${'many words '.repeat(9_000)}`, inThread);
  upstream.respondWith([
    { type: 'context_length_exceeded' },
    { type: 'answer', deltas: ['They spoke', ' of many words'] },
    { type: 'answer', deltas: ['Done'] },
  ]);
  const { body } = await smith.ask('Turn 5', inThread);
  assert.equal(body.output?.content, 'Done', JSON.stringify(body.error));
  const { rows } = await platform.db.query<{ input_tokens: number; output_tokens: number }>({
    text: `select input_tokens, output_tokens from run_steps where project_id = $1 and run_id = $2 and kind = 'compaction'`,
    values: [smith.project.projectId, body.id],
  });
  const [summary] = rows;
  assert.ok(summary !== undefined && summary.input_tokens > 1_000 && summary.output_tokens > 3, JSON.stringify(rows));
});

test('entries that are recorded at once are summed, and one that comes again changes nothing', async () => {
  const project = await makeProject();
  const smithId = await project.createSmith();
  const at = new Date('2026-03-01T23:59:59.999Z');
  const entry = {
    id: 'span_1',
    source: 'external',
    model: 'openai/x',
    appId: 'app',
    at,
    calls: 1,
    inputTokens: 5,
  } as const;
  const first = await recordUsage(platform.db, project.projectId, [
    entry,
    { ...entry, id: 'span_2', costMicros: null },
    { source: 'meter', meter: 'pages', quantity: 0.1, smithId },
    { source: 'meter', meter: 'pages', quantity: 0.2, smithId },
  ]);
  assert.equal(first.length, 4);
  assert.deepEqual(await recordUsage(platform.db, project.projectId, [entry]), []);
  const days = await readDays(project.projectId);
  assert.deepEqual(
    days.map(({ source, day, calls, unpriced_calls, input_tokens, quantity, smith_id, app_id }) => ({
      source,
      day: source === 'external' ? day : undefined,
      calls,
      unpriced_calls,
      input_tokens,
      quantity,
      smith_id,
      app_id,
    })),
    [
      {
        source: 'external',
        day: '2026-03-01',
        calls: 2,
        unpriced_calls: 1,
        input_tokens: 10,
        quantity: '0',
        smith_id: '',
        app_id: 'app',
      },
      {
        source: 'meter',
        day: undefined,
        calls: 0,
        unpriced_calls: 0,
        input_tokens: 0,
        quantity: '0.3',
        smith_id: smithId,
        app_id: '',
      },
    ],
  );
  assert.deepEqual(await findDifferences(project.projectId), []);
});

test('a sum that lacks a row, or has one too many, is found', async () => {
  const project = await makeProject();
  await recordUsage(platform.db, project.projectId, [{ source: 'meter', meter: 'pages', quantity: 1 }]);
  await platform.db.query({
    text: 'update usage_daily set quantity = 2 where project_id = $1',
    values: [project.projectId],
  });
  assert.equal((await findDifferences(project.projectId)).length, 1);
  await platform.db.query({ text: 'delete from usage_daily where project_id = $1', values: [project.projectId] });
  assert.equal((await findDifferences(project.projectId)).length, 1);
});
