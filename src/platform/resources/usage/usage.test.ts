import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { makeSmith, useUpstream } from '../../../../test/support/turns.ts';
import { today, withinOneDay } from '../../../../test/support/within-one-day.ts';
import { auditUsage, recordUsage } from '../../usage/index.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

const MODEL = 'openai/gpt-4o-mini';
const DAY_MS = 86_400_000;

async function makeProject(): Promise<TestProject> {
  const project = await platform.createProject();
  await useUpstream(project, upstream, 'openai');
  return project;
}

async function get(project: Pick<TestProject, 'get'>, path: string) {
  const answer = await project.get(path);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

async function findDifferences({ projectId }: TestProject) {
  return (await auditUsage(platform.db)).filter((difference) => difference.project_id === projectId);
}

describe('usage', () => {
  test('is summed by day, and by several members', () =>
    withinOneDay(async () => {
      const project = await makeProject();
      const customer = (await project.post('/v1/customers', { name: 'Acme' })).body.id;
      const agent = (await project.post('/v1/agents', { name: 'Helper', model: MODEL })).body.id;
      await project.post(`/v1/agents/${agent}/versions`, {});
      const smith = await makeSmith(platform, { agent_id: agent, model: undefined, customer_id: customer }, project);
      upstream.respondWith({ type: 'answer', deltas: ['Hi'], usage: { promptTokens: 1_000, completionTokens: 100 } });
      await smith.ask('Hello');
      await smith.ask('Hello');
      await project.post('/v1/embeddings', { input: 'Hello' });
      await project.post('/v1/usage/events', { meter: 'pages', quantity: 2.5, smith_id: smith.id });
      const { data, totals, ...rest } = await get(project, '/v1/usage?group_by=source,model&group_by=smith');
      const month = today().slice(0, 7);
      assert.deepEqual(rest, {
        from: `${month}-01`,
        to: today(),
        currency: 'usd',
        group_by: ['source', 'model', 'smith'],
        next_cursor: null,
        has_more: false,
      });
      const shown = data.map(
        ({ source, model, smith_id, calls, total_tokens, cost, quantity }: Record<string, unknown>) => [
          source,
          model,
          smith_id,
          calls,
          source === 'embedding' ? undefined : total_tokens,
          cost,
          quantity,
        ],
      );
      assert.deepEqual(shown, [
        ['embedding', 'builtin/embed', null, 1, undefined, 0, 0],
        ['meter', null, smith.id, 0, 0, 0, 2.5],
        ['turn', MODEL, smith.id, 2, 2_200, 0.00042, 0],
      ]);
      assert.deepEqual([totals.calls, totals.cost, totals.quantity], [3, 0.00042, 2.5]);
      const [byDay] = (await get(project, '/v1/usage')).data;
      assert.deepEqual([byDay.day, byDay.calls, 'model' in byDay], [today(), 3, false]);
      for (const [group, member, value] of [
        ['agent', 'agent_id', agent],
        ['customer', 'customer_id', customer],
      ] as const) {
        const groups = (await get(project, `/v1/usage?group_by=${group}&source=turn&${member}=${value}`)).data;
        assert.deepEqual(
          groups.map((each: Record<string, unknown>) => [each[member], each.calls]),
          [[value, 2]],
        );
      }
      assert.deepEqual(await findDifferences(project), []);
    }));

  test('of a project has its days, its models and its storage', () =>
    withinOneDay(async () => {
      const project = await makeProject();
      const smith = await makeSmith(platform, {}, project);
      await smith.ask('Hello');
      await recordUsage(platform.db, project.projectId, [{ source: 'external', model: 'x/y', calls: 5, appId: 'crm' }]);
      const usage = await get(project, '/v1/tenant/usage');
      assert.equal(usage.totals.calls, 1, 'what external systems report is not what the project used here');
      assert.deepEqual(
        usage.by_day.map(({ day, calls }: Record<string, unknown>) => [day, calls]),
        [[today(), 1]],
      );
      assert.deepEqual(
        usage.by_model.map(({ model, calls }: Record<string, unknown>) => [model, calls]),
        [['builtin/demo', 1]],
      );
      assert.deepEqual([usage.storage.used_bytes, usage.storage.limit_bytes > 0], [0, true]);
      const [app] = (await get(project, '/v1/usage?group_by=app&source=external')).data;
      assert.deepEqual([app.app_id, app.calls], ['crm', 5]);
    }));

  test('is paged by its groups, each once', () =>
    withinOneDay(async () => {
      const project = await makeProject();
      const meters = Array.from({ length: 7 }, (_, index) => `meter_${index}`);
      await recordUsage(
        platform.db,
        project.projectId,
        meters.map((meter) => ({ source: 'meter' as const, meter, quantity: 1 })),
      );
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await get(
          project,
          `/v1/usage?group_by=day,meter&limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`,
        );
        assert.equal(page.totals.quantity, 7);
        seen.push(...page.data.map(({ meter }: { meter: string }) => meter));
        cursor = page.next_cursor;
      }
      assert.deepEqual(seen, meters);
      const elsewhere = await project.get(
        `/v1/usage?group_by=meter&cursor=${(await get(project, '/v1/usage?group_by=day,meter&limit=1')).next_cursor}`,
      );
      assert.deepEqual([elsewhere.status, elsewhere.body.error.code], [422, 'invalid_cursor']);
    }));

  const refusals = [
    ['group_by=planet', 'invalid_group_by'],
    ['group_by=day,day', 'invalid_group_by'],
    ['group_by=', 'invalid_group_by'],
    ['from=2026-05-02&to=2026-05-01', 'invalid_period'],
    ['from=2025-01-01&to=2026-01-02', 'invalid_period'],
    ['from=yesterday', 'invalid_period'],
    ['source=moon', 'invalid_request'],
    ['limit=0', 'invalid_limit'],
  ] as const;
  for (const [query, code] of refusals) {
    test(`of ${query} is ${code}`, async () => {
      const project = await platform.createProject();
      const answer = await project.get(`/v1/usage?${query}`);
      assert.deepEqual([answer.status, answer.body.error.code], [422, code], answer.text);
    });
  }

  test('of a year and a day is answered', async () => {
    const project = await platform.createProject();
    assert.deepEqual((await get(project, '/v1/usage?from=2025-01-01&to=2026-01-01')).data, []);
  });

  test('is shown to a smith token for its own smith alone', () =>
    withinOneDay(async () => {
      const project = await makeProject();
      const [own, other] = await Promise.all([makeSmith(platform, {}, project), makeSmith(platform, {}, project)]);
      await Promise.all([own.ask('Hello'), other.ask('Hello')]);
      const smith = project.as(await project.smithToken(own.id, ['usage:read', 'usage:write']));
      const { data } = await get(smith, '/v1/usage?group_by=smith');
      assert.deepEqual(
        data.map(({ smith_id, calls }: Record<string, unknown>) => [smith_id, calls]),
        [[own.id, 1]],
      );
      const tenant = await get(smith, '/v1/tenant/usage');
      assert.deepEqual([tenant.totals.calls, tenant.storage], [1, null]);
      for (const path of [`/v1/usage?smith_id=${other.id}`, `/v1/usage/events?smith_id=${other.id}`]) {
        assert.equal((await smith.get(path)).body.error.code, 'smith_mismatch');
      }
      const event = await smith.post('/v1/usage/events', { meter: 'pages', quantity: 1 });
      assert.equal(event.body.smith_id, own.id, event.text);
      await project.post('/v1/usage/events', { meter: 'pages', quantity: 1, smith_id: other.id });
      assert.equal((await get(smith, '/v1/usage/events')).data.length, 1);
      assert.equal((await get(project, '/v1/usage/events')).data.length, 2);
    }));
});

