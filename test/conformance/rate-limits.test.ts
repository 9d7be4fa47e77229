/** Request budgets: a project's, and that of an address whose callers have not proved who they are. Load shedding too. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Answer, type Client, createClient, startPlatform } from '../support/platform.ts';
import { assertCommonHeaders, assertRefusal } from './assert-refusal.ts';
import { sendRaw } from './raw-http.ts';
import { missingId } from './world.ts';

const PROJECT_LIMIT = 30;
const ADDRESS_LIMIT = 5;
const WINDOW_SECONDS = 60;
/** More than a busy machine holds a process up by itself. */
const OVERLOAD_MS = 500;
const TIMEOUT_MS = 60_000;

const platform = await startPlatform({
  // So that each test can be a caller of its own.
  limits: {
    projectRequestsPerMinute: PROJECT_LIMIT,
    addressRequestsPerMinute: ADDRESS_LIMIT,
    trustProxy: ['127.0.0.1'],
  },
});
after(() => platform.close());

let addresses = 0;

/** An address that no other test uses. */
function newAddress(): string {
  addresses += 1;
  return `198.51.100.${addresses}`;
}

describe('a project', () => {
  test('has its budget counted down in every header family', async () => {
    const project = await platform.createProject();
    for (let used = 1; used <= 3; used += 1) {
      const { headers } = await project.get('/v1/agents');
      const left = PROJECT_LIMIT - used;
      assert.equal(headers.get('ratelimit-policy'), `"project";q=${PROJECT_LIMIT};w=${WINDOW_SECONDS}`);
      const [, remaining, seconds] = /^"project";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? [];
      assert.equal(Number(remaining), left);
      assert.ok(Number(seconds) >= 1 && Number(seconds) <= WINDOW_SECONDS);
      assert.equal(headers.get('x-ratelimit-limit-requests'), String(PROJECT_LIMIT));
      assert.equal(headers.get('x-ratelimit-remaining-requests'), String(left));
      assert.equal(headers.get('x-ratelimit-reset-requests'), `${seconds}s`);
    }
  });

  test('is refused at its limit, told when to return, and no other project is', async () => {
    const [busy, idle] = [await platform.createProject(), await platform.createProject()];
    const answers = await Promise.all(Array.from({ length: PROJECT_LIMIT + 10 }, () => busy.get('/v1/agents')));
    const refused = answers.filter(({ status }) => status === 429);
    assert.equal(refused.length, 10);
    for (const answer of refused) {
      assertRefusal(answer, 429, 'rate_limit_exceeded');
      const seconds = Number(answer.headers.get('retry-after'));
      assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= WINDOW_SECONDS);
      assert.equal(answer.headers.get('x-ratelimit-remaining-requests'), '0');
      assert.match(answer.headers.get('ratelimit') ?? '', /^"project";r=0;t=\d+$/);
    }
    assert.equal((await idle.get('/v1/agents')).status, 200);
  });

  test('shares its budget among its tokens, smith tokens included', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith();
    const smith = project.as(await project.smithToken(smithId, ['runs:read']));
    const before = remainingIn(await project.get('/v1/agents'));
    assert.equal(remainingIn(await smith.get(`/v1/smiths/${smithId}`)), before - 1);
    assert.equal(remainingIn(await project.get('/v1/agents')), before - 2);
  });

  test('sees its own budget on every refusal of a caller who is known', async () => {
    const tenant = await platform.createProject();
    const { client: organization } = await platform.createOrganization();
    const refusals = [
      await tenant.get('/v1/organization/projects'),
      await organization.get('/v1/agents'),
      await tenant.get('/v1/agents/agt_none'),
      await tenant.post('/v1/customers', { name: 1 }),
      await tenant.post('/v1/customers', '{'),
    ];
    assert.deepEqual(
      refusals.map(({ status }) => status),
      [403, 403, 404, 422, 422],
    );
    for (const { headers } of refusals) assert.match(headers.get('ratelimit-policy') ?? '', /^"project"/);
  });

  test('is charged for every call whose token verifies, refusals included', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith();
    const smith = project.as(await project.smithToken(smithId, ['runs:read']));
    const refused: Readonly<Record<string, readonly [status: number, send: () => Promise<Answer>]>> = {
      'by posture': [403, () => project.get('/v1/organization/projects')],
      'by scope': [403, () => smith.post(`/v1/smiths/${smithId}/runs`, { input: [] })],
      'for another smith': [403, () => smith.get(`/v1/smiths/${missingId('smt')}`)],
      'by validation': [422, () => project.post('/v1/customers', { name: 1 })],
      'for a body that is no JSON': [422, () => project.post('/v1/customers', '{')],
      'for a row that is missing': [404, () => project.get(`/v1/agents/${missingId('agt')}`)],
      'for a route that is missing': [404, () => project.get('/v1/no/such/route')],
      'for a route that is missing outside /v1': [404, () => project.get('/no/such/route')],
    };
    for (const [what, [status, send]] of Object.entries(refused)) {
      const before = remainingIn(await project.get('/v1/agents'));
      const answer = await send();
      assert.equal(answer.status, status, what);
      assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"project"/, what);
      assert.equal(remainingIn(answer), before - 1, what);
      assert.equal(remainingIn(await project.get('/v1/agents')), before - 2, what);
    }
  });

  test('that is used up is told so by every route, also by one that does not exist', async () => {
    const project = await platform.createProject();
    for (let used = 0; used < PROJECT_LIMIT; used += 1) await project.get('/v1/no/such/route');
    assertRefusal(await project.get('/v1/agents'), 429, 'rate_limit_exceeded');
    assertRefusal(await project.get('/v1/no/such/route'), 429, 'rate_limit_exceeded');
  });
});

