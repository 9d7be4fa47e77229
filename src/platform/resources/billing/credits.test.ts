/** With credits: who may run, what it draws, and what the organization sees of it. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { type Client, createClient, startPlatform } from '../../../../test/support/platform.ts';
import { question, useUpstream } from '../../../../test/support/turns.ts';
import { today, withinOneDay } from '../../../../test/support/within-one-day.ts';
import { auditWallets, mintCodes } from '../../billing/index.ts';
import { auditUsage, recordUsage } from '../../usage/index.ts';

const upstream = await startOpenAiUpstream();
const MARKUP_PERCENT = 50;
const platform = await startPlatform({ billing: { mode: 'credits', markupPercent: MARKUP_PERCENT } });
const { db, stripe } = platform;
after(async () => {
  assert.deepEqual([await auditWallets(db), await auditUsage(db)], [[], []]);
  await platform.close();
  await upstream.close();
});

const BILLING = '/v1/organization/billing';
/** Has a list price: 0.15 and 0.60 US dollars a million tokens. */
const MODEL = 'openai/gpt-4o-mini';
/** 0.006 US dollars, and so 0.9 cents with the markup. */
const ANSWER = { type: 'answer', deltas: ['Hi'], usage: { promptTokens: 20_000, completionTokens: 5_000 } } as const;
const TOKENS = 25_000;

async function newOrganization(cents = 0): Promise<Client> {
  const { client } = await platform.createOrganization();
  if (cents > 0) await credit(client, cents);
  return client;
}

async function credit(organization: Client, cents: number): Promise<void> {
  const [code] = await mintCodes(db, { amountCents: cents, count: 1, expiresAt: null });
  assert.equal((await organization.post(`${BILLING}/redeem`, { code })).status, 200);
}

async function newProject(organization: Client, name = 'Main'): Promise<{ project: Client; projectId: string }> {
  const { body } = await organization.post('/v1/organization/projects', { name });
  const minted = await organization.post(`/v1/organization/projects/${body.id}/tokens`);
  const project = createClient(platform.url, minted.body.token);
  await useUpstream(project, upstream, 'openai');
  return { project, projectId: body.id };
}

async function createSmith(project: Client, body: object = { model: MODEL }): Promise<string> {
  const { body: smith, text, status } = await project.post('/v1/smiths', body);
  assert.equal(status, 201, text);
  return smith.id;
}

const balanceOf = async (organization: Client) => (await organization.get(`${BILLING}/balance`)).body.balance_cents;

async function exhaustedIn(project: Client) {
  const { body } = await project.get('/v1/events?type=credit.exhausted');
  return body.data.map(({ data }: { data: unknown }) => data);
}

/** Uses so much in the project, as embeddings would. */
function spend(projectId: string, costMicros: number): Promise<string[]> {
  const used = { source: 'embedding', model: 'm', calls: 1, inputTokens: 10, costMicros } as const;
  return recordUsage(db, projectId, [used], {
    terms: {
      currency: 'eur',
      markupPercent: MARKUP_PERCENT,
      usdRateMillionths: 1_000_000,
    },
  });
}

describe('an organization that never had a card or credits', () => {
  test('is card_required on every surface that calls a model, and nothing is stored', async () => {
    const organization = await newOrganization();
    const { project, projectId } = await newProject(organization);
    const smith = await createSmith(project);
    const headers = { 'ic-smith-id': smith };
    const messages = [{ role: 'user', content: 'Hello' }];
    for (const answer of [
      await project.post(`/v1/smiths/${smith}/runs`, question('Hello')),
      await project.post('/v1/chat/completions', { model: MODEL, messages }, headers),
      await project.post('/v1/chat/completions', { model: MODEL, messages, stream: true }, headers),
      await project.post('/v1/responses', { model: MODEL, input: 'Hello' }, headers),
      await project.post('/v1/embeddings', { model: 'builtin/embed', input: 'Hello' }),
    ]) {
      assertRefusal(answer, 402, 'card_required');
      assert.equal(answer.headers.get('retry-after'), null);
    }
    for (const table of ['runs', 'threads', 'usage_entries']) {
      const { rowCount } = await db.query({ text: `select from ${table} where project_id = $1`, values: [projectId] });
      assert.equal(rowCount, 0, table);
    }
    assert.deepEqual(await exhaustedIn(project), []);
  });

  test('with a card and no credits is insufficient_credits', async () => {
    const organization = await newOrganization();
    const { project } = await newProject(organization);
    const smith = await createSmith(project);
    const { body } = await organization.post(`${BILLING}/setup`, { return_url: 'https://example.com/' });
    const session_id = new URL(body.url).pathname.split('/').at(-1) ?? '';
    stripe.saveCard(session_id);
    await organization.post(`${BILLING}/confirm`, { session_id });
    assertRefusal(await project.post(`/v1/smiths/${smith}/runs`, question('Hello')), 402, 'insufficient_credits');
  });
});

