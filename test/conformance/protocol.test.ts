/** What every answer has in common, whatever was asked: request ids, CORS, versions, methods, the error envelope. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createClient, startPlatform } from '../support/platform.ts';
import { assertCommonHeaders, assertRefusal, assertServerHeaders } from './assert-refusal.ts';
import { sendRaw } from './raw-http.ts';
import { createWorld, missingId, type World } from './world.ts';

const platform = await startPlatform();
after(() => platform.close());
const world = await createWorld(platform);
const { tenant } = world;
const nobody = createClient(platform.url, '');

/** One request for every way to answer, with the status that it must have. */
const requests = {
  'a read': () => tenant.get('/v1/agents'),
  'a create': () => tenant.post('/v1/customers', { name: 'Acme' }),
  'a reply without a body': async () => tenant.delete(`/v1/customers/${await createCustomer()}`),
  'a stream': () => tenant.get(`/v1/smiths/${world.smithId}/runs/${world.runId}/events`),
  'no token': () => nobody.get('/v1/agents'),
  'a wrong posture': () => world.organization.get('/v1/agents'),
  'a missing row': () => tenant.get(`/v1/agents/${missingId('agt')}`),
  'an unknown route': () => tenant.get('/v1/nothing/here'),
  'an unknown route without a token': () => nobody.get('/v1/nothing/here'),
  'a method that the path does not have': () => tenant.put('/v1/agents', {}),
  'a body that does not validate': () => tenant.post('/v1/customers', { name: 5 }),
  'a body that is no JSON': () => tenant.post('/v1/customers', '{'),
  'an unknown version': () => tenant.get('/v1/agents', { 'ic-api-version': '1999-01-01' }),
  'a path that cannot be decoded': () => tenant.get('/v1/agents/%ff'),
  'a path that is too long': () => tenant.get(`/v1/agents/${'a'.repeat(3000)}`),
} as const;

describe('every answer carries request id, version, CORS and all three families of quota headers', () => {
  for (const [what, send] of Object.entries(requests)) {
    test(what, async () => {
      const answer = await send();
      assertCommonHeaders(answer);
      assert.equal(answer.headers.get('server'), null);
      assert.equal(answer.headers.get('x-powered-by'), null);
    });
  }

  test('a preflight', async () => {
    assertCommonHeaders(await nobodyOptions('/v1/agents'));
  });

  test('HEAD', async () => {
    assertCommonHeaders(await tenant.open('HEAD', '/v1/agents'));
  });
});

describe('what is no operation carries request id, version and quota headers too', () => {
  const pages: Readonly<Record<string, number>> = {
    '/': 200,
    '/openapi.json': 200,
    '/docs': 200,
    '/docs/': 200,
    '/docs/static/swagger-ui.css': 200,
    '/docs/static/swagger-ui-bundle.js': 200,
    '/docs/static/no-such-asset.css': 404,
    '/.well-known/no-such-document': 404,
    '/nothing': 404,
  };
  for (const [path, status] of Object.entries(pages)) {
    for (const method of ['GET', 'HEAD']) {
      test(`${method} ${path}`, async () => {
        const answer = await nobody.open(method, path);
        await answer.arrayBuffer();
        assert.equal(answer.status, status);
        assertServerHeaders(answer);
      });
    }
  }

  test('a document that the caller has already', async () => {
    const asset = '/docs/static/swagger-ui.css';
    const etag = (await nobody.open('GET', asset)).headers.get('etag') ?? '';
    const answer = await sendRaw(platform.url, [`GET ${asset} HTTP/1.1`, `If-None-Match: ${etag}`]);
    assert.equal(answer.status, 304);
    assertServerHeaders(answer);
  });

  test('a request that expects what no server knows is served', async () => {
    const lines = ['GET /v1/agents HTTP/1.1', `Authorization: Bearer ${tenant.token}`, 'Expect: wonders'];
    const answer = await sendRaw(platform.url, lines);
    assert.equal(answer.status, 200);
    assertCommonHeaders(answer);
  });
});

