/** What providers answer that keep to no standard, by `oauth2-mock-server`: what it says of an account, and what it does not. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { Events, type MutableResponse, OAuth2Server } from 'oauth2-mock-server';
import { assertRefusal } from '../../../test/conformance/assert-refusal.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../test/support/platform.ts';

const PUBLIC_URL = 'http://127.0.0.1:8787';
const JSON_TYPE = { 'content-type': 'application/json' };

const upstream = new OAuth2Server();
let issuer: string;
let platform: TestPlatform;
let p: TestProject;
before(async () => {
  await upstream.issuer.keys.generate('RS256');
  await upstream.start(0, '127.0.0.1');
  const host = `127.0.0.1:${upstream.address().port}`;
  issuer = `http://${host}`;
  upstream.issuer.url = issuer;
  platform = await startPlatform({ outboundAllow: [host] });
  p = await platform.createProject();
});
after(async () => {
  await platform.close();
  await upstream.stop();
});

interface Account {
  readonly name: string;
  readonly path: string;
  readonly list: string;
}

let accounts = 0;

/** An account at a provider of its own, whose token endpoint has this path. */
async function newAccount(path = '/token'): Promise<Account> {
  accounts += 1;
  const name = `quirky-${accounts}`;
  const saved = await p.put(`/v1/tenant/providers/${name}`, {
    client_id: 'client',
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: issuer + path,
  });
  assert.equal(saved.status, 200, saved.text);
  const list = `/v1/smiths/${await p.createSmith()}/connections`;
  const account = { name, list, path: '' };
  return { ...account, path: `${list}/${await store(account, 'first')}` };
}

async function store({ name, list }: Account, token: string): Promise<string> {
  const credential = { kind: 'oauth2', access_token: `access-${token}`, refresh_token: `refresh-${token}` };
  const { body, text } = await p.post(list, { provider: name, credential });
  assert.ok(body.id, text);
  return body.id;
}

const refresh = ({ path }: Account) => p.post(`${path}/refresh`);

/** Changes the next answer of the token endpoint. What was sent to it, in the end. */
function answerNext(change: (answer: MutableResponse) => void): { refreshToken?: unknown } {
  const sent: { refreshToken?: unknown } = {};
  upstream.service.once(Events.BeforeResponse, (answer: MutableResponse, { body }: { body: object }) => {
    sent.refreshToken = Reflect.get(body, 'refresh_token');
    change(answer);
  });
  return sent;
}

const bodyOf = ({ body }: MutableResponse) => (body === '' ? assert.fail('no body') : body);

test('an answer without a refresh token keeps the old one, and one with another replaces it', async () => {
  const account = await newAccount();
  const given = { refresh_token: '' };
  const changes = [
    (answer: MutableResponse) => void Reflect.deleteProperty(bodyOf(answer), 'refresh_token'),
    (answer: MutableResponse) => void Object.assign(bodyOf(answer), { refresh_token: null }),
    (answer: MutableResponse) => void Object.assign(given, { refresh_token: bodyOf(answer).refresh_token }),
    () => undefined,
  ];
  const presented: unknown[] = [];
  for (const change of changes) {
    const sent = answerNext(change);
    const { status, text } = await refresh(account);
    assert.equal(status, 200, text);
    presented.push(sent.refreshToken);
  }
  assert.deepEqual(presented, ['refresh-first', 'refresh-first', 'refresh-first', given.refresh_token]);
});

test('refreshing an account takes a lifetime in words, a lowercase type and scopes of other kinds as they are meant', async () => {
  const account = await newAccount();
  const assertLifetime = async (change: object, seconds: number | undefined): Promise<void> => {
    answerNext((answer) => void Object.assign(bodyOf(answer), change));
    const askedMs = Date.now();
    const { status, body, text } = await refresh(account);
    const answeredMs = Date.now();
    assert.equal(status, 200, `${JSON.stringify(change)}: ${text}`);
    if (seconds === undefined) {
      assert.equal(body.expires_at ?? undefined, undefined, JSON.stringify(change));
      return;
    }
    // Within a second: parts of one may be cut off.
    const expiresMs = Date.parse(body.expires_at) - seconds * 1_000;
    assert.ok(expiresMs > askedMs - 1_000 && expiresMs < answeredMs + 1_000, `${JSON.stringify(change)}: ${text}`);
  };
  await assertLifetime({ expires_in: '7200', token_type: 'bearer' }, 7_200);
  await assertLifetime({ expires_in: 7200.9, token_type: 'BEARER' }, 7_200);
  await assertLifetime({ expires_in: 'never', token_type: undefined }, undefined);
  await assertLifetime({ expires_in: null, scope: ['read'] }, undefined);
  await assertLifetime({ expires_in: -1, scope: 5 }, undefined);
});