describe('a turn', () => {
  test('draws what it cost with its markup, whole cents at a time', async () => {
    const organization = await newOrganization(100);
    const { project } = await newProject(organization);
    const smith = await createSmith(project);
    const balances: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      upstream.respondWith([ANSWER]);
      const { body: run, text } = await project.post(`/v1/smiths/${smith}/runs`, question('Hello'));
      assert.equal(run.status, 'completed', text);
      balances.push(await balanceOf(organization));
    }
    // 0.9, 1.8 and 2.7 cents.
    assert.deepEqual(balances, [100, 99, 98]);
  });

  test('that empties the wallet ends well; the next is refused, and the feed tells it once an emptying', async () => {
    const organization = await newOrganization(1);
    const { project } = await newProject(organization);
    const smith = await createSmith(project);
    const ask = () => project.post(`/v1/smiths/${smith}/runs`, question('Hello'));
    for (let turn = 0; turn < 2; turn += 1) {
      upstream.respondWith([ANSWER]);
      assert.equal((await ask()).body.status, 'completed');
    }
    assert.equal(await balanceOf(organization), 0);
    const refused = await Promise.all(Array.from({ length: 8 }, ask));
    for (const answer of refused) assertRefusal(answer, 402, 'insufficient_credits');
    const [told, ...others] = await exhaustedIn(project);
    assert.deepEqual(
      [told.balance_cents, Object.keys(told).sort(), others],
      [0, ['balance_cents', 'organization'], []],
    );
    await credit(organization, 1);
    upstream.respondWith([ANSWER]);
    assert.equal((await ask()).body.status, 'completed');
    for (let repeat = 0; repeat < 2; repeat += 1) assertRefusal(await ask(), 402, 'insufficient_credits');
    assert.equal((await exhaustedIn(project)).length, 2);
  });

  test('that waits for somebody is not taken up again with an empty wallet, and is once there is money', async () => {
    const organization = await newOrganization(1);
    const { project, projectId } = await newProject(organization);
    const smith = await createSmith(project, { model: 'builtin/demo' });
    const { body: run } = await project.post(`/v1/smiths/${smith}/runs`, {
      ...question('Call the tool notify with {"to": "Ada"}'),
      tools: [{ name: 'notify' }],
    });
    assert.equal(run.status, 'paused');
    await spend(projectId, 10_000);
    const answer = { kind: 'tool_result', tool_call_id: run.output.tool_calls[0].id, result: { ok: true } };
    const submit = () => project.post(`/v1/smiths/${smith}/runs/${run.id}/submit`, answer);
    assertRefusal(await submit(), 402, 'insufficient_credits');
    assert.equal((await project.get(`/v1/smiths/${smith}/runs/${run.id}`)).body.status, 'paused');
    await credit(organization, 1);
    assert.equal((await submit()).status, 200);
  });
});

