/**
 * Every native list pages alike: limits, cursors, newest first, and each row exactly once while others come and go. The
 * lists of the OpenAI dialect are in openai-lists.test.ts.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { withPrefix } from '../../src/kernel/ids/ids.ts';
import { type Answer, type Client, startPlatform } from '../support/platform.ts';
import { assertRefusal } from './assert-refusal.ts';
import { type Share, takeTurns } from './take-turns.ts';
import {
  connectApp,
  createWorld,
  foreignWorld,
  pathIn,
  receiveMessage,
  registerMcpServer,
  uniqueName,
} from './world.ts';

export async function testLists(share: Share): Promise<void> {
  const platform = await startPlatform();
  after(() => platform.close());
  const world = await createWorld(platform);
  const abroad = await foreignWorld(platform);
  const { operations } = platform.platform;
  const { tenant, organization } = world;

  /** Catalogs of fixed size: a bare `{data}`, or the OpenAI dialect's. */
  const UNPAGED = [
    'tenant.providers.list',
    'tenant.model_keys.list',
    'smiths.model_keys.list',
    'tenant.models.list',
    'models.list',
    // All of an agent, of which there are few.
    'agents.ui.list',
    'tenant.hosted_tools.list',
    'tenant.sandbox_secrets.list',
    'catalog.list',
  ];
  const LEDGER = 'organization.billing.ledger';
  const DEFAULT_LIMIT = 20;
  const MAX_LIMIT = 100;

  /** Adds one row to the list and answers with its key as the list shows it. */
  const addRow: Readonly<Record<string, () => Promise<string>>> = {
    'organization.projects.list': () => idOf(organization.post('/v1/organization/projects', { name: uniqueName() })),
    'organization.apps.list': () => connectApp(platform, world.projectId),
    [LEDGER]: async () => {
      const redeemed = await organization.post('/v1/organization/billing/redeem', { code: world.freshCode() });
      assert.equal(redeemed.status, 200, redeemed.text);
      return (await organization.get('/v1/organization/billing/ledger?limit=1')).body.data[0].id;
    },
    'tenant.tokens.list': () => idOf(tenant.post('/v1/tenant/tokens', { scope: 'admin' })),
    'agents.list': () => idOf(tenant.post('/v1/agents', { name: uniqueName() })),
    'agents.versions.list': () => numberOf(tenant.post(`/v1/agents/${world.agentId}/versions`, {})),
    'smiths.list': () => idOf(tenant.post('/v1/smiths', { model: 'builtin/demo' })),
    'smiths.revisions.list': async () => {
      const path = `/v1/smiths/${world.smithId}`;
      await tenant.patch(path, { display_name: uniqueName() });
      return String((await tenant.get(`${path}/revisions?limit=1`)).body.data[0].version);
    },
    'customers.list': () => idOf(tenant.post('/v1/customers', { name: uniqueName() })),
    'smiths.runs.list': () => idOf(startRun(world.smithId)),
    'runs.list': () => idOf(startRun(world.otherSmithId)),
    'traces.list': async () => withPrefix('trc', await idOf(startRun(world.otherSmithId))),
    'approvals.list': async () => (await startGatedRun()).body.output.tool_calls[0].approval_id,
    'tenant.mcp.list': async () => (await tenant.get(`/v1/tenant/mcp/${await registerMcpServer(tenant)}`)).body.id,
    'tenant.webhooks.list': () =>
      idOf(tenant.post('/v1/tenant/webhooks', { url: 'https://example.com/hook', events: ['slack'] })),
    'tenant.webhooks.deliveries.list': async () =>
      (await tenant.post(`/v1/tenant/webhooks/${world.webhookId}/test`)).body.delivery_id,
    'smiths.schedules.list': () => idOf(tenant.post(`/v1/smiths/${world.smithId}/schedules`, { cron: '0 0 1 1 *' })),
    'smiths.connections.list': () =>
      idOf(
        tenant.post(`/v1/smiths/${world.smithId}/connections`, {
          provider: world.freshProvider(),
          credential: { kind: 'bearer', access_token: 'a-token' },
        }),
      ),
    'deployments.list': () =>
      idOf(tenant.post('/v1/deployments', { target: { type: 'smith', id: world.smithId }, kind: 'web' })),
    'inbound_events.list': () => receiveMessage(platform, world.projectId, world.smithId),
    'tenant.email.suppressions.list': () =>
      idOf(tenant.post('/v1/tenant/email/suppressions', { address: `${uniqueName().slice(5)}@example.com` })),
    'usage.events.list': () => idOf(tenant.post('/v1/usage/events', { meter: 'pages', quantity: 1 })),
    'budgets.list': async () => {
      const smithId = await idOf(tenant.post('/v1/smiths', { model: 'builtin/demo' }));
      return idOf(tenant.post('/v1/budgets', { scope: 'smith', scope_id: smithId, limit: 1 }));
    },
    'events.list': async () => {
      await tenant.post('/v1/tenant/tokens', { scope: 'admin' });
      return (await tenant.get('/v1/events?limit=1')).body.data[0].id;
    },
  };

  const lists = operations
    .filter(({ id, query }) => (id.endsWith('.list') || id === LEDGER) && !UNPAGED.includes(id) && !isOfDialect(query))
    .map((operation) => ({
      id: operation.id,
      query: operation.query,
      path: pathIn(operation.path, world),
      caller: operation.posture === 'org' ? organization : tenant,
    }));

  describe('every list takes limit and cursor, and has the envelope', () => {
    for (const { id, path, caller, query } of lists) {
      test(id, async () => {
        const properties = Object.keys((query as { properties?: object } | undefined)?.properties ?? {});
        assert.ok(properties.includes('limit') && properties.includes('cursor'), properties.join());
        const answer = await caller.get(path);
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual(Object.keys(answer.body).sort(), ['data', 'has_more', 'next_cursor']);
        assertEnvelopeOf(answer, DEFAULT_LIMIT);
      });
    }
  });

  describe('a limit out of range is invalid_limit, on every list', () => {
    for (const [index, { id, path, caller }] of lists.entries()) {
      test(id, async () => {
        const edges = ['0', String(MAX_LIMIT + 1)];
        const others = ['-1', '1.5', 'ten', '', 'null', '1&limit=2', '9'.repeat(40)];
        for (const limit of [...edges, ...takeTurns(share, others, index, 1)]) {
          assertRefusal(await caller.get(`${path}?limit=${limit}`), 422, 'invalid_limit', 'limit');
        }
        for (const limit of [1, MAX_LIMIT]) {
          const answer = await caller.get(`${path}?limit=${limit}`);
          assert.equal(answer.status, 200, answer.text);
          assertEnvelopeOf(answer, limit);
        }
      });
    }
  });

  describe('a cursor that the list did not issue is invalid_cursor, on every list', () => {
    for (const [index, { id, path, caller }] of lists.entries()) {
      test(id, async () => {
        const cursor = await issueCursor(id, path, caller);
        const altered = [
          cursor.slice(0, -1),
          `${cursor}A`,
          `${cursor}=`,
          `${cursor}%0A`,
          cursor.toUpperCase(),
          `A${cursor}`,
        ];
        const foreign = [
          '',
          'null',
          'c1:',
          'Yzox',
          encode('c2:'),
          encode('c1:agt_1'),
          encode('c2:agt_1'),
          encode('c2:\0'),
          encode("c1:' or 1=1--\n"),
        ];
        const others = [
          'a'.repeat(600),
          '%F0%9F%98%80',
          '../../etc/passwd',
          '{"id":1}',
          '-1',
          `${cursor}&cursor=${cursor}`,
        ];
        for (const bad of [altered, foreign, others].flatMap((kind) => takeTurns(share, kind, index, 1))) {
          assertRefusal(await caller.get(`${path}?limit=1&cursor=${bad}`), 422, 'invalid_cursor', 'cursor');
        }
        const good = await caller.get(`${path}?limit=1&cursor=${cursor}`);
        assert.equal(good.status, 200, good.text);
      });
    }

    for (const [index, { id, path, caller }] of lists.entries()) {
      test(`another list’s is no place in ${id}`, async () => {
        const rest = lists.filter((one) => one.path !== path);
        for (const other of takeTurns(share, rest, index, 2)) {
          const cursor = await issueCursor(other.id, other.path, other.caller);
          assertRefusal(await caller.get(`${path}?cursor=${cursor}`), 422, 'invalid_cursor', 'cursor');
        }
      });

      test(`nor is one of another project’s ${id}`, async () => {
        const cursor = await issueCursor(id, path, caller);
        const operation = operations.find((one) => one.id === id);
        const foreign = operation?.posture === 'org' ? abroad.organization : abroad.tenant;
        const answer = await foreign.get(`${pathIn(operation?.path ?? '', abroad)}?cursor=${cursor}`);
        assertRefusal(answer, 422, 'invalid_cursor', 'cursor');
      });
    }
  });

  describe('a walk through a list meets each row once, newest first, while rows are added', () => {
    for (const { id, path, caller } of lists) {
      test(id, async () => {
        const add = adderOf(id);
        const before: string[] = [];
        for (let made = 0; made < 3; made += 1) before.unshift(await add());
        const met: string[] = [];
        await walk(caller, path, 2, async (keys) => {
          met.push(...keys);
          // A few are enough: what is added now is newer than the place that has been reached.
          if (met.length <= 4) await add();
        });
        assert.equal(new Set(met).size, met.length, 'a row was met twice');
        assert.deepEqual(
          met.filter((key) => before.includes(key)),
          before,
        );
      });
    }
  });

  test('whatever is added and deleted between whatever pages, the others are met once, in order', async () => {
    const action = fc.oneof(
      fc.constant({ kind: 'add' as const, at: 0 }),
      fc.record({ kind: fc.constant('delete' as const), at: fc.nat({ max: 30 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.array(action, { maxLength: 3 }), { maxLength: 10 }),
        async (count, limit, betweenPages) => {
          const project = await platform.createProject();
          const add = () => idOf(project.post('/v1/customers', { name: uniqueName() }));
          const before: string[] = [];
          for (let made = 0; made < count; made += 1) before.unshift(await add());
          const deleted = new Set<string>();
          const met: string[] = [];
          let page = 0;
          await walk(project, '/v1/customers', limit, async (keys) => {
            met.push(...keys);
            for (const { kind, at } of betweenPages[page] ?? []) {
              if (kind === 'add') await add();
              const victim = before[at];
              if (kind === 'delete' && victim !== undefined && !deleted.has(victim)) {
                deleted.add(victim);
                await project.delete(`/v1/customers/${victim}`);
              }
            }
            page += 1;
          });
          const kept = before.filter((id) => !deleted.has(id));
          assert.deepEqual(
            met.filter((id) => kept.includes(id)),
            kept,
          );
          assert.equal(new Set(met).size, met.length);
          assert.ok(met.every((id) => before.includes(id)));
        },
      ),
      { numRuns: share === 'all' ? 25 : 8 },
    );
  });

  test('a page that just holds the last rows says that there are no more', async () => {
    const project = await platform.createProject();
    for (let made = 0; made < 4; made += 1) await project.post('/v1/customers', { name: uniqueName() });
    const first = await project.get('/v1/customers?limit=2');
    assert.deepEqual([first.body.data.length, first.body.has_more], [2, true]);
    const last = await project.get(`/v1/customers?limit=2&cursor=${first.body.next_cursor}`);
    assert.deepEqual([last.body.data.length, last.body.has_more, last.body.next_cursor], [2, false, null]);
    const empty = await (await platform.createProject()).get('/v1/customers');
    assert.deepEqual(empty.body, { data: [], next_cursor: null, has_more: false });
  });

  /** The OpenAI dialect's lists take an object's id in the place of a cursor. */
  function isOfDialect(query: unknown): boolean {
    return Object.hasOwn((query as { properties?: object } | undefined)?.properties ?? {}, 'after');
  }

  /** Calls `onPage` with the keys of each page, and goes on behind it. */
  async function walk(caller: Client, path: string, limit: number, onPage: (keys: string[]) => Promise<void>) {
    let cursor: string | null = null;
    let pages = 0;
    do {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const answer: Answer = await caller.get(`${path}?limit=${limit}${query}`);
      assert.equal(answer.status, 200, answer.text);
      assertEnvelopeOf(answer, limit);
      await onPage(answer.body.data.map(keyOf));
      cursor = answer.body.next_cursor;
      pages += 1;
      assert.ok(pages < 1_000, 'the list never ends');
    } while (cursor !== null);
  }

  function assertEnvelopeOf({ body, text }: Answer, limit: number): void {
    assert.ok(Array.isArray(body.data) && body.data.length <= limit, text);
    assert.equal(typeof body.has_more, 'boolean', text);
    assert.equal(body.has_more, body.next_cursor !== null, text);
    if (body.has_more) assert.equal(body.data.length, limit, text);
  }

  /** A cursor that this list has handed out. */
  async function issueCursor(id: string, path: string, caller: Client): Promise<string> {
    const add = adderOf(id);
    let answer = await caller.get(`${path}?limit=1`);
    while (answer.body.next_cursor === null) {
      await add();
      answer = await caller.get(`${path}?limit=1`);
    }
    return answer.body.next_cursor;
  }

  function adderOf(id: string): () => Promise<string> {
    const add = addRow[id];
    assert.ok(add, `say in this test how ${id} gets another row`);
    return add;
  }

  function keyOf(row: { readonly id?: string; readonly version?: number }): string {
    return row.id ?? String(row.version);
  }

  function encode(text: string): string {
    return Buffer.from(text).toString('base64url');
  }

  function startRun(smithId: string): Promise<Answer> {
    return tenant.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content: 'Write 1 words' }] });
  }

  function startGatedRun(): Promise<Answer> {
    return tenant.post(`/v1/smiths/${world.smithId}/runs`, {
      input: [{ role: 'user', content: 'Call the tool notify with {}' }],
      tools: [{ name: 'notify', requires_approval: true }],
    });
  }

  async function idOf(answering: Promise<Answer>): Promise<string> {
    const { status, body, text } = await answering;
    assert.equal(status, 201, text);
    return body.id;
  }

  async function numberOf(answering: Promise<Answer>): Promise<string> {
    const { status, body, text } = await answering;
    assert.equal(status, 201, text);
    return String(body.version);
  }
}
