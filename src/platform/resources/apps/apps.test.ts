/** Apps: let in by an organization, known by the address of their document, and disconnected again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import * as openid from 'openid-client';
import {
  newPkce,
  openAuthorize,
  postForm,
  REDIRECT,
  redeem,
  redirectOf,
  register,
  requestIn,
  sendConsent,
} from '../../../../test/support/oauth.ts';
import { createClient, startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';

let platform: TestPlatform;
let project: TestProject;
let url: string;
let host: Server;
let clientId: string;
const keys = await generateKeyPair('ES256');
const jwk = { ...(await exportJWK(keys.publicKey)), alg: 'ES256', kid: 'one' };

before(async () => {
  host = createServer((request, response) => {
    const document = {
      ...{ client_id: clientId, client_name: 'Desk', redirect_uris: [REDIRECT], scope: 'runs:read files:read' },
      ...{ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: clientId.replace('app.json', 'keys.json') },
    };
    const body = request.url === '/keys.json' ? { keys: [jwk] } : document;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(host, 'listening');
  clientId = `http://127.0.0.1:${(host.address() as AddressInfo).port}/app.json`;
  platform = await startPlatform({ publicUrl: 'own', outboundAllow: ['127.0.0.1'] });
  url = platform.url;
  project = await platform.createProject();
});
after(async () => {
  host.closeAllConnections();
  host.close();
  await platform.close();
});

const consent = (request: string, more: Record<string, string> = {}) =>
  sendConsent(url, { request, token: platform.organization.token, project_id: project.projectId, ...more });

/** As a stock OpenID client has it. `settle`: what happens in the browser, from the page to the address that it comes back to. */
async function signIn(scope: string | undefined, settle: (request: string) => Promise<URL>, of = clientId) {
  const authentication = openid.PrivateKeyJwt({ key: keys.privateKey, kid: 'one' });
  const options = { execute: [openid.allowInsecureRequests] };
  const config = await openid.discovery(new URL(url), of, undefined, authentication, options);
  const verifier = openid.randomPKCECodeVerifier();
  const expectedNonce = openid.randomNonce();
  const expectedState = openid.randomState();
  const to = openid.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT,
    ...(scope === undefined ? {} : { scope }),
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
  });
  const back = await settle(requestIn(await openAuthorize(url, Object.fromEntries(to.searchParams))));
  const checks = { pkceCodeVerifier: verifier, expectedState };
  const expected = scope?.includes('openid') === true ? { ...checks, expectedNonce, idTokenExpected: true } : checks;
  return openid.authorizationCodeGrant(config, back, expected);
}

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

test('what an app’s token has minted, and what that has minted, ends with the app', async () => {
  const { access_token } = await signIn('tenant:*', onPage);
  const app = createClient(url, access_token);
  const smithId = await project.createSmith();
  const admin = createClient(url, (await app.post('/v1/tenant/tokens', { scope: 'admin' })).body.token);
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
  for (const client of [app, ...minted]) assert.equal((await client.get(`/v1/smiths/${smithId}`)).status, 401);
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
