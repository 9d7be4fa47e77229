/**
 * Idempotency-Key on every create that answers from a stored reply. Runs answer from their own row, and uploads are forms:
 * see the tests of runs and files.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Answer, type Client, startPlatform } from '../support/platform.ts';
import { assertRefusal } from './assert-refusal.ts';
import { bodyFor, createWorld, OPENAI_DIALECT, pathIn, uniqueName, uploadFile, type World } from './world.ts';

const platform = await startPlatform();
after(() => platform.close());
const world = await createWorld(platform);
const elsewhere = await createWorld(platform);
const { tenant, organization } = world;
type Operation = (typeof platform.platform.operations)[number];

const creates = platform.platform.operations.filter(
  ({ kind, idempotent, upload }) => kind === 'change' && idempotent && upload === undefined,
);
const PARALLEL = 20;
const RETENTION_HOURS = 24;

/** The table in which one call of the operation adds one row, with its column of the project or organization. */
const tables: Readonly<Record<string, readonly [table: string, owner: string]>> = {
  'organization.projects.create': ['projects', 'organization_id'],
  'organization.projects.tokens.create': ['tokens', 'project_id'],
  'organization.billing.redeem': ['wallet_transactions', 'organization_id'],
  'tenant.tokens.create': ['tokens', 'project_id'],
  'tenant.webhooks.create': ['webhooks', 'project_id'],
  'tenant.webhooks.rotate': [`(select * from events where type = 'webhook.updated') as rotations`, 'project_id'],
  'smiths.schedules.create': ['schedules', 'project_id'],
  'smiths.schedules.run_now': ['schedule_fires', 'project_id'],
  'smiths.connections.create': ['connections', 'project_id'],
  'deployments.create': ['deployments', 'project_id'],
  // Files that are read behind the requests are of other sources.
  'usage.events.create': [`(select * from usage_entries where source = 'meter') as meter_events`, 'project_id'],
  'budgets.create': ['budgets', 'project_id'],
  'tenant.email.suppressions.create': ['email_suppressions', 'project_id'],
  'agents.create': ['agents', 'project_id'],
  'agents.versions.publish': ['agent_versions', 'project_id'],
  // What runs and files of the project have to tell may come at any time.
  'agents.rollout': [`(select * from events where type = 'agent.rollout_updated') as rollouts`, 'project_id'],
  'agents.attach': ['smith_revisions', 'project_id'],
  'agents.import': ['agents', 'project_id'],
  'smiths.create': ['smiths', 'project_id'],
  'smiths.revisions.restore': ['smith_revisions', 'project_id'],
  'customers.create': ['customers', 'project_id'],
  'vector_stores.create': ['vector_stores', 'project_id'],
  'vector_stores.files.create': ['vector_store_files', 'project_id'],
  'vector_stores.file_batches.create': ['vector_store_batches', 'project_id'],
  'traces.ingest': ['external_traces', 'project_id'],
  'conversations.create': ['conversations', 'project_id'],
  'conversations.items.create': ['messages', 'project_id'],
};

describe('a repeated create with the same key gets the first answer, to the byte, and happens once', () => {
  for (const operation of creates) {
    test(operation.id, async () => {
      const [body, key] = [await freshBody(operation), uniqueName()];
      const before = await countRows(operation);
      const first = await send(operation, body, key);
      assert.ok(first.status === 200 || first.status === 201, first.text);
      assert.equal(first.headers.get('idempotent-replay'), null);
      for (let repeat = 0; repeat < 2; repeat += 1) {
        const again = await send(operation, body, key);
        assert.deepEqual([again.status, again.text], [first.status, first.text]);
        assert.equal(again.headers.get('idempotent-replay'), 'true');
        assert.equal(again.headers.get('content-type'), first.headers.get('content-type'));
      }
      assert.equal(await countRows(operation), before + 1);
    });
  }

  test('in whatever order its members come, and with whatever white space', async () => {
    const [name, key] = [uniqueName(), uniqueName()];
    const first = await tenant.post(
      '/v1/customers',
      `{"name": "${name}", "metadata": {"a": 1, "b": [1, 2]}}`,
      keyed(key),
    );
    const again = await tenant.post('/v1/customers', `{"metadata":{"b":[1,2],"a":1},"name":"${name}"}`, keyed(key));
    assert.equal(again.headers.get('idempotent-replay'), 'true', again.text);
    assert.equal(again.text, first.text);
  });

  test('also where the object has changed or gone since', async () => {
    const [body, key] = [{ name: uniqueName() }, uniqueName()];
    const first = await tenant.post('/v1/customers', body, keyed(key));
    await tenant.delete(`/v1/customers/${first.body.id}`);
    const again = await tenant.post('/v1/customers', body, keyed(key));
    assert.deepEqual([again.status, again.text], [first.status, first.text]);
  });
});