describe('a request id', () => {
  for (const given of ['abc', 'trace:0af7651916cd43dd.8448-eb21_1', 'x'.repeat(128)]) {
    test(`that is well formed is echoed: ${given.slice(0, 40)}`, async () => {
      for (const path of ['/v1/agents', '/v1/nothing', `/v1/agents/${missingId('agt')}`]) {
        const answer = await tenant.get(path, { 'x-request-id': given });
        assert.equal(answer.headers.get('x-request-id'), given);
      }
    });
  }

  for (const given of ['', ' ', 'two words', 'x'.repeat(129), 'quote"', '<script>', 'ünïcode', '{}']) {
    test(`that is not is replaced: ${JSON.stringify(given.slice(0, 20))}`, async () => {
      const answer = await sendRaw(platform.url, ['GET /v1/agents HTTP/1.1', `X-Request-Id: ${given}`]);
      assert.match(answer.headers.get('x-request-id') ?? '', /^[\da-f]{8}-[\da-f-]{27}$/);
    });
  }

  test('is minted anew for each request that has none', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => tenant.get('/v1/agents')));
    assert.equal(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size, 20);
  });
});

describe('IC-Api-Version', () => {
  test('the live version is served, and echoed', async () => {
    const answer = await tenant.get('/v1/agents', { 'IC-Api-Version': '2026-05-01' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('ic-api-version'), '2026-05-01');
  });

  for (const asked of ['2026-05-02', '1', 'latest', '', '2026-05-01, 2026-05-01', '2026-05-01 x', '❄'.repeat(10)]) {
    test(`${JSON.stringify(asked)} is refused, with a message that names what is served`, async () => {
      const lines = [`GET /v1/agents HTTP/1.1`, `Authorization: Bearer ${tenant.token}`, `IC-Api-Version: ${asked}`];
      const answer = await sendRaw(platform.url, lines);
      assertRefusal(answer, 400, 'unsupported_api_version', 'IC-Api-Version');
      assert.match(answer.body.error.message, /2026-05-01/);
      assert.equal(answer.headers.get('ic-api-version'), '2026-05-01');
    });
  }

  test('is refused before the token is looked at', async () => {
    assertRefusal(await nobody.get('/v1/agents', { 'ic-api-version': 'x' }), 400, 'unsupported_api_version');
  });
});

describe('CORS', () => {
  const clientHeaders = [
    'authorization',
    'content-type',
    'idempotency-key',
    'ic-agent-id',
    'ic-smith-id',
    'ic-api-version',
    'openai-beta',
    'openai-organization',
    'x-stainless-lang',
    'x-stainless-retry-count',
    'x-stainless-timeout',
    'last-event-id',
    'prefer',
    'x-request-id',
  ];

  for (const path of ['/v1/agents', `/v1/smiths/${world.smithId}/runs`, '/v1/no/such/route']) {
    test(`a preflight of ${path.replace(world.smithId, '{sid}')} allows what browsers ask for, to any origin`, async () => {
      const answer = await nobodyOptions(path, {
        origin: 'https://app.example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers': clientHeaders.join(','),
      });
      assert.equal(answer.status, 204);
      assert.equal(await answer.text(), '');
      const allowed = listOf(answer.headers.get('access-control-allow-headers'));
      for (const name of clientHeaders) assert.ok(allowed.includes(name), `${name} is not allowed: ${allowed}`);
      const methods = listOf(answer.headers.get('access-control-allow-methods'));
      for (const method of ['get', 'post', 'put', 'patch', 'delete']) assert.ok(methods.includes(method), method);
      assert.ok(Number(answer.headers.get('access-control-max-age')) > 0);
      assertCommonHeaders(answer);
    });
  }

  test('a preflight takes no token, no version and none of the request budget', async () => {
    const before = await nobodyOptions('/v1/agents', { 'access-control-request-method': 'GET' });
    const after_ = await nobodyOptions('/v1/agents', { 'access-control-request-method': 'GET' });
    assert.equal(after_.status, 204);
    const left = 'x-ratelimit-remaining-requests';
    assert.equal(after_.headers.get(left), before.headers.get(left));
  });

  test('a simple request of any origin gets an answer that the page may read', async () => {
    const answer = await tenant.get('/v1/agents', { origin: 'https://evil.example' });
    assert.equal(answer.status, 200);
    assertCommonHeaders(answer);
  });

  test('credentials are never allowed, also when a cookie comes along', async () => {
    const answer = await tenant.get('/v1/agents', { origin: 'https://app.example.com', cookie: 'session=1' });
    assert.equal(answer.headers.get('access-control-allow-credentials'), null);
    assert.equal(answer.headers.get('set-cookie'), null);
  });
});

describe('methods', () => {
  test('HEAD of a read has its status and headers, and no body', async () => {
    const [head, get] = [await tenant.open('HEAD', '/v1/agents'), await tenant.get('/v1/agents')];
    assert.equal(head.status, 200);
    assert.equal(await head.text(), '');
    assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(get.text)));
  });

  test('HEAD needs a token like GET', async () => {
    assert.equal((await nobody.open('HEAD', '/v1/agents')).status, 401);
  });

  test('HEAD of a stream answers at once and without a body', async () => {
    const answer = await sendRaw(platform.url, [
      `HEAD /v1/smiths/${world.smithId}/runs/${world.runId}/events HTTP/1.1`,
      `Authorization: Bearer ${tenant.token}`,
    ]);
    assert.equal(answer.status, 200);
    assert.equal(answer.text, '');
  });

  for (const method of ['TRACE', 'PROPFIND', 'PURGE']) {
    test(`${method} is no route`, async () => {
      const line = `${method} /v1/agents HTTP/1.1`;
      const answer = await sendRaw(platform.url, [line, `Authorization: Bearer ${tenant.token}`]);
      assertRefusal(answer, 404, 'not_found', null);
    });
  }

  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    test(`${method} of a path that has no such operation is no route`, async () => {
      assertRefusal(await sendAs(method, '/v1/agents'), 404, 'not_found');
    });
  }

  test('a trailing slash, a doubled slash and another case are other routes', async () => {
    for (const path of ['/v1/agents/', '/v1//agents', '/V1/agents', '/v1/Agents']) {
      const answer = await tenant.get(path);
      assert.equal(answer.status, 404, path);
      assert.equal(answer.body.error.code, 'not_found');
    }
  });

  test('an unknown route says where the routes are listed', async () => {
    const answer = await tenant.get('/v1/agent');
    assertRefusal(answer, 404, 'not_found', null);
    assert.match(answer.body.error.message, /openapi\.json/);
  });
});

