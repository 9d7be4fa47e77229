/** OAuth clients that a tenant saves: whose endpoints they get, and what becomes of their secrets. */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type OAuthUpstream, startOAuthUpstream } from '../../../../test/support/oauth-upstream.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { createVault } from '../../../kernel/vault/vault.ts';

const PUBLIC_URL = 'http://127.0.0.1:8787';
const CALLBACK = `${PUBLIC_URL}/v1/oauth/callback`;

let upstream: OAuthUpstream;
let platform: TestPlatform;
let p: TestProject;
before(async () => {
  upstream = await startOAuthUpstream(CALLBACK);
  platform = await startPlatform();
  p = await platform.createProject();
});
after(async () => {
  await platform.close();
  await upstream.close();
});

const put = (provider: string, body: object, project = p) => project.put(`/v1/tenant/providers/${provider}`, body);

async function save(provider: string, body: object, project = p) {
  const answer = await put(provider, body, project);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

async function eventsOf(type: string, project = p): Promise<unknown[]> {
  return (await project.get(`/v1/events?type=${type}`)).body.data.map(({ data }: { data: unknown }) => data);
}

const ENDPOINTS = {
  authorization_endpoint: 'https://example.com/authorize',
  token_endpoint: 'https://example.com/token',
};

describe('the secret', () => {
  const sealed = async () => {
    const { rows } = await platform.db.query<{ secret: string | null }>({
      text: `select sealed_client_secret as secret from oauth_providers where project_id = $1 and provider = 'github'`,
      values: [p.projectId],
    });
    return rows[0]?.secret;
  };

  test('is never shown, stays when it is left out, and goes with null', async () => {
    const project = p;
    const made = await put('github', {
      client_id: 'one',
      client_secret: ' s3cret-of-ours\n',
      scopes_allowed: ['repo', 'repo'],
    });
    assert.deepEqual(made.body, {
      provider: 'github',
      client_id: 'one',
      has_secret: true,
      scopes_allowed: ['repo'],
      issuer: null,
      authorization_endpoint: 'https://github.com/login/oauth/authorize',
      token_endpoint: 'https://github.com/login/oauth/access_token',
      revocation_endpoint: null,
      token_endpoint_auth_method: 'client_secret_post',
    });
    const first = await sealed();
    assert.ok(first !== null && first !== undefined && !first.includes('s3cret'));
    const kept = await save('github', { client_id: 'two' });
    assert.deepEqual([kept.has_secret, kept.client_id, kept.scopes_allowed], [true, 'two', []]);
    assert.equal(await sealed(), first);
    await save('github', { client_id: 'two', client_secret: 'another' });
    assert.notEqual(await sealed(), first);
    const without = await save('github', { client_id: 'two', client_secret: null });
    assert.deepEqual([without.has_secret, without.token_endpoint_auth_method], [false, 'none']);
    assert.equal(await sealed(), null);
    await save('github', { client_id: 'two', client_secret: null });
    const shown = await project.get('/v1/tenant/providers/github');
    assert.deepEqual(shown.body, without);
    const event = { provider: 'github', client_id: 'two', scopes_allowed: [] };
    assert.deepEqual(await eventsOf('provider.updated'), [
      { ...event, secret_replaced: false },
      { ...event, secret_replaced: true },
      { ...event, secret_replaced: true },
      { ...event, secret_replaced: false },
      { ...event, client_id: 'one', scopes_allowed: ['repo'], secret_replaced: true },
    ]);
    const [{ actor }] = (await project.get('/v1/events?type=provider.updated&limit=1')).body.data;
    assert.deepEqual([actor.kind, actor.id], ['tenant', p.projectId]);
  });

  test('is asked for where one is needed', async () => {
    const required = async (body: object) =>
      assertRefusal(
        await put('work', { client_id: 'one', ...ENDPOINTS, ...body }),
        422,
        'secret_required',
        'client_secret',
      );
    await required({ client_secret: '' });
    await required({ client_secret: ' \n' });
    await required({ token_endpoint_auth_method: 'client_secret_post' });
    await required({ token_endpoint_auth_method: 'client_secret_basic', client_secret: null });
    await save('work', { client_id: 'one', ...ENDPOINTS, client_secret: 'kept' });
    // It would be sent to somebody else.
    await required({ token_endpoint: 'https://example.com:8443/token' });
    const moved = { ...ENDPOINTS, token_endpoint: 'https://example.com:8443/token' };
    assert.equal((await save('work', { client_id: 'one', ...moved, client_secret: 'fresh' })).has_secret, true);
    assertRefusal(
      await put('work', { client_id: 'one', ...moved, client_secret: 'séance' }),
      422,
      'invalid_request',
      'client_secret',
    );
    for (const token_endpoint_auth_method of ['none', 'private_key_jwt']) {
      const saved = await save('bare', { client_id: 'one', ...ENDPOINTS, token_endpoint_auth_method });
      assert.deepEqual([saved.has_secret, saved.token_endpoint_auth_method], [false, token_endpoint_auth_method]);
    }
  });
});

test('an issuer’s metadata gives what is left out, and what is sent goes before it', async () => {
  const body = { ...upstream.client, issuer: upstream.issuer };
  const found = await save('found', body);
  const { client_secret: _, ...client } = upstream.client;
  assert.deepEqual(found, {
    provider: 'found',
    ...client,
    has_secret: true,
    scopes_allowed: [],
    issuer: upstream.issuer,
    authorization_endpoint: `${upstream.issuer}/auth`,
    token_endpoint: `${upstream.issuer}/token`,
    revocation_endpoint: `${upstream.issuer}/token/revocation`,
    token_endpoint_auth_method: 'client_secret_basic',
  });
  const revocation_endpoint = 'https://example.com/revoke';
  const own = await save('found', { ...body, revocation_endpoint, token_endpoint_auth_method: 'client_secret_post' });
  assert.deepEqual(own, { ...found, revocation_endpoint, token_endpoint_auth_method: 'client_secret_post' });
  // Replaced as a whole.
  assert.deepEqual(await save('found', body), found);
  assertRefusal(await put('found', { ...body, issuer: 'https://example.com:1' }), 502, 'discovery_failed', 'issuer');
  assert.deepEqual((await p.get('/v1/tenant/providers/found')).body, found);
});

test('what is no name, no known provider and no address is refused as what it is, and nothing is saved', async () => {
  const project = await platform.createProject();
  const client = { client_id: 'one' };
  assertRefusal(await put('nobody', client, project), 404, 'unknown_provider', 'provider');
  assertRefusal(
    await put('nobody', { ...client, token_endpoint: ENDPOINTS.token_endpoint }, project),
    404,
    'unknown_provider',
    'provider',
  );
  for (const name of ['Work', 'mcp:notes', '-work', 'w'.repeat(64)]) {
    assertRefusal(await put(encodeURIComponent(name), { ...client, ...ENDPOINTS }, project), 422, 'invalid_name');
  }
  for (const member of ['authorization_endpoint', 'token_endpoint', 'revocation_endpoint', 'issuer']) {
    for (const url of [
      'http://93.184.216.34/',
      'javascript:alert(1)',
      'https://10.0.0.1/',
      'https://example.com/#a',
      'x',
      '',
    ]) {
      const answer = await put('work', { ...client, ...ENDPOINTS, [member]: url }, project);
      assertRefusal(answer, 422, 'invalid_url', member);
    }
  }
  assert.deepEqual((await project.get('/v1/tenant/providers')).body, { data: [] });
  assert.deepEqual(await eventsOf('provider.updated', project), []);
});

test('the list is by name; a provider that is deleted is gone, with an event, once', async () => {
  const project = await platform.createProject();
  for (const provider of ['slack', 'google', 'atlassian']) await save(provider, { client_id: provider }, project);
  const { body } = await project.get('/v1/tenant/providers');
  assert.deepEqual(Object.keys(body), ['data']);
  assert.deepEqual(
    body.data.map(({ provider }: { provider: string }) => provider),
    ['atlassian', 'google', 'slack'],
  );
  assertRefusal(await p.delete('/v1/tenant/providers/slack'), 404, 'not_found');
  assert.equal((await project.delete('/v1/tenant/providers/slack')).status, 204);
  assertRefusal(await project.delete('/v1/tenant/providers/slack'), 404, 'not_found');
  assertRefusal(await project.get('/v1/tenant/providers/slack'), 404, 'not_found');
  assert.deepEqual(await eventsOf('provider.deleted', project), [{ provider: 'slack' }]);
});

test('a client that cannot be had is said to be missing: saved by nobody, or at an issuer that gives none', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const authorize = async (auth: object) => {
    const saved = await project.put('/v1/tenant/mcp/notes', { url: upstream.mcpUrl, auth: { kind: 'oauth', ...auth } });
    assert.ok(saved.status < 300, saved.text);
    return project.post(`/v1/smiths/${smithId}/connections/authorize`, { provider: 'mcp:notes' });
  };
  assertRefusal(await authorize({ client_mode: 'metadata_document' }), 422, 'client_unavailable');
  await save('work', { ...upstream.client, issuer: upstream.issuer }, project);
  const registered = { client_mode: 'registered', provider: 'work' };
  const { status, body, text } = await authorize(registered);
  assert.equal(status, 200, text);
  assert.equal(new URL(body.authorize_url).searchParams.get('client_id'), upstream.client.client_id);
  assert.equal((await project.delete('/v1/tenant/providers/work')).status, 204);
  const again = await project.post(`/v1/smiths/${smithId}/connections/authorize`, { provider: 'mcp:notes' });
  assertRefusal(again, 422, 'auth_not_configured', 'provider');
});

