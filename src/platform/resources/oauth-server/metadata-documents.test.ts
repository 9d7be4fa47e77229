/** Clients whose id is the address of a document: what is read there, what is not, and how they prove who they are. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { publishMcp } from '../../../../test/support/mcp-deployment.ts';
import { newPkce, obtainCode, openAuthorize, REDIRECT, redeem, register } from '../../../../test/support/oauth.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';

const PUBLIC_URL = 'http://127.0.0.1:8787';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

let platform: TestPlatform;
let project: TestProject;
let resource: string;
let host: Server;
let origin: string;
const served = new Map<string, RequestListener>();
const fetched = new Map<string, number>();
const keys = await generateKeyPair('ES256');

before(async () => {
  host = createServer((request, response) => {
    const path = request.url ?? '';
    fetched.set(path, (fetched.get(path) ?? 0) + 1);
    const answer = served.get(path);
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(host, 'listening');
  origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  // What the operator allows may be plain http.
  platform = await startPlatform();
  project = await platform.createProject();
  resource = PUBLIC_URL + (await publishMcp(project, { type: 'smith', id: await project.createSmith() })).path;
});
after(async () => {
  host.closeAllConnections();
  host.close();
  await platform.close();
});

function serve(path: string, document: Record<string, unknown>, headers: Record<string, string> = {}): string {
  const id = origin + path;
  const body = { client_id: id, client_name: 'Documented', redirect_uris: [REDIRECT], ...document };
  served.set(path, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  return id;
}

const open = (client_id: string) =>
  openAuthorize(platform.url, { client_id, resource, code_challenge: newPkce().challenge });

test('a document makes a client, and is remembered for a minute at least', async () => {
  const id = serve('/client.json', {}, { 'cache-control': 'no-store' });
  const first = await open(id);
  assert.equal(first.status, 200, first.text);
  assert.match(first.text, /Documented<\/bdi>, of 127\.0\.0\.1:\d+</);
  assert.equal((await open(id)).status, 200);
  assert.equal(fetched.get('/client.json'), 1);
  const consented = await obtainCode(platform.url, {
    clientId: id,
    resource,
    token: project.token,
    origin: PUBLIC_URL,
  });
  const answer = await redeem(platform.url, consented);
  assert.equal(answer.status, 200, answer.text);
});

test('one that is not as it must be makes none, and sends the browser nowhere', async () => {
  const bad: Record<string, string> = {
    'names another id': serve('/other.json', { client_id: `${origin}/else.json` }),
    'has a secret': serve('/secret.json', { token_endpoint_auth_method: 'client_secret_post', client_secret: 's' }),
    'may redirect to a script': serve('/script.json', { redirect_uris: ['javascript:alert(1)'] }),
    'is served nowhere': `${origin}/none.json`,
    'has no path': `${origin}/`,
    'is in another spelling': `${origin}/a/../client.json`,
    'is plain http beyond what is allowed': 'http://example.org/client.json',
    'is at a metadata address': 'https://169.254.169.254/client.json',
  };
  served.set('/redirect.json', (_, response) => response.writeHead(302, { location: `${origin}/client.json` }).end());
  served.set('/page.json', (_, response) => response.end('<!doctype html>'));
  served.set('/large.json', (_, response) => {
    const piece = Buffer.alloc(64 * 1024, 0x20);
    const write = (): void => {
      while (!response.destroyed && response.write(piece));
      if (!response.destroyed) response.once('drain', write);
    };
    write();
  });
  for (const name of ['redirect', 'page', 'large']) bad[name] = `${origin}/${name}.json`;
  for (const [what, id] of Object.entries(bad)) {
    const answer = await open(id);
    assert.equal(answer.status, 422, `${what}: ${answer.text}`);
    assert.equal(answer.headers.get('location'), null, what);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/, what);
  }
});

test('one that drips is given up', { timeout: 60_000 }, async () => {
  served.set('/drip.json', (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const drip = setInterval(() => response.write(' '), 100);
    response.once('close', () => clearInterval(drip));
  });
  assert.equal((await open(`${origin}/drip.json`)).status, 422);
});

async function assertion(
  id: string,
  claims: Record<string, unknown> = {},
  alg = 'ES256',
  key: CryptoKey | Uint8Array = keys.privateKey,
) {
  const now = Math.floor(Date.now() / 1_000);
  const usual = { iss: id, sub: id, aud: PUBLIC_URL, jti: crypto.randomUUID(), iat: now, exp: now + 60 };
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg }).sign(key);
}

test('a client proves itself with its key, and each proof counts once', async () => {
  const jwk = { ...(await exportJWK(keys.publicKey)), alg: 'ES256' };
  served.set('/keys.json', (_, response) => response.end(JSON.stringify({ keys: [jwk] })));
  const id = serve('/keyed.json', { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${origin}/keys.json` });
  const consented = await obtainCode(platform.url, {
    clientId: id,
    resource,
    token: project.token,
    origin: PUBLIC_URL,
  });
  const prove = (client_assertion: string | undefined, client_id: string | undefined = undefined) =>
    redeem(platform.url, consented, {
      client_id,
      client_assertion,
      ...(client_assertion === undefined ? {} : { client_assertion_type: ASSERTION_TYPE }),
    });
  const other = await generateKeyPair('ES256');
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await assertion(id)).split('.')[1]}.`;
  const refused: Record<string, string | undefined> = {
    'another audience': await assertion(id, { aud: 'https://else.example' }),
    'another issuer': await assertion(id, { iss: 'https://else.example/client.json' }),
    'an end that is past': await assertion(id, { exp: 1_700_000_000 }),
    'an end that is far': await assertion(id, { exp: Math.floor(Date.now() / 1_000) + 100_000 }),
    'no jti': await assertion(id, { jti: undefined }),
    'another key': await assertion(id, {}, 'ES256', other.privateKey),
    'a shared secret': await assertion(id, {}, 'HS256', Buffer.from(JSON.stringify(jwk))),
    'no signature': unsigned,
    'no words': 'nonsense',
  };
  for (const [what, text] of Object.entries(refused)) {
    const answer = await prove(text);
    assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client'], `${what}: ${answer.text}`);
  }
  const asNobody = await prove(undefined, id);
  assert.deepEqual([asNobody.status, asNobody.body.error], [401, 'invalid_client']);
  const good = await assertion(id);
  const answer = await prove(good);
  assert.equal(answer.status, 200, answer.text);
  assert.match((await prove(good)).body.error_description, /used before/);
  assert.equal((await prove(answer.body.access_token.replace('thp_live_', ''))).status, 401);
});

test('keys at an address that nobody may reach prove nothing', async () => {
  const id = serve('/inside.json', {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: 'http://169.254.169.254/keys',
  });
  const consented = await obtainCode(platform.url, {
    clientId: id,
    resource,
    token: project.token,
    origin: PUBLIC_URL,
  });
  const answer = await redeem(platform.url, consented, {
    client_id: undefined,
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: await assertion(id),
  });
  assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client']);
});

test('a registered client authenticates in the one way that it is registered for', async () => {
  const { body: client } = await register(platform.url, { token_endpoint_auth_method: undefined });
  assert.equal(client.token_endpoint_auth_method, 'client_secret_basic');
  const consented = await obtainCode(platform.url, {
    clientId: client.client_id,
    resource,
    token: project.token,
    origin: PUBLIC_URL,
  });
  const { client_id, client_secret } = client;
  const basic = (secret: string) => `Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}`;
  for (const [fields, headers] of [
    [{ client_id }, {}],
    [{ client_id, client_secret }, {}],
    [{}, { authorization: basic(`${client_secret}x`) }],
    [{ client_secret }, { authorization: basic(client_secret) }],
    [{ client_id: 'ocl_other' }, { authorization: basic(client_secret) }],
  ] as const) {
    const answer = await redeem(platform.url, consented, { client_id: undefined, ...fields }, headers);
    assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client'], JSON.stringify(fields));
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic /);
  }
  const answer = await redeem(
    platform.url,
    consented,
    { client_id: undefined },
    { authorization: basic(client_secret) },
  );
  assert.equal(answer.status, 200, answer.text);
});
