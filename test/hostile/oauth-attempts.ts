/**
 * Requests to authorize, to register and for tokens, each bent out of a valid one: no browser is sent to an address that nobody
 * registered, nothing is answered with 500, every refusal is in OAuth's words, and nothing is granted but to what is valid.
 */
import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import { after, before, test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import { createRandom, type Random } from '../faults/seeded-random.ts';
import { publishMcp } from '../support/mcp-deployment.ts';
import { newPkce, obtainCode, postForm, REDIRECT, redeem, register } from '../support/oauth.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../support/platform.ts';
import { seedFor } from '../support/seed.ts';
import { makeBadAssertions, signAssertion } from './oauth-assertions.ts';
import { bendDocument, bendParameters, type OAuthRequest } from './oauth-mutations.ts';
import { leadsToClient, redirectTricks } from './oauth-redirects.ts';

const PUBLIC_URL = 'http://127.0.0.1:8787';
const REDIRECTS: readonly string[] = [REDIRECT, 'https://client.example/callback?keep=1', 'cursor://oauth/callback'];
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
type Method = (typeof METHODS)[number];

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly location: string | undefined;
  readonly policy: string;
  readonly text: string;
}

/** A client and what it was given, which the next of its requests presents. */
interface HeldClient {
  readonly id: string;
  readonly secret: string | undefined;
  code: { readonly text: string; readonly verifier: string };
  refreshToken: string;
}

let platform: TestPlatform;
let project: TestProject;
let resource: string;
let badAssertions: readonly string[];
let agent: Agent;
const keys = await generateKeyPair('ES256');
const clients = new Map<Method, HeldClient>();

async function setUp(): Promise<void> {
  agent = new Agent({ keepAlive: true });
  tally.clear();
  platform = await startPlatform();
  project = await platform.createProject();
  resource = PUBLIC_URL + (await publishMcp(project, { type: 'smith', id: await project.createSmith() })).path;
  const jwks = { keys: [{ ...(await exportJWK(keys.publicKey)), alg: 'ES256', kid: 'k' }] };
  for (const method of METHODS) {
    const { body, text } = await register(platform.url, {
      redirect_uris: REDIRECTS,
      token_endpoint_auth_method: method,
      ...(method === 'private_key_jwt' ? { jwks } : {}),
    });
    assert.ok(body.client_id, text);
    clients.set(method, {
      id: body.client_id,
      secret: body.client_secret,
      code: await newCode(body.client_id),
      refreshToken: '',
    });
  }
  const signer = { clientId: clientOf('private_key_jwt').id, audience: PUBLIC_URL, keys };
  const taken = await signAssertion(signer);
  badAssertions = [...(await makeBadAssertions(signer)), project.token, taken];
  const form = { grant_type: 'refresh_token', refresh_token: 'none', client_assertion_type: ASSERTION_TYPE };
  const spent = await postForm(`${platform.url}/oauth/token`, { ...form, client_assertion: taken });
  assert.equal(spent.body.error, 'invalid_grant', spent.text);
}

async function tearDown(): Promise<void> {
  agent.destroy();
  await platform.close();
}

async function newCode(clientId: string): Promise<HeldClient['code']> {
  const asked = { resource, token: project.token, clientId, origin: PUBLIC_URL };
  const { code, verifier } = await obtainCode(platform.url, asked);
  // It lives for a minute, which is too short for a slow machine.
  const { rowCount } = await platform.db.query({
    text: `
      update oauth_requests set code_expires_at = now() + interval '1 day'
      where client_id = $1 and status = 'approved'`,
    values: [clientId],
  });
  assert.ok(rowCount > 0, 'the code lives longer');
  return { text: code, verifier };
}

