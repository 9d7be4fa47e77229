/** A client of an MCP server, from its registration to the end of its tokens, as it stands on the wire. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type McpDeployment, publishAgent, publishMcp } from '../../../../test/support/mcp-deployment.ts';
import {
  newClientId,
  newPkce,
  openAuthorize,
  postForm,
  REDIRECT,
  redeem,
  redirectOf,
  refreshWith,
  requestIn,
  sendConsent,
} from '../../../../test/support/oauth.ts';
import { createClient, startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { tenantDb } from '../../store/tenant-db.ts';

const PUBLIC_URL = 'http://127.0.0.1:8787';
let platform: TestPlatform;
let project: TestProject;
let smithId: string;
let server: McpDeployment;
let resource: string;
let url: string;
before(async () => {
  platform = await startPlatform();
  url = platform.url;
  project = await platform.createProject();
  smithId = await project.createSmith();
  server = await publishMcp(project, { type: 'smith', id: smithId });
  resource = PUBLIC_URL + server.path;
});
after(() => platform.close());

const consentOf = (request: string, more: Record<string, string> = {}) =>
  sendConsent(url, { request, token: project.token, ...more }, PUBLIC_URL);

/** What a client has once it is let in. */
async function connect() {
  const consented = await consentedClient();
  const answer = await redeem(url, consented);
  assert.equal(answer.status, 200, answer.text);
  return { ...consented, tokens: answer.body };
}