describe('an address', () => {
  test('is refused once its callers without a token have used its budget up', async () => {
    const nobody = from(newAddress());
    for (let used = 1; used <= ADDRESS_LIMIT; used += 1) {
      const answer = await nobody.get('/v1/agents');
      assertRefusal(answer, 401, 'unauthenticated');
      assert.match(answer.headers.get('ratelimit-policy') ?? '', new RegExp(`^"address";q=${ADDRESS_LIMIT};`));
      assert.equal(remainingIn(answer), ADDRESS_LIMIT - used);
    }
    const refused = await nobody.get('/v1/agents');
    assertRefusal(refused, 429, 'rate_limit_exceeded');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  });

  test('is charged for every kind of request that proves nobody', async () => {
    const address = newAddress();
    const nobody = from(address);
    await nobody.get('/v1/agents');
    await from(address, 'nonsense').get('/v1/agents');
    await nobody.get('/v1/no/such/route');
    await nobody.get('/.well-known/jwks.json');
    assert.equal(remainingIn(await nobody.get('/v1/agents')), ADDRESS_LIMIT - 5);
    for (const path of ['/v1/agents', '/v1/no/such/route', '/.well-known/jwks.json']) {
      assertRefusal429(await nobody.get(path));
    }
    assertRefusal429(await from(address, 'nonsense').get('/v1/agents'));
  });

  test('is not charged for calls that a good token makes in vain', async () => {
    const address = newAddress();
    const { token } = await platform.createProject();
    for (const path of ['/v1/no/such/route', '/v1/organization/projects', `/v1/agents/${missingId('agt')}`]) {
      await from(address, token).get(path);
    }
    assert.equal(remainingIn(await from(address).get('/v1/agents')), ADDRESS_LIMIT - 1);
  });

  test('has a budget of its own for documents, which shows what is left of it', async () => {
    const address = newAddress();
    const paths = ['/openapi.json', '/docs', '/docs/static/swagger-ui.css', '/docs/json', '/', '/no/such/route'];
    const left: (string | null)[] = [];
    for (const path of paths) {
      const answer = await from(address).open('GET', path);
      await answer.arrayBuffer();
      left.push(answer.headers.get('ratelimit')?.replace(/;t=\d+$/, '') ?? null);
    }
    const documents = [599, 598, 597, 596, 595].map((remaining) => `"document";r=${remaining}`);
    assert.deepEqual(left, [...documents, `"address";r=${ADDRESS_LIMIT - 1}`]);
    // Without a socket each: there are many.
    const { app } = platform.platform;
    let refused = 0;
    for (let sent = 0; sent < 600; sent += 1) {
      const answer = await app.inject({
        method: 'HEAD',
        url: '/openapi.json',
        headers: { 'x-forwarded-for': address },
      });
      if (answer.statusCode === 429) refused += 1;
    }
    assert.equal(refused, 5);
    assertRefusal429(await from(address).get('/openapi.json'));
    assert.equal((await from(newAddress()).open('HEAD', '/openapi.json')).status, 200);
    assert.equal(remainingIn(await from(address).get('/v1/agents')), ADDRESS_LIMIT - 2);
  });

  test('is not charged for broken HTTP, which shows what is left all the same', async () => {
    const left = async () => remainingIn(await sendRaw(platform.url, ['G@T / HTTP/1.1']));
    assert.equal(await left(), await left());
  });

  test('is not charged for calls with a token that verifies, however many come at once', async () => {
    const address = newAddress();
    const projects = await Promise.all(Array.from({ length: 4 }, () => platform.createProject()));
    const calls = projects.flatMap(({ token }) =>
      Array.from({ length: 20 }, () => from(address, token).get('/v1/agents')),
    );
    for (const { status, text } of await Promise.all(calls)) assert.equal(status, 200, text);
    assert.equal(remainingIn(await from(address).get('/v1/agents')), ADDRESS_LIMIT - 1);
  });

  test('that is used up does not keep a caller with a good token out', async () => {
    const address = newAddress();
    const { token } = await platform.createProject();
    for (let used = 0; used <= ADDRESS_LIMIT; used += 1) await from(address).get('/v1/agents');
    assertRefusal429(await from(address).get('/v1/agents'));
    assert.equal((await from(address, token).get('/v1/agents')).status, 200);
  });

  test('of IPv6 is counted with its whole /64, and apart from its neighbours', async () => {
    const first = await from('2001:db8:1:2::1').get('/v1/agents');
    const second = await from('2001:db8:1:2:ffff:ffff:ffff:ffff').get('/v1/agents');
    const neighbour = await from('2001:db8:1:3::1').get('/v1/agents');
    assert.deepEqual([first, second, neighbour].map(remainingIn), [4, 3, 4]);
  });

  test('is not charged for a preflight, which shows what is left all the same', async () => {
    const address = newAddress();
    for (let sent = 0; sent < ADDRESS_LIMIT + 2; sent += 1) {
      const answer = await from(address).open('OPTIONS', '/v1/agents');
      assert.equal(answer.status, 204);
      assert.equal(answer.headers.get('x-ratelimit-remaining-requests'), String(ADDRESS_LIMIT));
    }
  });
});