describe('the same key with another body gets 409 idempotency_key_reused, and nothing happens', () => {
  // There is one body of no members.
  for (const operation of creates.filter(({ id }) => id !== 'smiths.schedules.run_now')) {
    test(operation.id, async () => {
      const [body, key] = [await freshBody(operation), uniqueName()];
      const first = await send(operation, body, key);
      assert.ok(first.status < 300, first.text);
      const before = await countRows(operation);
      const changed = otherBody(operation, body);
      assertRefusal(await send(operation, changed, key), 409, 'idempotency_key_reused');
      assert.equal(await countRows(operation), before);
    });
  }

  test('another path of the same operation is another request', async () => {
    const [key, agents] = [uniqueName(), [await createAgent(), await createAgent()]];
    const [first, second] = await Promise.all(agents);
    assert.equal((await tenant.post(`/v1/agents/${first}/versions`, {}, keyed(key))).status, 201);
    assertRefusal(await tenant.post(`/v1/agents/${second}/versions`, {}, keyed(key)), 409, 'idempotency_key_reused');
  });
});

describe('a first attempt that fails stores nothing: the key is free for the corrected one', () => {
  for (const operation of creates) {
    test(operation.id, async () => {
      const [body, key] = [await freshBody(operation), uniqueName()];
      // The OpenAI dialect ignores what it does not know.
      const [member] = OPENAI_DIALECT.test(operation.path) ? Object.keys(body) : ['surprise'];
      assert.ok(member);
      const refused = await send(operation, { ...body, [member]: 1 }, key);
      assertRefusal(refused, 422, 'invalid_request', member);
      const corrected = await send(operation, body, key);
      assert.ok(corrected.status < 300, corrected.text);
      assert.equal(corrected.headers.get('idempotent-replay'), null);
    });
  }

  test('also when it fails late, with its change rolled back', async () => {
    const slug = `taken-${Date.now().toString(36)}`;
    assert.equal((await tenant.post('/v1/agents', { name: 'Holder', slug })).status, 201);
    const key = uniqueName();
    assertRefusal(await tenant.post('/v1/agents', { name: 'Second', slug }, keyed(key)), 409, 'agent_exists');
    const corrected = await tenant.post('/v1/agents', { name: 'Second', slug: `${slug}-2` }, keyed(key));
    assert.equal(corrected.status, 201, corrected.text);
    assert.equal(corrected.headers.get('idempotent-replay'), null);
  });
});

describe(`${PARALLEL} parallel creates with one key make one object`, () => {
  for (const operation of creates) {
    test(operation.id, async () => {
      const [body, key] = [await freshBody(operation), uniqueName()];
      const before = await countRows(operation);
      const answers = await Promise.all(Array.from({ length: PARALLEL }, () => send(operation, body, key)));
      const done = answers.filter(({ status }) => status < 300);
      for (const answer of answers.filter(({ status }) => status >= 300)) {
        assertRefusal(answer, 409, 'idempotency_in_progress');
        assert.ok(Number(answer.headers.get('retry-after')) >= 1);
      }
      assert.equal(done.filter(({ headers }) => headers.get('idempotent-replay') === null).length, 1);
      assert.equal(new Set(done.map(({ status, text }) => `${status} ${text}`)).size, 1);
      assert.equal(await countRows(operation), before + 1);
      const late = await send(operation, body, key);
      assert.equal(late.text, done[0]?.text);
    });
  }
});

describe('a key belongs to one project and one operation', () => {
  test('two projects use the same key for the same request', async () => {
    const [body, key] = [{ name: uniqueName() }, uniqueName()];
    const here = await tenant.post('/v1/customers', body, keyed(key));
    const there = await elsewhere.tenant.post('/v1/customers', body, keyed(key));
    assert.equal(there.status, 201, there.text);
    assert.equal(there.headers.get('idempotent-replay'), null);
    assert.notEqual(there.body.id, here.body.id);
    assertRefusal(await elsewhere.tenant.get(`/v1/customers/${here.body.id}`), 404, 'not_found');
  });

  test('two organizations too', async () => {
    const [body, key] = [{ name: uniqueName() }, uniqueName()];
    const here = await organization.post('/v1/organization/projects', body, keyed(key));
    const there = await elsewhere.organization.post('/v1/organization/projects', body, keyed(key));
    assert.deepEqual([here.status, there.status], [201, 201]);
    assert.notEqual(there.body.id, here.body.id);
  });

  test('two operations too', async () => {
    const [body, key] = [{ name: uniqueName() }, uniqueName()];
    const customer = await tenant.post('/v1/customers', body, keyed(key));
    const agent = await tenant.post('/v1/agents', body, keyed(key));
    assert.deepEqual([customer.status, agent.status], [201, 201]);
    assert.match(agent.body.id, /^agt_/);
  });

  test('and a caller who may not create learns nothing from a key that another used', async () => {
    const [body, key] = [{ name: uniqueName() }, uniqueName()];
    await tenant.post('/v1/customers', body, keyed(key));
    const smith = tenant.as(await world.smithToken());
    assertRefusal(await smith.post('/v1/customers', body, keyed(key)), 403, 'tenant_token_required');
  });
});

