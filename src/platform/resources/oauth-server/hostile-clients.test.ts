/** Clients that mean ill, or are written badly: what they register, what they ask for, and whose token they are let in with. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { publishAgent, publishMcp } from '../../../../test/support/mcp-deployment.ts';
import {
  newClientId,
  newPkce,
  obtainCode,
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

const PUBLIC_URL = 'http://127.0.0.1:8787';
let platform: TestPlatform;
let project: TestProject;
let url: string;
let agentId: string;
let smithId: string;
let resource: string;
let clientId: string;
before(async () => {
  platform = await startPlatform();
  url = platform.url;
  project = await platform.createProject();
  agentId = await publishAgent(project);
  smithId = (await project.post('/v1/smiths', { agent_id: agentId })).body.id;
  resource = PUBLIC_URL + (await publishMcp(project, { type: 'agent', id: agentId })).path;
  clientId = await newClientId(url);
});
after(() => platform.close());

const ask = (more: Record<string, string | undefined> = {}) =>
  openAuthorize(url, {
    client_id: clientId,
    resource,
    code_challenge: newPkce().challenge,
    state: 'state',
    ...more,
  });

test('what nobody may be sent to is not registered', async () => {
  for (const uri of [
    'javascript:alert(1)',
    'data:text/html,x',
    'http://example.com/callback',
    'http://127.0.0.1.example.com/callback',
    'https://user@example.com/callback',
    'https://:@example.com/callback',
    'https://*.example.com/callback',
    'https://example.com/callback#here',
    'https://example.com\\@evil.example/',
    '/callback',
    'https://exämple.com/',
    'https:example.com/callback',
    'https:/example.com/callback',
    'https://example.com;script-src/callback',
    'https://ex%61mple.com/callback',
  ]) {
    const answer = await register(url, { redirect_uris: [uri] });
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_redirect_uri'], `${uri}: ${answer.text}`);
  }
  for (const uri of ['https://example.com/cb?a=1', 'http://[::1]/cb', 'http://localhost:3000/', 'cursor://oauth/cb']) {
    assert.equal((await register(url, { redirect_uris: [uri], surprise: { any: true } })).status, 201, uri);
  }
  for (const metadata of [
    { redirect_uris: [] },
    { redirect_uris: undefined },
    { token_endpoint_auth_method: 'tls_client_auth' },
    { grant_types: ['client_credentials'] },
    { response_types: ['token'] },
    { client_name: 'x'.repeat(201) },
    { client_name: 5 },
    { token_endpoint_auth_method: 'private_key_jwt' },
    { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ kty: 'oct', k: 'AA' }] } },
    { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ kty: 'EC', d: 'AA' }] } },
  ]) {
    const answer = await register(url, metadata);
    assert.equal(answer.status, 400, `${JSON.stringify(metadata)}: ${answer.text}`);
    assert.match(answer.body.error, /^invalid_(client_metadata|redirect_uri)$/);
  }
});

test('an unknown client or redirect gets a page, and the browser is sent nowhere', async () => {
  const query = `response_type=code&code_challenge_method=S256&redirect_uri=${encodeURIComponent(REDIRECT)}`;
  const twice = await fetch(`${url}/oauth/authorize?${query}&client_id=${clientId}&client_id=ocl_other`, {
    redirect: 'manual',
  });
  const pages = [
    await ask({ client_id: undefined }),
    await ask({ client_id: 'ocl_none' }),
    await ask({ redirect_uri: 'https://evil.example/callback' }),
    await ask({ redirect_uri: 'http://127.0.0.1/callback/' }),
    await ask({ redirect_uri: 'http://127.0.0.1:99/callback?x=1' }),
    await ask({ redirect_uri: 'http://localhost/callback' }),
    await ask({ redirect_uri: 'http://127.0.0.1@evil.example/callback' }),
    await ask({ redirect_uri: 'http://127.0.0.1:80@evil.example/callback' }),
    await ask({ state: 'x'.repeat(3_000) }),
  ];
  for (const { status, headers } of [...pages, twice]) {
    assert.equal(status, 422);
    assert.match(headers.get('content-type') ?? '', /^text\/html/);
    assert.equal(headers.get('location'), null);
    assert.equal(headers.get('access-control-allow-origin'), null);
  }
  assert.equal((await ask({ redirect_uri: 'http://127.0.0.1:57470/callback' })).status, 200);
});

test('every other refusal goes back to the client, and says from whom it comes', async () => {
  const refusals: [more: Record<string, string | undefined>, error: string][] = [
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ response_mode: 'fragment' }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ resource: undefined }, 'invalid_target'],
    [{ resource: 'https://evil.example/v1/deployments/dep_1/mcp' }, 'invalid_target'],
    [{ resource: `${PUBLIC_URL}/v1/deployments/dep_none/mcp` }, 'invalid_target'],
    [{ resource: `${PUBLIC_URL}.evil.example/mcp` }, 'invalid_target'],
    [{ scope: 'files:read' }, 'invalid_scope'],
    [{ scope: 'everything' }, 'invalid_scope'],
    [{ scope: 'runs:write email' }, 'invalid_scope'],
  ];
  for (const [more, error] of refusals) {
    const answer = await ask(more);
    assert.equal(answer.status, 302, JSON.stringify(more));
    const back = redirectOf(answer);
    assert.equal(back.origin + back.pathname, REDIRECT);
    const told = ['error', 'state', 'iss'].map((name) => back.searchParams.get(name));
    assert.deepEqual(told, [error, 'state', PUBLIC_URL], JSON.stringify(more));
  }
  assert.equal((await ask({ scope: 'files:read runs:write offline_access', prompt: 'consent' })).status, 200);
});

describe('whose token lets a client in', () => {
  const attempt = async (token: string, more: Record<string, string> = {}) =>
    sendConsent(url, { request: requestIn(await ask()), token, ...more }, PUBLIC_URL);

  test('a smith’s own, or a tenant-admin token that names the smith', async () => {
    const own = await project.smithToken(smithId, ['runs:write']);
    assert.equal((await attempt(own)).status, 303);
    assert.equal((await attempt(project.token, { smith_id: ` ${smithId} ` })).status, 303);
  });

  test('and no other', async () => {
    const other = await project.createSmith();
    const foreign = await platform.createProject();
    const connected = await redeem(
      url,
      await obtainCode(url, { resource, token: project.token, smithId, origin: PUBLIC_URL }),
    );
    const attempts: Record<string, [answer: Awaited<ReturnType<typeof attempt>>, status: number]> = {
      'no token': [await attempt(''), 401],
      'no token of ours': [await attempt('tha_live_nonsense'), 401],
      'a tenant’s without a smith': [await attempt(project.token), 422],
      'a smith that is not there': [await attempt(project.token, { smith_id: 'smt_none' }), 404],
      'a smith of no such agent': [await attempt(project.token, { smith_id: other }), 403],
      'a smith token of no such agent': [await attempt(await project.smithToken(other, ['runs:write'])), 403],
      'a smith token for another smith': [
        await attempt(await project.smithToken(smithId, ['runs:write']), { smith_id: other }),
        403,
      ],
      'one without the scope': [await attempt(await project.smithToken(smithId, ['runs:read'])), 403],
      'another project’s': [await attempt(foreign.token, { smith_id: smithId }), 404],
      'an organization key': [await attempt(platform.organization.token), 403],
      'a connector’s own': [await attempt(connected.body.access_token), 403],
    };
    for (const [what, [answer, status]] of Object.entries(attempts)) {
      assert.equal(answer.status, status, `${what}: ${answer.text.slice(0, 2_000)}`);
      assert.match(answer.text, /role="alert"/, what);
      assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    }
  });

  test('a request is settled once, and its form comes from its page', async () => {
    const request = requestIn(await ask());
    const fields = { request, token: project.token, smith_id: smithId };
    for (const origin of ['https://evil.example', 'null', `${PUBLIC_URL}0`]) {
      assert.equal((await sendConsent(url, fields, origin)).status, 403, origin);
    }
    const answers = await Promise.all(Array.from({ length: 5 }, () => sendConsent(url, fields, PUBLIC_URL)));
    assert.equal(answers.filter(({ status }) => status === 303).length, 1);
    assert.equal((await sendConsent(url, { request, decision: 'deny' }, PUBLIC_URL)).status, 409);
    assert.equal((await sendConsent(url, { request: 'oar_none', decision: 'deny' }, PUBLIC_URL)).status, 409);
  });
});

test('a page of the operator’s own reads a request and settles it', async () => {
  const own = await startPlatform({ limits: { consentUrl: 'https://app.example.com/consent?theme=dark' } });
  try {
    const home = await own.createProject();
    const smith = await home.createSmith();
    const target = PUBLIC_URL + (await publishMcp(home, { type: 'smith', id: smith })).path;
    const client = await newClientId(own.url);
    const { verifier, challenge } = newPkce();
    const begin = async () => {
      const asked = { client_id: client, resource: target, code_challenge: challenge };
      const page = redirectOf(await openAuthorize(own.url, asked));
      assert.equal(page.origin + page.pathname, 'https://app.example.com/consent');
      assert.equal(page.searchParams.get('theme'), 'dark');
      return `/v1/oauth/authorize-requests/${page.searchParams.get('request')}`;
    };
    const path = await begin();
    const read = await home.get(path);
    assert.deepEqual(
      [read.status, read.body.kind, read.body.client_name, read.body.scopes, read.body.redirect_uri],
      [200, 'connector', 'Test client', ['runs:write'], REDIRECT],
    );
    assert.equal((await own.organization.get(path)).status, 404);
    assert.equal((await (await own.createProject()).get(path)).status, 404);
    const { body } = await home.post(`${path}/complete`, { smith_id: smith });
    const code = new URL(body.redirect_url).searchParams.get('code') ?? '';
    assert.equal((await redeem(own.url, { clientId: client, code, verifier })).status, 200);
    assert.equal((await home.post(`${path}/complete`, {})).status, 404);
    const declined = await home.post(`${await begin()}/decline`);
    assert.equal(new URL(declined.body.redirect_url).searchParams.get('error'), 'access_denied');
  } finally {
    await own.close();
  }
});

test('the token endpoint tells refusals in OAuth’s words, and pages of any origin may read them', async () => {
  const post = (fields: Record<string, string>) =>
    postForm(`${url}/oauth/token`, fields, { origin: 'https://x.example' });
  const refusals: [fields: Record<string, string>, status: number, error: string][] = [
    [{}, 400, 'invalid_request'],
    [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
    [{ grant_type: 'authorization_code' }, 401, 'invalid_client'],
    [{ grant_type: 'authorization_code', client_id: clientId }, 400, 'invalid_request'],
    [{ grant_type: 'authorization_code', client_id: clientId, code: 'x', code_verifier: 'x' }, 400, 'invalid_grant'],
    [{ grant_type: 'refresh_token', client_id: clientId, refresh_token: 'x' }, 400, 'invalid_grant'],
  ];
  for (const [fields, status, error] of refusals) {
    const answer = await post(fields);
    assert.deepEqual([answer.status, answer.body.error], [status, error], answer.text);
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
  }
  const body = `grant_type=refresh_token&client_id=${clientId}&client_id=${clientId}`;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const twice = await createClient(url, '').post('/oauth/token', body, headers);
  assert.deepEqual([twice.status, twice.body.error], [400, 'invalid_request']);
  const preflight = await fetch(`${url}/oauth/token`, { method: 'OPTIONS', headers: { origin: 'https://x.example' } });
  assert.equal(preflight.status, 204);
});

test('a success at the token endpoint costs its address nothing, and a refusal does', async () => {
  const limited = await startPlatform({ limits: { addressRequestsPerMinute: 12 } });
  try {
    const home = await limited.createProject();
    const target = PUBLIC_URL + (await publishMcp(home, { type: 'smith', id: await home.createSmith() })).path;
    const consented = await obtainCode(limited.url, { resource: target, token: home.token, origin: PUBLIC_URL });
    const { body } = await redeem(limited.url, consented);
    let held = body.refresh_token as string;
    for (let count = 0; count < 30; count += 1) {
      const fields = { grant_type: 'refresh_token', client_id: consented.clientId, refresh_token: held };
      const answer = await postForm(`${limited.url}/oauth/token`, fields);
      assert.equal(answer.status, 200, answer.text);
      held = answer.body.refresh_token;
    }
    const refused = await Promise.all(
      Array.from({ length: 12 }, () => postForm(`${limited.url}/oauth/token`, { grant_type: 'password' })),
    );
    assert.equal(refused.at(-1)?.status, 429);
    assert.equal(refused.at(-1)?.body.error, 'temporarily_unavailable');
  } finally {
    await limited.close();
  }
});