describe('a server whose event loop lags', () => {
  test('refuses with 503 service_overloaded and Retry-After, before it looks at the token, and recovers', async () => {
    const overloaded = await startPlatform({ overloadDelayMs: OVERLOAD_MS });
    try {
      const { token } = await overloaded.createProject();
      const project = createClient(overloaded.url, token);
      await untilStatus(200, () => project.get('/v1/agents'));
      const refused = await untilStatus(503, async () => {
        blockEventLoop(3 * OVERLOAD_MS);
        return project.get('/v1/agents');
      });
      assertRefusal(refused, 503, 'service_overloaded');
      assert.ok(Number(refused.headers.get('retry-after')) >= 1);
      blockEventLoop(3 * OVERLOAD_MS);
      const unproven = await sendRaw(overloaded.url, ['GET /v1/agents HTTP/1.1', 'Authorization: Bearer nonsense']);
      assert.ok([401, 503].includes(unproven.status));
      const recovered = await untilStatus(200, () => project.get('/v1/agents'));
      assertCommonHeaders(recovered);
    } finally {
      await overloaded.close();
    }
  });
});

function from(address: string, token = ''): Client {
  const client = createClient(platform.url, token);
  const open: Client['open'] = (method, path, body, headers = {}, signal) =>
    client.open(method, path, body, { 'x-forwarded-for': address, ...headers }, signal);
  return { ...client, open, get: (path, headers) => client.get(path, { 'x-forwarded-for': address, ...headers }) };
}

function remainingIn({ headers }: Answer): number {
  return Number(headers.get('x-ratelimit-remaining-requests'));
}

function assertRefusal429(answer: Answer): void {
  assert.equal(`${answer.status} ${answer.body?.error?.code}`, '429 rate_limit_exceeded', answer.text);
}

/** Holds this process, and with it the server, up, without computing anything. */
function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function untilStatus(status: number, send: () => Promise<Answer>): Promise<Answer> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const answer = await send();
    if (answer.status === status) return answer;
    assert.ok(performance.now() < deadline, `no ${status}, but ${answer.status} ${answer.text}`);
  }
}