describe('what is stored', () => {
  test('is sealed: no part of a secret in an answer can be read in the store', async () => {
    const key = uniqueName();
    const minted = await tenant.post('/v1/tenant/tokens', { scope: 'admin', name: 'sealed?' }, keyed(key));
    assert.equal(minted.status, 201, minted.text);
    const { rows } = await platform.db.query<Record<string, unknown>>({
      text: 'select * from idempotency_keys where project_id = $1 and key = $2',
      values: [world.projectId, key],
    });
    assert.equal(rows.length, 1);
    const stored = Object.values(rows[0] ?? {})
      .map(String)
      .join('\n');
    const signature = minted.body.token.split('.').at(-1);
    for (const secret of [minted.body.token, signature, 'tha_live_', 'sealed?', minted.body.id]) {
      for (const encoding of ['utf8', 'base64', 'base64url', 'hex'] as const) {
        assert.ok(
          !stored.includes(Buffer.from(secret).toString(encoding).replace(/=+$/, '')),
          `${secret} as ${encoding}`,
        );
      }
    }
    const again = await tenant.post('/v1/tenant/tokens', { scope: 'admin', name: 'sealed?' }, keyed(key));
    assert.equal(again.body.token, minted.body.token);
  });

  test(`is kept for ${RETENTION_HOURS} hours, and then the key makes another object`, async () => {
    const [body, key] = [{ name: uniqueName() }, uniqueName()];
    const first = await tenant.post('/v1/customers', body, keyed(key));
    const { rows } = await platform.db.query<{ hours: string }>({
      text: `select extract(epoch from expires_at - created_at) / 3600 as hours from idempotency_keys
             where project_id = $1 and key = $2`,
      values: [world.projectId, key],
    });
    assert.equal(Number(rows[0]?.hours), RETENTION_HOURS);
    await expire(key);
    const second = await tenant.post('/v1/customers', body, keyed(key));
    assert.equal(second.status, 201, second.text);
    assert.notEqual(second.body.id, first.body.id);
    const again = await tenant.post('/v1/customers', body, keyed(key));
    assert.equal(again.body.id, second.body.id, 'the key guards the new object');
  });

  test('of an expired key does not keep another body out', async () => {
    const key = uniqueName();
    await tenant.post('/v1/customers', { name: uniqueName() }, keyed(key));
    await expire(key);
    const other = await tenant.post('/v1/customers', { name: uniqueName() }, keyed(key));
    assert.equal(other.status, 201, other.text);
  });
});

describe('the key itself', () => {
  for (const key of ['k', 'a b', '~!@#$%^&*()_+', 'x'.repeat(255), 'c9b1b1de-5b1f-4f5b-a1b5-0d6a6a3c6a3e']) {
    test(`may be ${key.slice(0, 40)}`, async () => {
      assert.equal((await tenant.post('/v1/customers', { name: uniqueName() }, keyed(key))).status, 201);
    });
  }

  for (const key of ['', 'x'.repeat(256), 'tab\there', 'ünïcode']) {
    test(`may not be ${JSON.stringify(key.slice(0, 20))}`, async () => {
      const answer = await tenant.post('/v1/customers', { name: uniqueName() }, keyed(key));
      assertRefusal(answer, 422, 'invalid_request', 'Idempotency-Key');
    });
  }

  test('means nothing on operations that are idempotent by themselves', async () => {
    const { id } = (await tenant.post('/v1/customers', { name: uniqueName() })).body;
    for (const name of ['One', 'Two']) {
      const answer = await tenant.patch(`/v1/customers/${id}`, { name }, keyed('patch'));
      assert.equal(answer.body.name, name);
    }
    assert.equal((await tenant.get('/v1/customers', keyed(''))).status, 200);
  });
});

function send(operation: Operation, body: unknown, key: string): Promise<Answer> {
  return callerOf(operation, world).post(pathIn(operation.path, world), body, keyed(key));
}