describe('what the organization sees', () => {
  test('adds up: projects, days and the ledger, to the cent', () =>
    withinOneDay(async () => {
      const organization = await newOrganization(1_000);
      const projects = [];
      for (const name of ['One', 'Two', 'Three']) projects.push(await newProject(organization, name));
      // A third of a cent each, and then some: nobody’s own sum is a whole number of cents.
      for (const [index, { projectId }] of projects.entries()) {
        for (let use = 0; use <= index; use += 1) await spend(projectId, 22_223);
      }
      const [first] = projects;
      await first?.project.post('/v1/budgets', { scope: 'tenant', limit: 12.5, action: 'block' });
      const { body: usage, text } = await organization.get(`${BILLING}/usage`);
      const drawn = 1_000 - (await balanceOf(organization));
      assert.equal(drawn, Math.floor((6 * 22_223 * 1.5) / 10_000));
      assert.equal(usage.total_drawn_cents, drawn, text);
      assert.equal(usage.total_tokens, 60);
      const cents = usage.projects.map((one: { drawn_cents: number }) => one.drawn_cents);
      assert.equal(
        cents.reduce((sum: number, one: number) => sum + one, 0),
        drawn,
      );
      for (const [index, one] of cents.entries()) {
        assert.ok(Math.abs(one - ((index + 1) * 22_223 * 1.5) / 10_000) < 1, `${one} of project ${index}`);
      }
      assert.deepEqual(
        usage.projects.map(({ name, budget_limit, budget_action }: Record<string, unknown>) => [
          name,
          budget_limit,
          budget_action,
        ]),
        [
          ['One', 12.5, 'block'],
          ['Two', null, null],
          ['Three', null, null],
        ],
      );
      const month = `from=${usage.period}-01&to=${usage.period}-28`;
      const { body: series } = await organization.get(`${BILLING}/usage/series?${month}`);
      assert.equal(series.currency, 'eur');
      const day = today();
      const { body: current } = await organization.get(`${BILLING}/usage/series?from=${day}`);
      assert.deepEqual(
        current.points.map((point: Record<string, unknown>) => [point.day, point.drawn_cents]),
        cents.map((one: number) => [day, one]),
      );
      assert.deepEqual(
        current.projects.map(({ name }: { name: string }) => name),
        ['One', 'Two', 'Three'],
      );
      const { body: ledger } = await organization.get(`${BILLING}/ledger?limit=100`);
      const booked = ledger.data.filter(({ kind }: { kind: string }) => kind === 'usage');
      assert.equal(
        booked.reduce((sum: number, { amount_cents }: { amount_cents: number }) => sum + amount_cents, 0),
        -drawn,
      );
      const other = await newOrganization();
      assert.deepEqual((await other.get(`${BILLING}/usage`)).body.projects, []);
    }));

  test('counts the tokens of turns too', () =>
    withinOneDay(async () => {
      const organization = await newOrganization(100);
      const { project } = await newProject(organization);
      const smith = await createSmith(project);
      upstream.respondWith([ANSWER]);
      await project.post(`/v1/smiths/${smith}/runs`, question('Hello'));
      assert.equal((await organization.get(`${BILLING}/usage`)).body.total_tokens, TOKENS);
      assert.equal((await organization.get(`${BILLING}/usage?period=2020-01`)).body.total_tokens, 0);
    }));

  test('takes months and days as they are, and spans of up to 366 days', async () => {
    const { organization } = platform;
    for (const period of ['2026-13', '2026-00', '2026', '2026-1', 'monthly', '0000-01', '', '2026-01-01']) {
      assertRefusal(await organization.get(`${BILLING}/usage?period=${period}`), 422, 'invalid_period', 'period');
    }
    for (const from of ['2026-02-30', 'yesterday', '1999-01-01', '2026-01-01T00:00:00Z']) {
      assertRefusal(await organization.get(`${BILLING}/usage/series?from=${from}`), 422, 'invalid_period', 'from');
    }
    const series = (from: string, to: string) => organization.get(`${BILLING}/usage/series?from=${from}&to=${to}`);
    assert.equal((await series('2025-01-01', '2026-01-01')).status, 200);
    assertRefusal(await series('2025-01-01', '2026-01-02'), 422, 'invalid_period', 'to');
    assertRefusal(await series('2025-01-02', '2025-01-01'), 422, 'invalid_period', 'from');
    const { body } = await organization.get(`${BILLING}/usage/series?to=2026-03-31`);
    assert.deepEqual([body.from, body.to], ['2026-03-02', '2026-03-31']);
  });
});

test('with billing off nobody is refused, nothing is drawn, and tokens are counted', async (t) => {
  const free = await startPlatform({ billing: { mode: 'off' } });
  t.after(() => free.close());
  await withinOneDay(async () => {
    const project = await free.createProject();
    await useUpstream(project, upstream, 'openai');
    const smith = await createSmith(project);
    upstream.respondWith([ANSWER]);
    assert.equal((await project.post(`/v1/smiths/${smith}/runs`, question('Hello'))).body.status, 'completed');
    const { body } = await free.organization.get(`${BILLING}/usage`);
    assert.deepEqual([body.total_drawn_cents, body.total_tokens], [0, TOKENS]);
  });
  assert.equal(await balanceOf(free.organization), 0);
});
