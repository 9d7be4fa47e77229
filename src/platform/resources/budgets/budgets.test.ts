import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { createClient, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually, makeSmith, question, useUpstream } from '../../../../test/support/turns.ts';
import { today, withinOneDay } from '../../../../test/support/within-one-day.ts';
import { settleBudgets } from '../../budgets/watch-budgets.ts';
import { auditUsage, recordUsage } from '../../usage/index.ts';

const upstream = await startOpenAiUpstream();
/** A call that others keep from reserving is refused at once enough to see it. */
const WAIT_MS = 400;
const platform = await startPlatform({ budgetWaitMs: WAIT_MS });
after(async () => {
  await platform.close();
  await upstream.close();
});

/** Has a list price: 0.15 and 0.60 US dollars a million tokens. */
const MODEL = 'openai/gpt-4o-mini';
/** 0.006 US dollars. */
const ANSWER = { type: 'answer', deltas: ['Hi'], usage: { promptTokens: 20_000, completionTokens: 5_000 } } as const;
const COST = 0.006;

type Body = Record<string, unknown>;

async function makeProject(): Promise<TestProject> {
  const project = await platform.createProject();
  await useUpstream(project, upstream, 'openai');
  return project;
}

async function createBudget(project: TestProject, body: Body): Promise<string> {
  const answer = await project.post('/v1/budgets', { scope: 'tenant', ...body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

async function statusOf(project: TestProject, id: string) {
  const answer = await project.get(`/v1/budgets/${id}/status`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

/** Spends so many US dollars in the project, as an embedding would. */
function spend(project: TestProject, dollars: number, smithId: string | null = null) {
  const costMicros = Math.round(dollars * 1e6);
  return recordUsage(platform.db, project.projectId, [
    { source: 'embedding', model: 'm', calls: 1, costMicros, smithId },
  ]);
}

async function readThresholds(project: TestProject) {
  const { body } = await project.get('/v1/events?type=budget.threshold');
  return body.data.map(({ data }: { data: unknown }) => data).reverse();
}

async function countOf(project: TestProject, table: string): Promise<number> {
  const { rows } = await platform.db.query<{ count: number }>({
    text: `select count(*) as count from ${table} where project_id = $1`,
    values: [project.projectId],
  });
  return rows[0]?.count ?? 0;
}

describe('a budget', () => {
  test('is created, read, changed and deleted', async () => {
    const project = await makeProject();
    const smithId = await project.createSmith();
    const created = await project.post('/v1/budgets', { scope: 'smith', scope_id: smithId, limit: 0.123456 });
    assert.equal(created.status, 201, created.text);
    const { id, created_at, ...rest } = created.body;
    assert.match(id, /^bgt_/);
    assert.ok(created_at);
    assert.deepEqual(rest, {
      scope: 'smith',
      scope_id: smithId,
      period: 'monthly',
      limit: 0.123456,
      currency: 'usd',
      action: 'warn',
    });
    assert.deepEqual((await project.get(`/v1/budgets/${id}`)).body, created.body);
    const changed = await project.patch(`/v1/budgets/${id}`, { limit: 2, action: 'block' });
    assert.deepEqual([changed.body.limit, changed.body.action], [2, 'block']);
    const monthBefore = today().slice(0, 7);
    const status = await statusOf(project, id);
    assert.ok([monthBefore, today().slice(0, 7)].includes(status.period_key), status.period_key);
    assert.equal(status.period_start, `${status.period_key}-01T00:00:00.000Z`);
    assert.deepEqual([status.spent, status.pct, status.over, status.limit], [0, 0, false, 2]);
    assert.equal((await project.delete(`/v1/budgets/${id}`)).status, 204);
    for (const path of [id, `${id}/status`]) assert.equal((await project.get(`/v1/budgets/${path}`)).status, 404);
    for (const table of ['budgets', 'budget_periods']) assert.equal(await countOf(project, table), 0);
  });

  const refusals: readonly (readonly [what: string, body: Body, status: number, code: string, param: string])[] = [
    ['a negative limit', { limit: -1 }, 422, 'invalid_limit', 'limit'],
    ['a limit that is no number', { limit: 'NaN' }, 422, 'invalid_limit', 'limit'],
    ['no limit', { limit: undefined }, 422, 'invalid_limit', 'limit'],
    ['more than a billion', { limit: 1_000_000_000.1 }, 422, 'invalid_limit', 'limit'],
    ['seven decimals', { limit: 0.1234567 }, 422, 'invalid_limit', 'limit'],
    ['an unknown action', { action: 'stop' }, 422, 'invalid_action', 'action'],
    ['an unknown period', { period: 'yearly' }, 422, 'invalid_period', 'period'],
    ['an unknown scope', { scope: 'planet' }, 422, 'invalid_request', 'scope'],
    ['a smith that is not named', { scope: 'smith' }, 422, 'scope_id_required', 'scope_id'],
    ['a customer that is not there', { scope: 'customer', scope_id: 'cus_x' }, 404, 'not_found', 'scope_id'],
    ['a tenant with an id', { scope_id: 'proj_x' }, 422, 'invalid_request', 'scope_id'],
  ];
  for (const [what, body, status, code, param] of refusals) {
    test(`with ${what} is refused`, async () => {
      const project = await platform.createProject();
      const answer = await project.post('/v1/budgets', { scope: 'tenant', limit: 1, ...body });
      assert.deepEqual(
        [answer.status, answer.body.error.code, answer.body.error.param],
        [status, code, param],
        answer.text,
      );
    });
  }

  test('takes limits up to a billion dollars and down to a millionth, exactly', async () => {
    const project = await platform.createProject();
    for (const [period, limit] of [
      ['daily', 1_000_000_000],
      ['weekly', 0.000001],
      ['total', 999_999_999.999999],
    ]) {
      const answer = await project.post('/v1/budgets', { scope: 'tenant', period, limit });
      assert.equal(answer.body.limit, limit, answer.text);
    }
  });

  test('is one for each scope and period', async () => {
    const project = await platform.createProject();
    await createBudget(project, { limit: 1 });
    const again = await project.post('/v1/budgets', { scope: 'tenant', limit: 2 });
    assert.deepEqual([again.status, again.body.error.code], [409, 'budget_exists']);
    await createBudget(project, { limit: 1, period: 'weekly' });
    assert.equal((await project.patch(`/v1/budgets/${'bgt_x'}`, { limit: 1 })).status, 404);
    assert.equal((await project.patch(`/v1/budgets/${'bgt_x'}`, {})).body.error.code, 'nothing_to_update');
  });

  test('counts what its scope used, before it was created too', () =>
    withinOneDay(async () => {
      const project = await makeProject();
      const customer = (await project.post('/v1/customers', { name: 'Acme' })).body.id;
      const smith = await makeSmith(platform, { model: MODEL, customer_id: customer }, project);
      upstream.respondWith(ANSWER);
      await smith.ask('Hello');
      const early = await createBudget(project, { limit: 1 });
      const [own, theirs] = await Promise.all([
        createBudget(project, { scope: 'smith', scope_id: smith.id, limit: 1, period: 'daily' }),
        createBudget(project, { scope: 'customer', scope_id: customer, limit: COST * 4, period: 'weekly' }),
      ]);
      await smith.ask('Hello');
      await spend(project, 1);
      assert.deepEqual(
        [(await statusOf(project, early)).spent, (await statusOf(project, early)).over],
        [1 + 2 * COST, true],
      );
      assert.equal((await statusOf(project, own)).spent, 2 * COST);
      assert.equal((await statusOf(project, theirs)).pct, 50);
      const { body } = await project.get(`/v1/customers/${customer}`);
      assert.deepEqual([body.usage.cost, body.usage.calls, body.smith_count], [2 * COST, 2, 1]);
      assert.deepEqual(
        body.budgets.map(({ id, spent }: { id: string; spent: number }) => [id, spent]),
        [[theirs, 2 * COST]],
      );
      assert.deepEqual(
        (await auditUsage(platform.db)).filter((one) => one.project_id === project.projectId),
        [],
      );
    }));

  test('that was miscounted is mended when it is asked, and every hour', async () => {
    const project = await makeProject();
    const id = await createBudget(project, { limit: 10, period: 'total' });
    await spend(project, 3);
    const spoil = () =>
      platform.db.query({
        text: 'update budget_periods set spent_micros = 1, reserved_micros = 5 where project_id = $1',
        values: [project.projectId],
      });
    const stored = async () =>
      (
        await platform.db.query({
          text: 'select spent_micros, reserved_micros from budget_periods where project_id = $1',
          values: [project.projectId],
        })
      ).rows;
    await spoil();
    assert.equal((await statusOf(project, id)).spent, 3);
    await spoil();
    await settleBudgets(platform.db, new AbortController().signal);
    assert.deepEqual(await stored(), [{ spent_micros: 3_000_000, reserved_micros: 0 }]);
  });
});

describe('budget.threshold', () => {
  test('is told at 80 and at 100, once a period', async () => {
    const project = await makeProject();
    const id = await createBudget(project, { limit: 10, period: 'total' });
    await spend(project, 7.9);
    await spend(project, 0.1);
    await eventually(async () => ((await readThresholds(project)).length === 1 ? true : undefined), '80 % is told');
    await spend(project, 2);
    await eventually(async () => ((await readThresholds(project)).length === 2 ? true : undefined), '100 % is told');
    await project.patch(`/v1/budgets/${id}`, { limit: 100 });
    await spend(project, 95);
    await statusOf(project, id);
    assert.deepEqual(await readThresholds(project), [
      { budget_id: id, tier: 80, spent: 8 },
      { budget_id: id, tier: 100, spent: 10 },
    ]);
  });

  test('tells of both tiers when both are passed at once', async () => {
    const project = await makeProject();
    const id = await createBudget(project, { limit: 1, action: 'block', period: 'total' });
    await spend(project, 2);
    const told = await eventually(async () => {
      const events = await readThresholds(project);
      return events.length > 0 ? events : undefined;
    }, 'both are told');
    assert.deepEqual(told, [
      { budget_id: id, tier: 80, spent: 2 },
      { budget_id: id, tier: 100, spent: 2 },
    ]);
  });
});

describe('a blocking budget that is spent refuses', () => {
  const surfaces: Readonly<Record<string, (project: TestProject, smithId: string) => ReturnType<TestProject['post']>>> =
    {
      'a run': (project, smithId) => project.post(`/v1/smiths/${smithId}/runs`, question('Hello')),
      'a streamed run': (project, smithId) =>
        project.post(`/v1/smiths/${smithId}/runs`, { ...question('Hello'), stream: true }),
      'a chat completion': (project, smithId) =>
        project.post('/v1/chat/completions', { messages: question('Hello').input }, { 'ic-smith-id': smithId }),
      'a response': (project, smithId) => project.post('/v1/responses', { input: 'Hello' }, { 'ic-smith-id': smithId }),
      'an embedding': (project) => project.post('/v1/embeddings', { input: 'Hello' }),
      'a recall': (project, smithId) => project.post(`/v1/smiths/${smithId}/memory/recall`, { query: 'Hello' }),
    };
  for (const [surface, call] of Object.entries(surfaces)) {
    test(surface, async () => {
      const project = await makeProject();
      // The built-in model too: what is spent is spent.
      const smithId = await project.createSmith();
      const id = await createBudget(project, { limit: 0, action: 'block', period: 'total' });
      const refused = await call(project, smithId);
      assert.deepEqual([refused.status, refused.body.error.code], [402, 'budget_exceeded'], refused.text);
      assert.equal(refused.headers.get('retry-after'), null);
      const { details, message } = refused.body.error;
      assert.deepEqual([details.budget_id, details.limit, details.spent, details.reason], [id, 0, 0, 'spent']);
      assert.match(message, new RegExp(`PATCH /v1/budgets/${id}`));
      assert.equal(await countOf(project, 'runs'), 0);
      await project.patch(`/v1/budgets/${id}`, { action: 'warn' });
      const taken = await call(project, smithId);
      assert.ok(taken.status < 300, taken.text);
    });
  }

  test('an end user, who learns that it is spent, and no amounts', async () => {
    const project = await makeProject();
    const smithId = await project.createSmith();
    await createBudget(project, { limit: 0, action: 'block', period: 'total' });
    const smith = project.as(await project.smithToken(smithId, ['runs:write']));
    const refused = await smith.post(`/v1/smiths/${smithId}/runs`, question('Hello'));
    assert.deepEqual([refused.status, refused.body.error.code], [402, 'budget_exceeded'], refused.text);
    assert.deepEqual(refused.body.error.details, { period: 'total', reason: 'spent', resets_at: null });
    assert.match(refused.body.error.message, /is spent\. /);
    assert.doesNotMatch(refused.text, /dollar/);
  });

  test('a search of a vector store, and what is to be indexed', async () => {
    const project = await makeProject();
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['The river rises in the hills.']), 'notes.txt');
    const file = (await project.post('/v1/files', form)).body.id;
    const store = (await project.post('/v1/vector_stores', { name: 'notes', file_ids: [file] })).body.id;
    const path = `/v1/vector_stores/${store}`;
    const settled = (id: string) =>
      eventually(async () => {
        const { body } = await project.get(`${path}/files/${id}`);
        return body.status === 'in_progress' ? undefined : body;
      }, 'the file is settled');
    assert.equal((await settled(file)).status, 'completed');
    const id = await createBudget(project, { limit: 0, action: 'block' });
    const refused = await project.post(`${path}/search`, { query: 'river' });
    assert.deepEqual([refused.status, refused.body.error.code], [402, 'budget_exceeded']);
    const other = (await project.post('/v1/files', form)).body.id;
    assert.equal((await project.post(`${path}/files`, { file_id: other })).status, 200);
    const failed = await settled(other);
    assert.deepEqual([failed.status, failed.last_error.code], ['failed', 'server_error']);
    assert.match(failed.last_error.message, new RegExp(id));
  });

  test('what answers a paused run, which can be answered once there is room', async () => {
    const project = await makeProject();
    const smith = await makeSmith(platform, {}, project);
    const run = (await smith.ask('Call the tool notify with {"to": "Ada"}', { tools: [{ name: 'notify' }] })).body;
    assert.equal(run.status, 'paused');
    const id = await createBudget(project, { limit: 0, action: 'block' });
    const answer = { kind: 'tool_result', tool_call_id: run.output.tool_calls[0].id, result: { ok: true } };
    assert.deepEqual((await smith.submit(run.id, answer)).status, 402);
    assert.equal((await smith.get(run.id)).status, 'paused');
    await project.delete(`/v1/budgets/${id}`);
    assert.equal((await smith.submit(run.id, answer)).status, 200);
    assert.equal((await smith.settled(run.id)).status, 'completed');
  });

  test('the next model call of a turn, which keeps what it did', async () => {
    const project = await makeProject();
    const smith = await makeSmith(platform, { model: MODEL, enabled_hosted_tools: ['current_time'] }, project);
    await createBudget(project, { limit: COST / 2, action: 'block', period: 'total' });
    upstream.respondWith([
      { type: 'answer', toolCalls: [{ name: 'current_time', arguments: '{}' }], usage: ANSWER.usage },
      ANSWER,
    ]);
    const { body: run } = await smith.ask('What time is it?');
    assert.deepEqual([run.status, run.error.code, run.usage.cost], ['failed', 'budget_exceeded', COST]);
    assert.equal(run.output.tool_calls.length, 1);
    assert.equal(await countOf(project, 'budget_reservations'), 0);
  });

  test('other scopes do not refuse', async () => {
    const project = await makeProject();
    const [one, other] = await Promise.all([project.createSmith(), project.createSmith()]);
    await createBudget(project, { scope: 'smith', scope_id: one, limit: 0, action: 'block' });
    await createBudget(project, { limit: 0 });
    assert.equal((await project.post(`/v1/smiths/${one}/runs`, question('Hello'))).status, 402);
    assert.equal((await project.post(`/v1/smiths/${other}/runs`, question('Hello'))).status, 201);
  });
});

describe('what a call reserves', () => {
  test('keeps others out until it is settled', async () => {
    const project = await makeProject();
    const [one, other] = await Promise.all([
      makeSmith(platform, { model: MODEL }, project),
      makeSmith(platform, { model: MODEL }, project),
    ]);
    await createBudget(project, { limit: 0.000001, action: 'block', period: 'total' });
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    upstream.respondWith({ ...ANSWER, held });
    const before = upstream.requests.length;
    const running = one.ask('Hello');
    await upstream.waitForRequests(before + 1);
    const refused = await other.ask('Hello');
    assert.deepEqual([refused.body.status, refused.body.error.code], ['failed', 'budget_exceeded'], refused.text);
    release();
    assert.equal((await running).body.status, 'completed');
    assert.equal(upstream.requests.length, before + 1);
    assert.equal(await countOf(project, 'budget_reservations'), 0);
  });

  test('is given back by whoever takes the turn over', async () => {
    const project = await makeProject();
    const smith = await makeSmith(platform, { model: MODEL }, project);
    const id = await createBudget(project, { limit: 1, action: 'block', period: 'total' });
    const { db, vault, blobs } = platform;
    const other = await startPlatform({ sharing: { db, vault, blobs } });
    upstream.respondWith([{ ...ANSWER, firstDelayMs: 60_000 }, ANSWER]);
    const before = upstream.requests.length;
    const client = createClient(other.url, project.token);
    const begun = await client.post(smith.runs, question('Hello'), { prefer: 'respond-async' });
    assert.equal(begun.status, 201, begun.text);
    await upstream.waitForRequests(before + 1);
    assert.equal(await countOf(project, 'budget_reservations'), 1);
    await other.close();
    assert.equal((await smith.settled(begun.body.id)).status, 'completed');
    const { rows } = await platform.db.query({
      text: 'select spent_micros, reserved_micros from budget_periods where budget_id = $1',
      values: [id],
    });
    assert.deepEqual(rows, [{ spent_micros: COST * 1e6, reserved_micros: 0 }]);
  });

  test('of an embedding is its tokens’ price, and is settled', async () => {
    const project = await makeProject();
    const id = await createBudget(project, { limit: 0.0000005 * 4, action: 'block', period: 'total' });
    upstream.respondWith({ type: 'embeddings', tokens: 100 });
    const embed = () => project.post('/v1/embeddings', { input: 'Hello', model: 'text-embedding-3-small' });
    assert.equal((await embed()).status, 200);
    // 0.02 US dollars a million tokens.
    assert.equal((await statusOf(project, id)).spent, 0.000002);
    assert.equal((await embed()).status, 402);
    assert.equal(await countOf(project, 'budget_reservations'), 0);
  });

  test('of a search is that of the smith that searches, or whose store it is', async () => {
    const project = await makeProject();
    const smithId = await project.createSmith({ model: MODEL });
    upstream.respondWith({ type: 'embeddings', tokens: 100 });
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['Some text about rivers.']), 'rivers.txt');
    const file_ids = [(await project.post('/v1/files', form)).body.id];
    const makeStore = async (owner: Body) => {
      const body = { file_ids, embedding_model: 'openai/text-embedding-3-small', ...owner };
      const { id } = (await project.post('/v1/vector_stores', body)).body;
      const isRead = async () => (await project.get(`/v1/vector_stores/${id}`)).body.file_counts.completed === 1;
      await eventually(async () => ((await isRead()) ? true : undefined), 'the file is read');
      return id;
    };
    const [shared, own] = [await makeStore({}), await makeStore({ smith_id: smithId })];
    const id = await createBudget(project, {
      scope: 'smith',
      scope_id: smithId,
      limit: 0.000006,
      action: 'block',
      period: 'total',
    });
    const smith = project.as(await project.smithToken(smithId, ['vector_stores:read', 'vector_stores:write']));
    const search = (client: Pick<TestProject, 'post'>, store: string) =>
      client.post(`/v1/vector_stores/${store}/search`, { query: 'rivers' });
    assert.equal((await search(project, shared)).status, 200);
    assert.equal((await statusOf(project, id)).spent, 0.000002, 'its store was filled');
    assert.equal((await search(project, own)).status, 200);
    assert.equal((await statusOf(project, id)).spent, 0.000004);
    assert.equal((await search(smith, own)).status, 200);
    assert.equal((await statusOf(project, id)).spent, 0.000006);
    assert.equal((await search(smith, own)).status, 402);
    assert.equal((await search(project, own)).status, 402);
    assert.equal((await search(project, shared)).status, 200);
  });

  test('is let go where the call fails, and others go on', async () => {
    const project = await makeProject();
    const smith = await makeSmith(platform, { model: MODEL }, project);
    const id = await createBudget(project, { limit: 1, action: 'block', period: 'total' });
    upstream.respondWith([{ type: 'status', status: 401 }, ANSWER]);
    assert.equal((await smith.ask('Hello')).body.status, 'failed');
    assert.equal((await smith.ask('Hello')).body.status, 'completed');
    const { rows } = await platform.db.query({
      text: 'select spent_micros, reserved_micros from budget_periods where budget_id = $1',
      values: [id],
    });
    assert.deepEqual(rows, [{ spent_micros: COST * 1e6, reserved_micros: 0 }]);
  });
});