describe('a meter event', () => {
  test('counts once for its key, in the day that it names, exactly', async () => {
    const project = await makeProject();
    const at = new Date(Date.now() - 10 * DAY_MS);
    const body = { meter: 'pages', quantity: 0.1, at: at.toISOString() };
    const first = await project.post('/v1/usage/events', body, { 'idempotency-key': 'k' });
    assert.equal(first.status, 201, first.text);
    assert.deepEqual((await project.post('/v1/usage/events', body, { 'idempotency-key': 'k' })).body, first.body);
    await project.post('/v1/usage/events', { ...body, quantity: 0.2 });
    const from = new Date(Date.now() - 20 * DAY_MS).toISOString().slice(0, 10);
    const { data } = await get(project, `/v1/usage?from=${from}&to=${today()}&group_by=day,meter`);
    assert.deepEqual(
      data.map(({ day, quantity }: Record<string, unknown>) => [day, quantity]),
      [[at.toISOString().slice(0, 10), 0.3]],
    );
    assert.deepEqual(await findDifferences(project), []);
  });

  const refusals = [
    ['a negative quantity', { quantity: -1 }, 'invalid_quantity'],
    ['a quantity of 10^30', { quantity: 1e30 }, 'invalid_quantity'],
    ['a quantity beyond the largest', { quantity: 1_000_000_001 }, 'invalid_quantity'],
    ['a quantity that is no number', { quantity: 'NaN' }, 'invalid_quantity'],
    ['no quantity', { quantity: undefined }, 'invalid_quantity'],
    ['seven decimals', { quantity: 0.0000001 }, 'invalid_quantity'],
    ['an empty meter', { meter: '' }, 'invalid_meter'],
    ['a meter of 65 characters', { meter: 'm'.repeat(65) }, 'invalid_meter'],
    ['no meter', { meter: undefined }, 'invalid_meter'],
    ['a time to come', { at: new Date(Date.now() + 3_600_000).toISOString() }, 'invalid_request'],
    ['a time long ago', { at: new Date(Date.now() - 36 * DAY_MS).toISOString() }, 'invalid_request'],
  ] as const;
  for (const [what, body, code] of refusals) {
    test(`with ${what} is refused`, async () => {
      const project = await platform.createProject();
      const answer = await project.post('/v1/usage/events', { meter: 'pages', quantity: 1, ...body });
      assert.deepEqual([answer.status, answer.body.error.code], [422, code], answer.text);
    });
  }

  test('takes the largest quantity, the longest name and the oldest time', async () => {
    const project = await platform.createProject();
    const at = new Date(Date.now() - 35 * DAY_MS + 60_000).toISOString();
    const answer = await project.post('/v1/usage/events', { meter: 'm'.repeat(64), quantity: 1_000_000_000, at });
    assert.deepEqual([answer.status, answer.body.quantity, answer.body.at], [201, 1_000_000_000, at], answer.text);
  });
});