describe('what is no HTTP gets the envelope, and its connection is closed', () => {
  const post = 'POST /v1/agents HTTP/1.1';
  const broken: Readonly<Record<string, readonly [head: readonly string[], status: number]>> = {
    'an invalid method': [['G@T /v1/agents HTTP/1.1'], 400],
    'a path with a control character': [['GET /v1/\u0001 HTTP/1.1'], 400],
    'an invalid header': [['GET /v1/agents HTTP/1.1', 'Bad Header: x'], 400],
    'two lengths': [[post, 'Content-Length: 5', 'Content-Length: 6'], 400],
    'a length and chunks': [[post, 'Content-Length: 5', 'Transfer-Encoding: chunked'], 400],
    'headers of 64 KiB': [['GET /v1/agents HTTP/1.1', `X-Filler: ${'a'.repeat(65_536)}`], 431],
  };
  for (const [what, [head, status]] of Object.entries(broken)) {
    test(what, async () => {
      const answer = await sendRaw(platform.url, head);
      assert.equal(answer.status, status, answer.text);
      const { message, ...error } = answer.body.error;
      assert.deepEqual(error, { type: 'invalid_request_error', param: null, code: 'invalid_request' });
      assert.match(message, /\.$/);
      assert.match(answer.headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
      assertCommonHeaders(answer);
      assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"address"/);
      assert.equal(answer.headers.get('connection'), 'close');
      assert.equal((await tenant.get('/v1/agents')).status, 200);
    });
  }

  test('a request that names no host is refused with the envelope as well', async () => {
    const answer = await sendRaw(platform.url, ['GET /v1/agents HTTP/1.1'], '', { host: false });
    assert.equal(answer.status, 400);
    assert.deepEqual([answer.body.error.code, answer.body.error.param], ['invalid_request', 'Host']);
    assertCommonHeaders(answer);
  });
});

async function createCustomer(): Promise<World['customerId']> {
  return (await tenant.post('/v1/customers', { name: 'Gone soon' })).body.id;
}

function nobodyOptions(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return nobody.open('OPTIONS', path, undefined, headers);
}

async function sendAs(method: string, path: string) {
  const response = await tenant.open(method, path);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

function listOf(header: string | null): string[] {
  return (header ?? '').split(',').map((name) => name.trim().toLowerCase());
}