function callerOf(operation: Operation, { organization: ofOrganization, tenant: ofTenant }: World): Client {
  return operation.posture === 'org' ? ofOrganization : ofTenant;
}

/** A body whose call adds one row, whatever was called before. */
async function freshBody(operation: Operation): Promise<Record<string, unknown>> {
  // Attaching a smith that follows the agent already would change nothing.
  if (operation.id === 'agents.attach') return { smith_ids: [await createSmith()] };
  // A scope has one budget a period.
  if (operation.id === 'budgets.create') return { scope: 'smith', scope_id: await createSmith(), limit: 1 };
  // A file is in a store once.
  if (operation.id === 'vector_stores.files.create') return { file_id: await uploadFile(tenant) };
  if (operation.id === 'vector_stores.file_batches.create') return { file_ids: [await uploadFile(tenant)] };
  return { ...bodyFor(operation, world) };
}

/** The body with one member changed to something that the operation would take as well. */
function otherBody(operation: Operation, body: Record<string, unknown>): Record<string, unknown> {
  if (operation.id === 'agents.rollout') return { ...body, percent: 50 };
  if (operation.id === 'agents.attach') return { smith_ids: [world.smithId] };
  if (operation.id.startsWith('vector_stores.file')) return { ...body, attributes: { name: uniqueName() } };
  if (operation.id === 'tenant.webhooks.create') return { ...body, events: ['run.'] };
  if (operation.id === 'tenant.webhooks.rotate') return { grace_seconds: 61 };
  if (operation.id === 'smiths.connections.create') return { ...body, metadata: { name: uniqueName() } };
  if ('spans' in body) return { ...body, app_id: uniqueName().slice(5) };
  if (operation.id === 'organization.billing.redeem') return { code: world.freshCode() };
  if (operation.id === 'deployments.create') return { ...body, provider_metadata: { title: uniqueName() } };
  if (operation.id === 'budgets.create') return { ...body, limit: 7 };
  if (operation.id === 'usage.events.create') return { ...body, quantity: 7 };
  if ('items' in body) return { items: [{ role: 'user', content: uniqueName() }] };
  const member = ['note', 'display_name', 'title', 'reason'].find((one) => one in body) ?? 'name';
  return { ...body, [member]: uniqueName() };
}

async function countRows(operation: Operation): Promise<number> {
  const place = tables[operation.id];
  assert.ok(place, `say in this test where ${operation.id} adds a row`);
  const [table, owner] = place;
  const id = ownerId(operation);
  const { rows } = await platform.db.query<{ count: number }>({
    text: `select count(*) as count from ${table} where ${owner} = $1`,
    values: [id ?? (await organizationId())],
  });
  return rows[0]?.count ?? 0;
}

/** The project whose rows are counted; undefined where they are the organization's. */
function ownerId({ id }: Operation): string | undefined {
  if (id === 'organization.projects.create' || id.startsWith('organization.billing.')) return undefined;
  return id === 'organization.projects.tokens.create' ? world.spareProjectId : world.projectId;
}

async function organizationId(): Promise<string> {
  return (await organization.get(`/v1/organization/projects/${world.projectId}`)).body.organization;
}

async function expire(key: string): Promise<void> {
  const { rowCount } = await platform.db.query({
    text: `update idempotency_keys set expires_at = now() - interval '1 second' where project_id = $1 and key = $2`,
    values: [world.projectId, key],
  });
  assert.equal(rowCount, 1);
}

async function createAgent(): Promise<string> {
  return (await tenant.post('/v1/agents', { name: uniqueName(), model: 'builtin/demo' })).body.id;
}

async function createSmith(): Promise<string> {
  return (await tenant.post('/v1/smiths', { model: 'builtin/demo' })).body.id;
}

function keyed(key: string): Record<string, string> {
  return { 'idempotency-key': key };
}

test('the same key for two smiths, by their tokens or by the header, is two keys', async () => {
  const key = { 'idempotency-key': uniqueName() };
  const create = async (client: Client, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await client.post('/v1/conversations', {}, { ...key, ...headers });
    assert.equal(answer.status, 200, answer.text);
    return answer.body.id;
  };
  const smithClient = tenant.as(await world.smithToken());
  const own = await create(smithClient);
  const others = await create(tenant, { 'ic-smith-id': world.otherSmithId });
  assert.notEqual(others, own);
  assert.equal(await create(smithClient), own);
  assert.equal(await create(tenant, { 'ic-smith-id': world.smithId }), own, 'the smith, whoever speaks for it');
  assert.equal(await create(tenant, { 'ic-smith-id': world.otherSmithId }), others);
});