test('an answer that says nothing of the account changes nothing of it', async () => {
  const html = { 'content-type': 'text/html' };
  const answers: Record<string, (response: ServerResponse) => unknown> = {
    'an error of the server, whatever it says': (response) =>
      response.writeHead(500, JSON_TYPE).end('{"error":"invalid_grant"}'),
    'a gateway': (response) => response.writeHead(503, html).end('<h1>Busy</h1>'),
    'too many requests': (response) => response.writeHead(429, JSON_TYPE).end('{"error":"invalid_grant"}'),
    'a page': (response) => response.writeHead(200, html).end('<!doctype html><title>Sign in</title>'),
    'a page of an error': (response) => response.writeHead(400, html).end('<h1>Bad request</h1>'),
    'an error with status 200': (response) =>
      response.writeHead(200, JSON_TYPE).end('{"error":"temporarily_unavailable"}'),
    'an error of the client': (response) => response.writeHead(401, JSON_TYPE).end('{"error":"invalid_client"}'),
    'an error that is no word': (response) =>
      response.writeHead(400, JSON_TYPE).end('{"error":{"code":"invalid_grant"}}'),
    'a success without a token': (response) => response.writeHead(200, JSON_TYPE).end('{"token_type":"Bearer"}'),
    'a list': (response) => response.writeHead(200, JSON_TYPE).end('[]'),
    'a token that needs a proof': (response) =>
      response.writeHead(200, JSON_TYPE).end('{"access_token":"a","token_type":"DPoP"}'),
    'a token of a line': (response) =>
      response.writeHead(200, JSON_TYPE).end('{"access_token":"a\\r\\nX: y","token_type":"Bearer"}'),
    'a redirect': (response) => response.writeHead(307, { location: `${issuer}/token` }).end(),
    'half an answer': (response) => response.writeHead(200, { ...JSON_TYPE, 'content-length': '99' }).end('{"access_'),
    'a connection that ends': (response) => response.destroy(),
  };
  await Promise.all(
    Object.entries(answers).map(async ([what, answer], index) => {
      const path = `/says-nothing/${index}`;
      upstream.service.addRoute('POST', path, (_, response) => void answer(response));
      const account = await newAccount(path);
      const { body: before } = await p.get(account.path);
      assertRefusal(await refresh(account), 502, 'refresh_failed');
      const { body: now } = await p.get(account.path);
      assert.deepEqual(now, before, what);
      assert.equal(now.status, 'active', what);
    }),
  );
});

test('what has ended is expired, also where it is said with status 200', async () => {
  for (const [status, body] of [
    [400, { error: 'invalid_grant' }],
    [200, { error: 'invalid_grant', error_description: 'Token has been revoked.' }],
  ] as const) {
    const account = await newAccount();
    answerNext((answer) => void Object.assign(answer, { statusCode: status, body }));
    assertRefusal(await refresh(account), 502, 'refresh_failed');
    assert.equal((await p.get(account.path)).body.status, 'expired');
  }
});

test('a refusal of a credential that was replaced meanwhile says nothing of the new one', async () => {
  const asked = Promise.withResolvers<void>();
  const replaced = Promise.withResolvers<void>();
  upstream.service.addRoute('POST', '/slow', async (_, response) => {
    asked.resolve();
    await replaced.promise;
    response.writeHead(400, JSON_TYPE).end('{"error":"invalid_grant"}');
  });
  const account = await newAccount('/slow');
  const refreshing = refresh(account);
  await asked.promise;
  await store(account, 'second');
  replaced.resolve();
  await refreshing;
  assert.equal((await p.get(account.path)).body.status, 'active');
});

test('an account is connected at it, whose code takes the verifier', async () => {
  const { name } = await newAccount();
  const list = `/v1/smiths/${await p.createSmith()}/connections`;
  const { body } = await p.post(`${list}/authorize`, { provider: name });
  const gone = await fetch(body.authorize_url, { redirect: 'manual' });
  const back = (gone.headers.get('location') ?? '').replace(PUBLIC_URL, platform.url);
  answerNext(
    (answer) => void Object.assign(bodyOf(answer), { expires_in: '60', token_type: 'bearer', scope: 'a,b c' }),
  );
  const answer = await fetch(back);
  assert.equal(answer.status, 200, await answer.text());
  const [connection] = (await p.get(list)).body.data;
  assert.deepEqual([connection.status, connection.scopes], ['active', ['a,b', 'c']]);
  assert.ok(Date.parse(connection.expires_at) - Date.now() <= 60_000);
});
