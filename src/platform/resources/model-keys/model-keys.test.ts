import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { createLogger } from '../../../kernel/log/log.ts';

const isLately = startLately();

const logged: string[] = [];
const platform = await startPlatform({
  logger: createLogger({ logLevel: 'trace' }, { write: (line: string) => void logged.push(line) }),
});
after(() => platform.close());

const TENANT = '/v1/tenant/model_keys';
const SECRET = 'sk-secret-7c1f';

async function newSmith() {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  return { project, smithId, path: `/v1/smiths/${smithId}/model_keys` };
}

test('a tenant’s key is set, listed, replaced as a whole and deleted, and never shown', async () => {
  const project = await platform.createProject();
  const set = await project.put(`${TENANT}/openai`, {
    api_key: SECRET,
    base_url: 'http://127.0.0.1:9/v1/',
    workspace_id: 'proj_1',
  });
  assert.equal(set.status, 200);
  const where = { base_url: 'http://127.0.0.1:9/v1', workspace_id: 'proj_1' };
  assert.deepEqual(set.body, { provider: 'openai', configured: true, ...where });
  assert.equal((await project.put(`${TENANT}/anthropic`, { api_key: SECRET, base_url: null })).status, 200);

  const list = await project.get(TENANT);
  assert.equal(list.status, 200);
  assert.deepEqual(Object.keys(list.body), ['data']);
  const [anthropic, { updated_at, ...openai }] = list.body.data;
  assert.deepEqual(openai, { provider: 'openai', has_key: true, ...where });
  assert.ok(isLately(updated_at));
  assert.deepEqual([anthropic.provider, anthropic.base_url, anthropic.workspace_id], ['anthropic', null, null]);

  const replaced = await project.put(`${TENANT}/openai`, { api_key: 'sk-other' });
  assert.deepEqual(replaced.body, { provider: 'openai', configured: true, base_url: null, workspace_id: null });
  const kept = (await project.get(TENANT)).body.data.map((key: Record<string, unknown>) => ({
    ...key,
    updated_at: '',
  }));
  assert.deepEqual(
    kept,
    ['anthropic', 'openai'].map((provider) => ({
      provider,
      base_url: null,
      workspace_id: null,
      has_key: true,
      updated_at: '',
    })),
  );

  const deleted = await project.delete(`${TENANT}/openai`);
  assert.deepEqual([deleted.status, deleted.text], [204, '']);
  assert.deepEqual(
    (await project.get(TENANT)).body.data.map((key: { provider: string }) => key.provider),
    ['anthropic'],
  );
  const again = await project.delete(`${TENANT}/openai`);
  assert.deepEqual([again.status, again.body.error.code], [404, 'not_found']);

  const { rows } = await platform.db.query({
    text: 'select model_keys::text as row from model_keys where project_id = $1',
    values: [project.projectId],
  });
  const events = await project.get('/v1/events');
  for (const text of [set.text, list.text, events.text, JSON.stringify(rows), logged.join('')]) {
    assert.ok(!text.includes(SECRET) && !text.includes('sk-other'));
  }
  assert.ok(logged.length > 0);
});

test('the feed tells of a key set, replaced and deleted, with its scope and address', async () => {
  const { project, smithId, path } = await newSmith();
  await project.put(`${TENANT}/openai`, { api_key: SECRET, base_url: 'http://127.0.0.1:9/v1' });
  await project.put(`${path}/mistral`, { api_key: SECRET });
  await project.delete(`${path}/mistral`);
  await project.delete(`${TENANT}/openai`);
  await project.delete(`${TENANT}/openai`);

  const events = (await project.get('/v1/events?type=model_key')).body.data;
  assert.deepEqual(
    events.map((event: { type: string; smith_id: string | null; data: unknown }) => [
      event.type,
      event.smith_id,
      event.data,
    ]),
    [
      ['model_key.deleted', null, { provider: 'openai', scope: 'tenant' }],
      ['model_key.deleted', smithId, { provider: 'mistral', scope: 'smith' }],
      ['model_key.updated', smithId, { provider: 'mistral', scope: 'smith', base_url: null }],
      ['model_key.updated', null, { provider: 'openai', scope: 'tenant', base_url: 'http://127.0.0.1:9/v1' }],
    ],
  );
  assert.equal(events[0].actor.id, project.projectId);
});

test('a smith’s keys are its own: neither the tenant’s nor another smith’s', async () => {
  const { project, smithId, path } = await newSmith();
  const other = await project.createSmith();
  await project.put(`${TENANT}/openai`, { api_key: SECRET });
  const smith = project.as(await project.smithToken(smithId, ['model_keys:read', 'model_keys:write']));

  const set = await smith.put(`${path}/google`, { api_key: SECRET });
  assert.deepEqual(set.body, { provider: 'google', configured: true, base_url: null, workspace_id: null });
  const providersOf = async (at: string) =>
    (await project.get(at)).body.data.map((key: { provider: string }) => key.provider);
  assert.deepEqual(await providersOf(path), ['google']);
  assert.deepEqual(await providersOf(TENANT), ['openai']);
  assert.deepEqual(await providersOf(`/v1/smiths/${other}/model_keys`), []);
  const [event] = (await project.get('/v1/events?type=model_key.updated&limit=1')).body.data;
  assert.deepEqual([event.actor.kind, event.actor.id], ['smith', smithId]);

  assert.equal((await smith.delete(`${path}/openai`)).body.error.code, 'not_found');
  assert.equal((await smith.delete(`${path}/google`)).status, 204);
  assert.equal((await smith.get(TENANT)).body.error.code, 'admin_required');
});