async function consentedClient(target = resource, more: Record<string, string> = {}) {
  const clientId = await newClientId(url);
  const { verifier, challenge } = newPkce();
  const page = await openAuthorize(url, {
    client_id: clientId,
    resource: target,
    code_challenge: challenge,
    state: 'a b',
  });
  const answer = await consentOf(requestIn(page), more);
  return { clientId, verifier, code: redirectOf(answer).searchParams.get('code') ?? '', answer };
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const call = (token: string, path = server.path) =>
  createClient(url, token).post(path, ping, {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  });

test('what a client is told without a token leads it to the token endpoint', async () => {
  const refused = await call('');
  assert.equal(refused.status, 401);
  const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  const described = await fetch(metadata.replace(PUBLIC_URL, url)).then((response) => response.json());
  assert.deepEqual(described, {
    resource,
    authorization_servers: [PUBLIC_URL],
    bearer_methods_supported: ['header'],
    scopes_supported: ['runs:write'],
  });
  const answer = await fetch(`${url}/.well-known/oauth-authorization-server`);
  assert.equal(answer.headers.get('access-control-allow-origin'), '*');
  const found = (await answer.json()) as Record<string, unknown>;
  assert.deepEqual(
    [found.issuer, found.authorization_endpoint, found.token_endpoint, found.registration_endpoint],
    [PUBLIC_URL, ...['authorize', 'token', 'register'].map((name) => `${PUBLIC_URL}/oauth/${name}`)],
  );
  assert.deepEqual(found.code_challenge_methods_supported, ['S256']);
  assert.equal(found.client_id_metadata_document_supported, true);
  const unknown = await fetch(`${url}/.well-known/oauth-protected-resource/v1/deployments/dep_none/mcp`);
  assert.equal(unknown.status, 404);
});

test('a consent comes to a code, and the code to a token that the MCP server takes', async () => {
  const consented = await consentedClient();
  const answer = await redeem(url, consented);
  const tokens = answer.body;
  assert.equal(consented.answer.status, 303);
  const back = redirectOf(consented.answer);
  assert.equal(back.origin + back.pathname, REDIRECT);
  assert.deepEqual([back.searchParams.get('state'), back.searchParams.get('iss')], ['a b', PUBLIC_URL]);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.deepEqual(
    [tokens.token_type, tokens.scope, tokens.expires_in, tokens.access_token.startsWith('thp_live_')],
    ['Bearer', 'runs:write', 3600, true],
  );
  assert.equal((await call(tokens.access_token)).status, 200);
  const listed = await project.get('/v1/tenant/tokens?limit=1');
  const { name, scope, scopes, sub } = listed.body.data[0];
  assert.deepEqual(
    [name, scope, scopes, sub],
    ['Test client', 'smith', ['runs:write'], `${project.projectId}:${smithId}`],
  );
  const events = await project.get(`/v1/events?type=token.created&smith_id=${smithId}`);
  const made = events.body.data.filter(
    (event: { data: { token_id: string } }) => event.data.token_id === listed.body.data[0].id,
  );
  assert.equal(made.length, 1);
});

test('the token of one MCP server is none at another', async () => {
  const { tokens } = await connect();
  const other = await publishMcp(project, { type: 'smith', id: smithId });
  const refused = await call(tokens.access_token, other.path);
  assert.equal(refused.status, 401);
  assert.match(refused.headers.get('www-authenticate') ?? '', /resource_metadata=".+", scope="runs:write"/);
});

test('a token ends with its deployment, its smith and its row', async () => {
  const agentId = await publishAgent(project);
  const made = await project.post('/v1/smiths', { agent_id: agentId });
  const endings = {
    deployment: (deployment: McpDeployment) => project.delete(`/v1/deployments/${deployment.id}`),
    smith: () => project.delete(`/v1/smiths/${made.body.id}`),
  };
  for (const [what, end] of Object.entries(endings)) {
    const deployment = await publishMcp(project, { type: 'agent', id: agentId });
    const client = await consentedClient(PUBLIC_URL + deployment.path, { smith_id: made.body.id });
    const { body: tokens } = await redeem(url, client);
    assert.equal((await call(tokens.access_token, deployment.path)).status, 200, what);
    assert.equal((await end(deployment)).status, 204, what);
    assert.equal((await call(tokens.access_token, deployment.path)).status, 401, what);
    assert.equal((await refreshWith(url, client.clientId, tokens.refresh_token)).body.error, 'invalid_grant', what);
  }
  const { tokens, clientId } = await connect();
  const [{ id }] = (await project.get('/v1/tenant/tokens?limit=1')).body.data;
  assert.equal((await project.delete(`/v1/tenant/tokens/${id}`)).status, 204);
  assert.equal((await call(tokens.access_token)).status, 401);
  assert.equal((await refreshWith(url, clientId, tokens.refresh_token)).body.error, 'invalid_grant');
});

test('of a hundred redemptions of one code one gives a token; the code coming again ends it', async () => {
  const consented = await consentedClient();
  const answers = await Promise.all(Array.from({ length: 100 }, () => redeem(url, consented)));
  const given = answers.filter(({ status }) => status === 200);
  assert.equal(given.length, 1);
  for (const { status, body } of answers)
    if (status !== 200) assert.deepEqual([status, body.error], [400, 'invalid_grant']);
  await redeem(url, consented);
  assert.equal((await call(given[0]?.body.access_token)).status, 401);
  assert.equal((await refreshWith(url, consented.clientId, given[0]?.body.refresh_token)).status, 400);
});

test('a code is good for its client, redirect and verifier, for a minute, and no failure spends it', async () => {
  const consented = await consentedClient();
  const other = await newClientId(url);
  for (const wrong of [
    { client_id: other },
    { code_verifier: newPkce().verifier },
    { redirect_uri: 'http://127.0.0.1/other' },
    { code: `${consented.code}x` },
  ]) {
    const refused = await redeem(url, consented, wrong);
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant'], JSON.stringify(wrong));
  }
  const elsewhere = await redeem(url, consented, { resource: `${PUBLIC_URL}/v1/deployments/dep_other/mcp` });
  assert.deepEqual([elsewhere.status, elsewhere.body.error], [400, 'invalid_target']);
  assert.equal((await redeem(url, consented, { resource, redirect_uri: '' })).status, 200);

  const late = await consentedClient();
  await platform.db.query({
    text: `update oauth_requests set code_expires_at = now() - interval '1 second' where client_id = $1`,
    values: [late.clientId],
  });
  assert.equal((await redeem(url, late)).body.error, 'invalid_grant');
});

test('a refresh token is good once; within half a minute its successor gets a sibling, later its family ends', async () => {
  const { clientId, tokens } = await connect();
  const first = await refreshWith(url, clientId, tokens.refresh_token, { resource });
  assert.equal(first.status, 200, first.text);
  assert.equal((await call(first.body.access_token)).status, 200);
  const sibling = await refreshWith(url, clientId, tokens.refresh_token);
  assert.equal(sibling.status, 200, sibling.text);
  assert.notEqual(sibling.body.refresh_token, first.body.refresh_token);
  const others = await refreshWith(url, await newClientId(url), first.body.refresh_token);
  assert.equal(others.body.error, 'invalid_grant');
  assert.equal((await refreshWith(url, clientId, first.body.refresh_token)).status, 200);
  await platform.db.query({
    text: `update oauth_refresh_tokens set spent_at = spent_at - interval '31 seconds' where project_id = $1`,
    values: [project.projectId],
  });
  assert.equal((await refreshWith(url, clientId, tokens.refresh_token)).body.error, 'invalid_grant');
  for (const { body } of [first, sibling]) {
    assert.equal((await refreshWith(url, clientId, body.refresh_token)).body.error, 'invalid_grant');
    assert.equal((await call(body.access_token)).status, 401);
  }
  const revoked = await project.get('/v1/events?type=token.revoked&limit=1');
  assert.equal(revoked.body.data.length, 1);
});

test('a client gives back what it has, and nothing of others', async () => {
  const mine = await connect();
  const other = await connect();
  const revoke = (token: string) => postForm(`${url}/oauth/revoke`, { client_id: mine.clientId, token });
  for (const token of [other.tokens.refresh_token, other.tokens.access_token, project.token, 'nothing']) {
    assert.equal((await revoke(token)).status, 200);
  }
  assert.equal((await call(other.tokens.access_token)).status, 200);
  assert.equal((await project.get('/v1/smiths')).status, 200);
  assert.equal((await revoke(mine.tokens.refresh_token)).status, 200);
  assert.equal((await call(mine.tokens.access_token)).status, 401);
  const nobody = await postForm(`${url}/oauth/revoke`, { client_id: 'ocl_none', token: 'x' });
  assert.deepEqual([nobody.status, nobody.body.error], [401, 'invalid_client']);
});

test('no table holds a token, a code or a secret', async () => {
  const { code, tokens } = await connect();
  const secrets = [code, tokens.refresh_token, tokens.access_token, tokens.access_token.split('.').at(-1)];
  const { rows: tables } = await platform.db.query<{ name: string }>({
    text: `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
    values: [],
  });
  for (const { name } of tables) {
    const { rows } = await platform.db.query({
      text: `select from "${name}" as kept where exists (select from unnest($1::text[]) s where position(s in kept::text) > 0)`,
      values: [secrets],
    });
    assert.equal(rows.length, 0, name);
  }
  const row = await tenantDb(platform.db, project.projectId)
    .selectFrom('tokens')
    .select('client_id')
    .where('client_id', 'is not', null)
    .executeTakeFirst();
  assert.ok(row, 'the tables that were looked through are those of this server');
});