function send({ method, path, headers, body = '' }: OAuthRequest): Promise<Answer> {
  const { hostname, port } = new URL(platform.url);
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const length = method === 'GET' && body === '' ? {} : { 'content-length': Buffer.byteLength(body) };
  // What is refused for its size ends its connection.
  const isLarge = Buffer.byteLength(body) > 60_000;
  const options = { hostname, port, method, path, headers: { ...headers, ...length } };
  const sent = httpRequest({ ...options, ...(isLarge ? {} : { agent }) }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    const { location, 'content-type': type = '', 'content-security-policy': policy } = response.headers;
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, type, location, policy: String(policy), text }),
    );
  });
  sent.on('error', reject).end(body);
  return promise;
}

/** What came of the requests to each address: one that is never answered with success tests its parser alone. */
const tally = new Map<string, { done: number; refused: number }>();

/** What every answer is checked for: refusals in OAuth's words, pages for people, no 500, and where browsers are sent. */
function checkAnswer(kind: 'page' | 'oauth', request: OAuthRequest, answer: Answer, registered = REDIRECTS): void {
  const { status, type, text, location } = answer;
  const place = `${request.method} ${new URL(request.path, PUBLIC_URL).pathname}`;
  const count = tally.get(place) ?? { done: 0, refused: 0 };
  tally.set(place, count);
  count[status < 400 ? 'done' : 'refused'] += 1;
  assert.ok(status < 500, `answered ${status}`);
  if (location !== undefined) {
    assert.equal(kind, 'page');
    assert.ok(leadsToClient(location, PUBLIC_URL, registered), `the browser is sent to ${location}`);
  }
  // What is too long for a request's head is refused before it is known where it leads.
  if (status < 400 || status === 431 || !['GET', 'POST'].includes(request.method)) return;
  if (kind === 'page') {
    assert.match(type, /^text\/html/);
    return;
  }
  if (request.method !== 'POST') return;
  const { error, error_description, ...others } = JSON.parse(text);
  assert.match(String(error), /^[a-z_]+$/);
  assert.match(String(error_description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  assert.deepEqual(others, {});
}

/** Declines what the page asks for, so that the browser is sent back. */
async function leavePage(page: Answer, registered: readonly string[]): Promise<void> {
  const [, id = ''] = /name="request" value="([\w-]+)"/.exec(page.text) ?? [];
  const form = [...(/form-action ([^;]*)/.exec(page.policy) ?? [])][1];
  assert.match(form ?? '', /^'self' [^ ]+$/);
  const body = `request=${id}&decision=deny`;
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: PUBLIC_URL };
  const request = { method: 'POST', path: '/oauth/authorize', headers, body };
  const answer = await send(request);
  assert.equal(answer.status, 303, answer.text);
  checkAnswer('page', request, answer, registered);
}

function clientOf(method: Method): HeldClient {
  return clients.get(method) ?? assert.fail(method);
}

const authorizeParameters = (clientId: string, redirectUri: string) => ({
  client_id: clientId,
  redirect_uri: redirectUri,
  response_type: 'code',
  code_challenge: newPkce().challenge,
  code_challenge_method: 'S256',
  resource,
  scope: 'runs:write offline_access',
  state: 'a b',
});

async function tryAuthorize(random: Random): Promise<OAuthRequest> {
  const redirect = random.pick(REDIRECTS);
  const parameters = authorizeParameters(clientOf(random.pick(METHODS)).id, redirect);
  const request = bendParameters({ method: 'GET', path: '/oauth/authorize', parameters }, random, {
    redirect_uri: redirectTricks(redirect),
    client_id: ['https://169.254.169.254/client', 'http://127.0.0.1/x', 'https://example.com/c.json', 'ocl_none', '\0'],
    code_challenge_method: ['plain', 's256', 'S512', ''],
    code_challenge: ['x', `${newPkce().challenge}=`, newPkce().challenge.replaceAll(/./g, '.')],
    response_type: ['token', 'id_token', 'code id_token', 'none', 'CODE'],
    resource: [
      `${resource}/`,
      `${resource}?x=1`,
      `${resource}#x`,
      resource.toUpperCase(),
      'https://evil.example/mcp',
      'x',
    ],
    scope: ['', 'openid', 'tenant:*', 'runs:write email', '*', 'runs:write\0', ' '],
  });
  const answer = await send(request);
  checkAnswer('page', request, answer);
  if (answer.status !== 200) return request;
  const query = new URL(request.path, PUBLIC_URL).searchParams;
  assert.deepEqual([query.get('code_challenge_method'), query.get('response_type')], ['S256', 'code']);
  await leavePage(answer, REDIRECTS);
  return request;
}

async function tryConsent(random: Random): Promise<OAuthRequest> {
  const { id } = clientOf('none');
  const page = await fetch(`${platform.url}/oauth/authorize?${new URLSearchParams(authorizeParameters(id, REDIRECT))}`);
  const [, asked = ''] = /name="request" value="([\w-]+)"/.exec(await page.text()) ?? [];
  const parameters = { request: asked, token: project.token, decision: 'approve', smith_id: '' };
  const headers = { origin: PUBLIC_URL };
  const valid = { method: 'POST', path: '/oauth/authorize', parameters, headers } as const;
  const request = bendParameters(valid, random, { decision: ['deny', 'APPROVE', ''], smith_id: ['smt_none', '*'] });
  checkAnswer('page', request, await send(request));
  return request;
}

async function tryRegister(random: Random): Promise<OAuthRequest> {
  const own = random.pick(REDIRECTS);
  const tricks = redirectTricks(own);
  const valid = {
    client_name: 'Bent',
    redirect_uris: [own],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    scope: 'runs:write',
    client_uri: 'https://client.example/',
    jwks: { keys: [await exportJWK(keys.publicKey)] },
  };
  const request = bendDocument('/oauth/register', valid, random, {
    redirect_uris: tricks.map((trick) => (random.next() < 0.5 ? [trick] : [own, trick])),
    token_endpoint_auth_method: [...METHODS, 'tls_client_auth', 'NONE', 'client_secret_jwt'],
    client_name: ['<script>', '\u202eevil', '\ud800', ' ', 'x'.repeat(201)],
    jwks: [{ keys: [{ kty: 'oct', k: 'AA' }] }, { keys: [] }, { keys: [null] }, { keys: [{ kty: 'EC' }] }, 'x'],
  });
  const answer = await send(request);
  checkAnswer('oauth', request, answer);
  if (answer.status !== 201) return request;
  const { client_id, redirect_uris: registered } = JSON.parse(answer.text);
  for (const uri of registered) {
    const { protocol, hostname, username, password, hash, href } = new URL(uri);
    assert.equal(new URL(uri, 'https://issuer.example/').href, href, `to a browser ${uri} is a path`);
    assert.deepEqual([username, password, hash], ['', '', ''], uri);
    assert.doesNotMatch(protocol, /^(?:javascript|data|vbscript|blob|view-source|about|file|ws):$/);
    if (protocol === 'http:') assert.match(hostname, /^(?:127\.0\.0\.1|localhost|\[::1\])$/);
    const parameters = new URLSearchParams(authorizeParameters(client_id, uri));
    const asked = { method: 'GET', path: `/oauth/authorize?${parameters}`, headers: {} };
    const page = await send(asked);
    checkAnswer('page', asked, page, registered);
    assert.equal(page.status, 200, page.text);
    await leavePage(page, registered);
  }
  return request;
}

async function tryToken(random: Random): Promise<OAuthRequest> {
  const method = random.pick(METHODS);
  const client = clientOf(method);
  const isRefresh = client.refreshToken !== '' && random.next() < 0.4;
  const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64');
  const parameters: Record<string, string> = {
    ...(isRefresh
      ? { grant_type: 'refresh_token', refresh_token: client.refreshToken }
      : {
          grant_type: 'authorization_code',
          code: client.code.text,
          code_verifier: client.code.verifier,
          redirect_uri: REDIRECT,
        }),
    resource,
    ...(method === 'client_secret_basic' ? {} : { client_id: client.id }),
    ...(method === 'client_secret_post' ? { client_secret: client.secret ?? '' } : {}),
    ...(method === 'private_key_jwt'
      ? {
          client_assertion_type: ASSERTION_TYPE,
          client_assertion: await signAssertion({ clientId: client.id, audience: PUBLIC_URL, keys }),
        }
      : {}),
  };
  const chance = method === 'client_secret_basic' ? random.next() : 1;
  const wrong = ['Basic', 'Basic ', 'Basic !!!', 'Bearer x', `Basic ${btoa('a:b')}`, `Basic ${btoa(client.id)}`, basic];
  const authorization = chance < 0.2 ? random.pick(wrong) : `Basic ${basic}`;
  const headers: Record<string, string> = method === 'client_secret_basic' ? { authorization } : {};
  const request = bendParameters({ method: 'POST', path: '/oauth/token', parameters, headers }, random, {
    redirect_uri: redirectTricks(REDIRECT),
    client_assertion: badAssertions,
    client_id: [...clients.values()].map(({ id }) => id),
    grant_type: ['password', 'client_credentials', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'],
    code_verifier: [newPkce().verifier, 'x'.repeat(43), client.code.verifier.slice(1)],
    resource: ['https://evil.example/mcp', `${resource}/x`, resource.toUpperCase()],
    client_secret: ['', 'x', 'ocs_live_x', 'null'],
  });
  const answer = await send(request);
  checkAnswer('oauth', request, answer);
  if (answer.status !== 200) return request;
  const form = new URLSearchParams(String(request.body));
  for (const name of Object.keys(parameters)) assert.ok(form.getAll(name).length <= 1, `${name} came twice`);
  for (const [name, value] of Object.entries(parameters)) {
    const isOptional = ['resource', 'redirect_uri', 'client_id'].includes(name);
    if (isOptional && (form.get(name) ?? '') === '') continue;
    assert.equal((form.get(name) ?? '').replace(/(?<=\/mcp)\/$/, ''), value, `granted for another ${name}`);
  }
  if (method === 'client_secret_basic') assert.match(headers.authorization ?? '', /^Basic /);
  client.refreshToken = JSON.parse(answer.text).refresh_token;
  if (!isRefresh) client.code = await newCode(client.id);
  return request;
}

const TRIES = [tryAuthorize, tryAuthorize, tryConsent, tryRegister, tryRegister, tryToken, tryToken, tryToken];

/** A test of so many requests. */
export function testBentRequests(count: number): void {
  const seed = seedFor('bent requests of OAuth clients');
  before(setUp);
  after(tearDown);
  test(`the OAuth server grants nothing and leads nobody astray when ${count} requests are bent (seed ${seed})`, async (t) => {
    const failures: string[] = [];
    for (let number = 0; number < count && failures.length < 10; number += 1) {
      const attempt = TRIES[number % TRIES.length] ?? tryToken;
      try {
        await attempt(createRandom(seed + number * 7_919));
      } catch (error) {
        failures.push(`request ${number} (${attempt.name}): ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    assert.deepEqual(failures, []);
    // Nothing that was refused has spent a code.
    const { id, code } = clientOf('none');
    const answer = await redeem(platform.url, { clientId: id, code: code.text, verifier: code.verifier });
    assert.equal(answer.status, 200, answer.text);
    t.diagnostic(JSON.stringify(Object.fromEntries(tally)));
    for (const place of [
      'GET /oauth/authorize',
      'POST /oauth/authorize',
      'POST /oauth/register',
      'POST /oauth/token',
    ]) {
      const { done = 0, refused = 0 } = tally.get(place) ?? {};
      assert.ok(done > 0 && refused > 0, `${place}: ${done} done, ${refused} refused`);
    }
  });
}