test('a smith that is deleted or never was has no keys', async () => {
  const { project, smithId, path } = await newSmith();
  await project.put(`${path}/openai`, { api_key: SECRET });
  await project.delete(`/v1/smiths/${smithId}`);
  for (const at of [path, '/v1/smiths/smt_none/model_keys']) {
    for (const answer of [
      await project.get(at),
      await project.put(`${at}/openai`, { api_key: SECRET }),
      await project.delete(`${at}/openai`),
    ]) {
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
    }
  }
});

test('a key that no turn could use is refused when it is saved', async () => {
  const { project, path } = await newSmith();
  const api_key = SECRET;
  const cases: [provider: string, body: unknown, status: number, code: string, param: string][] = [
    ['nowhere', { api_key }, 404, 'unknown_provider', 'provider'],
    ['constructor', { api_key }, 404, 'unknown_provider', 'provider'],
    ['builtin', { api_key }, 422, 'unsupported', 'provider'],
    ['openai', {}, 422, 'empty_key', 'api_key'],
    ['openai', { api_key: '' }, 422, 'empty_key', 'api_key'],
    ['openai', { api_key: ' \n' }, 422, 'empty_key', 'api_key'],
    ['openai', { api_key: 7 }, 422, 'invalid_request', 'api_key'],
    ['openai', { api_key: 'ключ' }, 422, 'invalid_request', 'api_key'],
    ['openai', { api_key: 'sk\r\nx-admin: 1' }, 422, 'invalid_request', 'api_key'],
    ['openai', { api_key, name: 'x' }, 422, 'invalid_request', 'name'],
    ['openai', { api_key, workspace_id: 'a\u0000b' }, 422, 'invalid_request', 'workspace_id'],
    ['anthropic', { api_key, workspace_id: 'w1' }, 422, 'workspace_id_unsupported', 'workspace_id'],
    ['openai-compatible', { api_key }, 422, 'url_required', 'base_url'],
    ['openai-compatible', { api_key, base_url: '' }, 422, 'invalid_url', 'base_url'],
    ['openai', { api_key, base_url: 'api.openai.com/v1' }, 422, 'invalid_url', 'base_url'],
    ['openai', { api_key, base_url: 'file:///etc/passwd' }, 422, 'invalid_url', 'base_url'],
    ['openai', { api_key, base_url: 'http://me:pw@127.0.0.1/v1' }, 422, 'invalid_url', 'base_url'],
    ['openai', { api_key, base_url: 'http://127.0.0.1/v1?key=x' }, 422, 'invalid_url', 'base_url'],
    ['openai', { api_key, base_url: 'http://169.254.169.254/v1' }, 422, 'invalid_url', 'base_url'],
    ['bedrock', { api_key: '{"region":"eu-west-1"}' }, 422, 'bedrock_unconfigured', 'api_key'],
    ['bedrock', { api_key: 'AKIAIOSFODNN7EXAMPLE:' }, 422, 'bedrock_unconfigured', 'api_key'],
  ];
  for (const [provider, body, status, code, param] of cases) {
    for (const at of [TENANT, path]) {
      const answer = await project.put(`${at}/${provider}`, body);
      const said = [answer.status, answer.body.error?.code, answer.body.error?.param];
      assert.deepEqual(said, [status, code, param], `${at}/${provider} ${JSON.stringify(body)}: ${answer.text}`);
      assert.ok(!answer.text.includes(SECRET));
    }
  }
  assert.deepEqual((await project.get(TENANT)).body.data, []);
  assert.deepEqual((await project.get('/v1/events?type=model_key')).body.data, []);
});

test('a private address is for tenants, as long as the operator allows it, and never for a smith', async () => {
  const { project, path } = await newSmith();
  const body = { api_key: 'none', base_url: 'http://127.0.0.1:11434/v1' };
  assert.equal((await project.put(`${TENANT}/ollama`, body)).status, 200);
  assert.equal((await project.put(`${path}/ollama`, body)).body.error.code, 'invalid_url');

  const strict = await startPlatform({
    limits: { modelPrivateAddresses: 'deny' },
    sharing: { db: platform.db, vault: platform.vault },
  });
  try {
    const response = await fetch(`${strict.url}${TENANT}/ollama`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${project.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 422);
    assert.match(await response.text(), /invalid_url/);
  } finally {
    await strict.close();
  }
});

test('Bedrock credentials are taken in each of their spellings', async () => {
  const project = await platform.createProject();
  const secret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
  for (const api_key of [
    'bedrock-api-key-abc',
    `AKIAIOSFODNN7EXAMPLE:${secret}:eu-west-1`,
    JSON.stringify({ access_key_id: 'AKIAIOSFODNN7EXAMPLE', secret_access_key: secret, region: 'eu-west-1' }, null, 2),
  ]) {
    assert.equal((await project.put(`${TENANT}/bedrock`, { api_key })).status, 200);
  }
});

test('one provider set from many places at once ends as one key', async () => {
  const project = await platform.createProject();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => project.put(`${TENANT}/xai`, { api_key: `sk-${n}` })),
  );
  assert.ok(answers.every((answer) => answer.status === 200));
  assert.equal((await project.get(TENANT)).body.data.length, 1);
  assert.equal((await project.get('/v1/events?type=model_key.updated')).body.data.length, 20);
});
