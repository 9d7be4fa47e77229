/** Apps: let in by an organization, known by the address of their document, and disconnected again. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type AppClient, startAppClient } from '../../../../test/support/app-client.ts';
import {
  newPkce,
  openAuthorize,
  postForm,
  redeem,
  redirectOf,
  register,
  requestIn,
  sendConsent,
} from '../../../../test/support/oauth.ts';
import { createClient, startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { createOperator } from '../../operator/index.ts';

let platform: TestPlatform;
let project: TestProject;
let url: string;
let app: AppClient;
let clientId: string;

before(async () => {
  app = await startAppClient();
  clientId = app.clientId;
  platform = await startPlatform({ publicUrl: 'own', outboundAllow: ['127.0.0.1'] });
  url = platform.url;
  project = await platform.createProject();
});
after(async () => {
  await app.close();
  await platform.close();
});

const consent = (request: string, more: Record<string, string> = {}) =>
  sendConsent(url, { request, token: platform.organization.token, project_id: project.projectId, ...more });

const signIn = (scope: string | undefined, settle: (request: string) => Promise<URL>) => app.signIn(url, scope, settle);
const onPage = async (request: string) => redirectOf(await consent(request));

test('a stock OpenID client signs in with its key, and gets a project token and an id_token', async () => {
  const tokens = await signIn('openid profile runs:read', onPage);
  assert.equal(tokens.scope, 'openid profile runs:read');
  assert.deepEqual([tokens.expires_in, tokens.refresh_token], [undefined, undefined]);
  const claims = tokens.claims();
  assert.deepEqual([claims?.iss, claims?.aud, claims?.sub], [url, clientId, platform.organizationId]);
  assert.equal((claims?.exp ?? 0) - (claims?.iat ?? 0), 300);
  assert.match(String(claims?.name), /^Test /);
  assert.equal(claims?.email, undefined);
  const held = createClient(url, tokens.access_token);
  assert.ok(tokens.access_token.startsWith('tha_live_'));
  assert.equal((await held.get('/v1/smiths')).status, 200);
  const [row] = (await project.get('/v1/tenant/tokens?limit=1')).body.data;
  assert.deepEqual([row.name, row.scope, row.scopes, row.expires_at], ['Desk', 'admin', ['runs:read'], null]);
  // What no scope opens takes the whole of the project, and an id_token opens nothing.
  for (const path of ['/v1/agents', '/v1/events', '/v1/tenant/tokens', '/v1/files']) {
    assert.equal((await held.get(path)).status, 403, path);
  }
  for (const prefix of ['', 'tha_live_', 'thp_live_', 'tho_live_']) {
    assert.equal((await createClient(url, prefix + tokens.id_token).get('/v1/smiths')).status, 401);
  }
});

test('an id_token of the organization has the name and the contact that an operator gave it', async () => {
  const operator = createOperator({ db: platform.db, issuer: platform.platform.issuer });
  const claimsOf = async (scope: string) => {
    const { iss, aud, iat, exp, nonce, ...claims } = (await signIn(scope, onPage)).claims() ?? {};
    return claims;
  };
  const sub = platform.organizationId;
  const update = (changes: object) => operator.update_organization({ organization: sub, ...changes });
  await update({ name: 'Acme', contact_email: 'owner@acme.example' });
  const known = { name: 'Acme', email: 'owner@acme.example', email_verified: false };
  assert.deepEqual(await claimsOf('openid profile email runs:read'), { sub, ...known });
  assert.deepEqual(await claimsOf('openid runs:read'), { sub });
  assert.deepEqual(await update({ contact_email: null }), { organization_id: sub, name: 'Acme', contact_email: null });
  assert.deepEqual(await claimsOf('openid profile email runs:read'), { sub, name: 'Acme' });
});

test('the organization’s own page vouches for a person', async () => {
  const user = { id: 'u-17', email: 'ada@example.com', email_verified: true, name: 'Ada' };
  const tokens = await signIn('openid email tenant:*', async (request) => {
    const path = `/v1/oauth/authorize-requests/${request}`;
    const read = await platform.organization.get(path);
    assert.deepEqual([read.body.kind, read.body.deployment_id], ['app', null]);
    assert.equal((await project.get(path)).status, 404);
    const body = { project_id: project.projectId, user };
    const answer = await platform.organization.post(`${path}/complete`, body);
    assert.equal(answer.status, 200, answer.text);
    return new URL(answer.body.redirect_url);
  });
  const claims = tokens.claims();
  assert.ok(claims);
  const { sub, email, email_verified, name } = claims;
  assert.deepEqual(
    [sub, email, email_verified, name],
    [`${platform.organizationId}:u-17`, 'ada@example.com', true, undefined],
  );
  assert.equal((await createClient(url, tokens.access_token).get('/v1/agents')).status, 200);
});

test('an app is one in a project, and disconnecting it ends its tokens in all projects', async () => {
  const before = await signIn(undefined, onPage);
  assert.equal(before.scope, 'runs:read files:read');
  const other = await platform.createProject();
  const elsewhere = await signIn('runs:write', async (request) =>
    redirectOf(await consent(request, { project_id: other.projectId })),
  );
  const listed = await platform.organization.get('/v1/organization/apps');
  const found = listed.body.data.filter((app: { project: string }) => app.project === other.projectId);
  assert.deepEqual(
    found.map((app: Record<string, unknown>) => [app.client_id, app.client_name, app.scope, app.revoked_at]),
    [[clientId, 'Desk', 'runs:write', null]],
  );
  assert.equal(listed.body.data.length, 2);
  const foreign = (await platform.createOrganization()).client;
  assert.equal((await foreign.delete(`/v1/organization/apps/${found[0].id}`)).status, 404);
  for (const { access_token } of [before, elsewhere]) {
    assert.notEqual((await createClient(url, access_token).get('/v1/smiths/smt_none')).status, 401);
  }
  for (let time = 0; time < 2; time += 1) {
    assert.equal((await platform.organization.delete(`/v1/organization/apps/${found[0].id}`)).status, 204);
  }
  for (const { access_token } of [before, elsewhere]) {
    assert.equal((await createClient(url, access_token).get('/v1/smiths/smt_none')).status, 401);
  }
  assert.equal((await other.get('/v1/events?type=token.revoked')).body.data.length, 1);
  const again = await signIn('runs:read', onPage);
  assert.equal((await createClient(url, again.access_token).get('/v1/smiths')).status, 200);
});

test('a code that waits while the app is disconnected opens nothing', async () => {
  await signIn('runs:read', onPage);
  const disconnected = signIn('runs:read', async (request) => {
    const back = await onPage(request);
    const { data } = (await platform.organization.get('/v1/organization/apps')).body;
    const found = data.find((one: { revoked_at: string | null }) => one.revoked_at === null);
    assert.equal((await platform.organization.delete(`/v1/organization/apps/${found.id}`)).status, 204);
    return back;
  });
  await assert.rejects(disconnected, { error: 'invalid_grant' });
});

test('what an app’s token has minted, and what that has minted, ends with the app', async () => {
  const { access_token } = await signIn('tenant:*', onPage);
  const held = createClient(url, access_token);
  const smithId = await project.createSmith();
  const admin = createClient(url, (await held.post('/v1/tenant/tokens', { scope: 'admin' })).body.token);
  const smith = await admin.post('/v1/tenant/tokens', {
    scope: 'smith',
    smith_id: smithId,
    permissions: ['runs:read'],
  });
  const minted = [admin, createClient(url, smith.body.token)];
  for (const client of minted) assert.equal((await client.get(`/v1/smiths/${smithId}`)).status, 200);
  const { data } = (await platform.organization.get('/v1/organization/apps')).body;
  const found = data.find((one: { project: string; revoked_at: string | null }) => {
    return one.project === project.projectId && one.revoked_at === null;
  });
  assert.equal((await platform.organization.delete(`/v1/organization/apps/${found.id}`)).status, 204);
  for (const client of [held, ...minted]) assert.equal((await client.get(`/v1/smiths/${smithId}`)).status, 401);
  assert.equal((await project.get(`/v1/smiths/${smithId}`)).status, 200);
});

test('what is asked for wrongly goes back to the app; what is consented to wrongly is said on the page', async () => {
  const ask = (more: Record<string, string>) =>
    openAuthorize(url, { client_id: clientId, code_challenge: newPkce().challenge, ...more });
  for (const scope of ['email', 'profile runs:read', 'everything', 'offline_access']) {
    assert.equal(redirectOf(await ask({ scope })).searchParams.get('error'), 'invalid_scope', scope);
  }
  const registered = (await register(url)).body.client_id;
  const refused = redirectOf(await ask({ client_id: registered, scope: 'runs:read' }));
  assert.equal(refused.searchParams.get('error'), 'invalid_target');
  const request = requestIn(await ask({ scope: 'openid runs:read' }));
  for (const [more, status] of [
    [{ token: project.token }, 403],
    [{ project_id: '' }, 422],
    [{ project_id: 'proj_none' }, 404],
    [{ token: (await platform.createOrganization()).client.token }, 404],
  ] as const) {
    const answer = await consent(request, more);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, /role="alert"/);
  }
  const code = redirectOf(await consent(request)).searchParams.get('code') ?? '';
  const unproven = await redeem(url, { clientId, code, verifier: newPkce().verifier });
  assert.deepEqual([unproven.status, unproven.body.error], [401, 'invalid_client']);
  const metadata = await fetch(`${url}/.well-known/openid-configuration`);
  assert.equal(metadata.headers.get('access-control-allow-origin'), '*');
  assert.equal((await postForm(`${url}/oauth/token`, { grant_type: 'authorization_code', code })).status, 401);
});
