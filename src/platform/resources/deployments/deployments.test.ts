import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { deploymentSecretContext } from '../../channels/index.ts';

const platform = await startPlatform();
after(() => platform.close());

const project = await platform.createProject();
const smithId = await project.createSmith();
const agentId = await makeAgent(project);
const toSmith = { type: 'smith', id: smithId };
const toAgent = { type: 'agent', id: agentId };

async function makeAgent(owner: TestProject): Promise<string> {
  const agent = await owner.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' });
  assert.equal(agent.status, 201, agent.text);
  assert.equal((await owner.post(`/v1/agents/${agent.body.id}/versions`, {})).status, 201);
  return agent.body.id;
}

function create(body: object, caller: Pick<TestProject, 'post'> = project) {
  return caller.post('/v1/deployments', { target: toSmith, kind: 'web', ...body });
}

async function created(body: object = {}) {
  const answer = await create(body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

describe('a page', () => {
  test('is made of what it is told, and of defaults', async () => {
    const page = await created({ target: toAgent, provider_metadata: { title: 'Help', chats_per_minute: 3 } });
    assert.match(page.id, /^dep_/);
    assert.deepEqual(page, {
      id: page.id,
      target: toAgent,
      kind: 'web',
      address: null,
      provider: null,
      provider_metadata: { title: 'Help', greeting: '', chats_per_minute: 3, new_visitors_per_day: 1_000 },
      secret_keys: [],
      mcp_url: '',
      page_url: `http://127.0.0.1:8787/hosted/${page.id}`,
      status: 'active',
      created_at: page.created_at,
    });
    assert.deepEqual((await project.get(`/v1/deployments/${page.id}`)).body, page);
    const [newest] = (await project.get('/v1/deployments?limit=1')).body.data;
    assert.deepEqual(newest, page);
  });

  test('keeps its password as a sealed hash, and shows its name alone', async () => {
    const password = 'correct horse battery staple';
    const answer = await create({ secrets: { password } });
    assert.deepEqual(answer.body.secret_keys, ['password'], answer.text);
    const { id } = answer.body;
    const { rows } = await platform.db.query<{ row: string; sealed_secrets: string }>({
      text: 'select d::text as row, d.sealed_secrets from deployments d where id = $1',
      values: [id],
    });
    const opened = platform.vault.open(rows[0]?.sealed_secrets ?? '', deploymentSecretContext(project.projectId, id));
    assert.match(opened, /^{"password":"scrypt\$[\w-]+\$[\w-]+"}$/);
    const shown = [answer.text, (await project.get(`/v1/deployments/${id}`)).text, rows[0]?.row, opened].join('\n');
    assert.ok(!shown.includes(password));
  });

  test('is renamed', async () => {
    const page = await created({ provider_metadata: { title: 'Before', greeting: 'Hello' } });
    const path = `/v1/deployments/${page.id}`;
    const renamed = await project.patch(path, { display_name: 'After' });
    assert.equal(renamed.status, 200, renamed.text);
    assert.deepEqual(renamed.body.provider_metadata, { ...page.provider_metadata, title: 'After' });
    assert.deepEqual((await project.get(path)).body, renamed.body);
    assertRefusal(await project.patch(path, {}), 422, 'empty_patch');
    assertRefusal(await project.patch(path, { display_name: ' ' }), 422, 'invalid_request', 'display_name');
    const owned = await project.patch(path, { display_name: 'Again', owner_email: 'ada@example.com' });
    assertRefusal(owned, 422, 'nothing_to_update', 'owner_email');
    assert.equal((await project.get(path)).body.provider_metadata.title, 'After');
  });

  test('is gone once it is deleted', async () => {
    const { id } = await created();
    assert.equal((await project.delete(`/v1/deployments/${id}`)).status, 204);
    assertRefusal(await project.get(`/v1/deployments/${id}`), 404, 'not_found');
    assertRefusal(await project.delete(`/v1/deployments/${id}`), 404, 'not_found');
  });

  test('of an archived smith or agent is disconnected', async () => {
    const [smith, agent] = [await project.createSmith(), await makeAgent(project)];
    const pages = [
      await created({ target: { type: 'smith', id: smith } }),
      await created({ target: { type: 'agent', id: agent } }),
    ];
    const other = await created();
    assert.equal((await project.delete(`/v1/smiths/${smith}`)).status, 204);
    assert.equal((await project.delete(`/v1/agents/${agent}`)).status, 204);
    for (const { id } of pages) {
      assert.equal((await project.get(`/v1/deployments/${id}`)).body.status, 'disconnected');
    }
    assert.equal((await project.get(`/v1/deployments/${other.id}`)).body.status, 'active');
    assertRefusal(await create({ target: { type: 'smith', id: smith } }), 404, 'not_found', 'target.id');
  });

  const wrong: readonly [body: object, param: string][] = [
    [{ provider_metadata: { title: '' } }, 'provider_metadata.title'],
    [{ provider_metadata: { title: 'x'.repeat(121) } }, 'provider_metadata.title'],
    [{ provider_metadata: { greeting: 7 } }, 'provider_metadata.greeting'],
    [{ provider_metadata: { greeting: 'x'.repeat(2_001) } }, 'provider_metadata.greeting'],
    [{ provider_metadata: { chats_per_minute: 0 } }, 'provider_metadata.chats_per_minute'],
    [{ provider_metadata: { chats_per_minute: 1.5 } }, 'provider_metadata.chats_per_minute'],
    [{ provider_metadata: { new_visitors_per_day: '9' } }, 'provider_metadata.new_visitors_per_day'],
    [{ provider_metadata: { colour: 'red' } }, 'provider_metadata.colour'],
    [{ secrets: { password: '' } }, 'secrets.password'],
    [{ secrets: { password: 'x'.repeat(257) } }, 'secrets.password'],
    [{ secrets: { token: 'x' } }, 'secrets.token'],
    [{ provider: 'twilio' }, 'provider'],
    [{ target: { type: 'robot', id: smithId } }, 'target.type'],
    [{ target: { type: 'smith' } }, 'target.id'],
  ];
  for (const [body, param] of wrong) {
    test(`is refused with ${JSON.stringify(body).slice(0, 60)}`, async () => {
      assertRefusal(await create(body), 422, 'invalid_request', param);
    });
  }

  test('of an agent that nobody can follow yet is refused', async () => {
    const agent = await project.post('/v1/agents', { name: 'Draft', model: 'builtin/demo' });
    const refused = await create({ target: { type: 'agent', id: agent.body.id } });
    assertRefusal(refused, 409, 'agent_unpublished', 'target.id');
  });
});

describe('an MCP server', () => {
  test('has an address, and nothing of its own', async () => {
    const server = await created({ kind: 'mcp', target: toAgent });
    const { id, mcp_url, page_url, provider_metadata, status } = server;
    const url = `http://127.0.0.1:8787/v1/deployments/${id}/mcp`;
    assert.deepEqual([mcp_url, page_url, provider_metadata, status], [url, '', {}, 'active']);
    assert.deepEqual((await project.get(`/v1/deployments/${id}`)).body, server);
    const renamed = await project.patch(`/v1/deployments/${id}`, { display_name: 'Ada' });
    assertRefusal(renamed, 422, 'rename_unsupported', 'display_name');
  });

  const refusals: readonly [body: object, param: string][] = [
    [{ provider_metadata: { title: 'Help' } }, 'provider_metadata.title'],
    [{ secrets: { password: 'x' } }, 'secrets.password'],
    [{ provider: 'twilio' }, 'provider'],
  ];
  for (const [body, param] of refusals) {
    test(`is refused with ${param}`, async () => {
      assertRefusal(await create({ kind: 'mcp', ...body }), 422, 'invalid_request', param);
    });
  }

  test('of an agent without a version is refused', async () => {
    const agent = await project.post('/v1/agents', { name: 'Draft', model: 'builtin/demo' });
    const refused = await create({ kind: 'mcp', target: { type: 'agent', id: agent.body.id } });
    assertRefusal(refused, 409, 'agent_unpublished', 'target.id');
  });
});

describe('a deployment is refused for what its kind does not take', () => {
  const refusals: readonly [what: string, body: object, code: string, param: string, status?: number][] = [
    ['no such kind', { kind: 'fax' }, 'invalid_kind', 'kind'],
    ['a page is not set up', { setup: {} }, 'web_no_setup', 'setup'],
    ['nor an MCP server', { kind: 'mcp', setup: {} }, 'mcp_no_setup', 'setup'],
    ['a voice is not set up', { kind: 'voice', setup: {} }, 'setup_unsupported', 'setup'],
    ['an agent binds nobody', { kind: 'telegram', target: toAgent, setup: {} }, 'agent_target_no_setup', 'setup'],
    ['an address or a setup', { kind: 'telegram', address: '17', setup: {} }, 'invalid_setup', 'setup'],
    ['a member of another setup', { kind: 'sms', setup: { display_name: 'A' } }, 'invalid_setup', 'setup.display_name'],
    ['an empty member', { kind: 'email', setup: { owner_email: '' } }, 'invalid_setup', 'setup.owner_email'],
    ['an app without a name', { kind: 'slack', setup: {} }, 'display_name_required', 'setup.display_name'],
    ['nobody to speak to', { kind: 'telegram' }, 'address_required', 'address'],
    ['no mailbox', { kind: 'email', target: toAgent }, 'address_required', 'address'],
    [
      'one person for all',
      { kind: 'sms', target: toAgent, address: '+4930901820' },
      'target_not_supported',
      'target.type',
    ],
    ['an address of a page', { address: 'here' }, 'invalid_address', 'address'],
    ['an address of an MCP server', { kind: 'mcp', address: 'here' }, 'invalid_address', 'address'],
    ['a number without its country', { kind: 'whatsapp', address: '030901820' }, 'invalid_address', 'address'],
    ['a name for a chat', { kind: 'telegram', address: '@ada' }, 'invalid_address', 'address'],
    ['a user without a workspace', { kind: 'slack', address: 'U012AB3CD' }, 'invalid_address', 'address'],
    ['a name for a user', { kind: 'discord', address: 'ada' }, 'invalid_address', 'address'],
    ['a mailbox without a host', { kind: 'email', address: 'ada' }, 'invalid_address', 'address'],
  ];
  for (const [what, body, code, param, status = 422] of refusals) {
    test(`${code}: ${what}`, async () => assertRefusal(await create(body), status, code, param));
  }
});

describe('a kind whose account is not set up, or that is not offered, says so', () => {
  const address: Readonly<Record<string, string>> = {
    telegram: '17',
    whatsapp: '+4930901820',
    slack: 'T012AB3CD:U012AB3CD',
    discord: '123456789012345678',
    email: 'ada@example.com',
  };
  const codes: Readonly<Record<string, string>> = {
    telegram: 'telegram_bot_unconfigured',
    slack: 'slack_app_unconfigured',
    whatsapp: 'whatsapp_unconfigured',
    discord: 'empty_config',
    email: 'email_unconfigured',
  };
  for (const kind of Object.keys(codes)) {
    test(kind, async () => {
      const body = { kind, address: address[kind] };
      assertRefusal(await create(body), 422, codes[kind] ?? '', 'kind');
      const missing = await create({ ...body, target: { type: 'smith', id: mintId('smt') } });
      assertRefusal(missing, 404, 'not_found', 'target.id');
    });
  }

  test('slack, where it is to mint an app', async () => {
    const refused = await create({ kind: 'slack', setup: { display_name: 'Ada' } });
    assertRefusal(refused, 422, 'slack_factory_unconfigured', 'kind');
  });
});

test('a smith token deploys and reaches its own smith alone', async () => {
  const token = await project.smithToken(smithId, ['deployments:read', 'deployments:write', 'runs:read']);
  const smith = project.as(token);
  const own = await create({}, smith);
  assert.equal(own.status, 201, own.text);
  const elsewhere = await created({ target: toAgent });
  for (const target of [
    toAgent,
    { type: 'smith', id: await project.createSmith() },
    { type: 'smith', id: mintId('smt') },
  ]) {
    assertRefusal(await create({ target }, smith), 403, 'forbidden_target', 'target.id');
  }
  for (const [kind, address] of [
    ['telegram', '4242424242'],
    ['whatsapp', '+4930901820'],
    ['discord', '123456789012345678'],
    ['slack', 'T0123:U0123'],
  ]) {
    const claimed = await create({ kind, address }, smith);
    assertRefusal(claimed, 403, 'tenant_token_required', 'address');
  }
  const shown = (await smith.get('/v1/deployments?limit=100')).body.data as { id: string; target: object }[];
  assert.ok(shown.some(({ id }) => id === own.body.id));
  for (const { target } of shown) assert.deepEqual(target, toSmith);
  const path = `/v1/deployments/${elsewhere.id}`;
  assertRefusal(await smith.get(path), 404, 'not_found');
  assertRefusal(await smith.patch(path, { display_name: 'Mine' }), 404, 'not_found');
  assertRefusal(await smith.delete(path), 404, 'not_found');
  assert.equal((await smith.delete(`/v1/deployments/${own.body.id}`)).status, 204);
});

test('a deployment whose people see the name of its account is not renamed', async () => {
  const id = mintId('dep');
  await platform.db.query({
    text: `insert into deployments (project_id, id, kind, smith_id, address, provider_metadata, secret_keys, status)
           values ($1, $2, 'telegram', $3, '17', '{}', '{}', 'active')`,
    values: [project.projectId, id, smithId],
  });
  const path = `/v1/deployments/${id}`;
  assertRefusal(await project.patch(path, { display_name: 'Ada' }), 422, 'rename_unsupported', 'display_name');
  assert.equal((await project.get(path)).body.page_url, '');
});