test('what no master key of this server opens is broker_unavailable, and spends nothing', async () => {
  const project = await platform.createProject();
  await save(
    'work',
    { ...upstream.client, issuer: upstream.issuer, scopes_allowed: ['read', 'offline_access'] },
    project,
  );
  const smithId = await project.createSmith();
  const connections = `/v1/smiths/${smithId}/connections`;
  const visit = async () => {
    const link = await project.post(`${connections}/authorize`, { provider: 'work' });
    return (await upstream.visit(link.body.authorize_url)).replace(PUBLIC_URL, platform.url);
  };
  assert.equal((await fetch(await visit())).status, 200);
  const [{ id }] = (await project.get(connections)).body.data;
  const another = createVault([createSecretKey(randomBytes(32))]).seal('{}', 'another');
  for (const [table, column] of [
    ['connections', 'sealed_credential'],
    ['oauth_providers', 'sealed_client_secret'],
  ]) {
    const swap = async (text: string) => {
      const { rows } = await platform.db.query<{ before: string }>({
        text: `with old as (select ${column} as before from ${table} where project_id = $1)
               update ${table} set ${column} = $2 from old where project_id = $1 returning old.before`,
        values: [project.projectId, text],
      });
      return rows[0]?.before ?? assert.fail();
    };
    const { refreshes, codes } = upstream.counts;
    const before = await swap(another);
    assertRefusal(await project.post(`${connections}/${id}/refresh`), 503, 'broker_unavailable');
    if (table === 'oauth_providers') {
      const answer = await fetch(await visit());
      assert.equal(answer.status, 503);
      assert.match(await answer.text(), /"broker_unavailable"/);
    }
    assert.deepEqual([upstream.counts.refreshes, upstream.counts.codes], [refreshes, codes]);
    assert.equal((await project.get(`${connections}/${id}`)).body.status, 'active');
    await swap(before);
    const refreshed = await project.post(`${connections}/${id}/refresh`);
    assert.deepEqual([refreshed.status, refreshed.body.status], [200, 'active'], refreshed.text);
  }
});
