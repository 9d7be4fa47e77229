import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { startMcpServer } from '../../../../test/fakes/mcp-server.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { createCatalog } from '../catalog/index.ts';

const ADD = {
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  annotations: { readOnlyHint: true },
};
const DELETE_ALL = { name: 'delete_all', annotations: { destructiveHint: true } };

const server = await startMcpServer([ADD, DELETE_ALL]);
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await server.close();
});

function assertRefused(answer: Answer, status: number, code: string, param?: string): void {
  assert.deepEqual([answer.status, answer.body.error?.code], [status, code], answer.text);
  if (param !== undefined) assert.equal(answer.body.error.param, param);
}

async function eventsOf(p: TestProject, type: string) {
  return (await p.get(`/v1/events?type=${type}`)).body.data.map(({ data }: { data: object }) => data);
}

describe('a registration', () => {
  test('is 201, its replacement 200, and each is told on the feed', async () => {
    const p = await platform.createProject();
    const first = await p.put('/v1/tenant/mcp/files', { url: server.url });
    assert.equal(first.status, 201, first.text);
    assert.match(first.body.id, /^mcp_/);
    const { name, auth, origin, catalog_slug, tool_allowlist, approval_policy, status, tools } = first.body;
    assert.deepEqual(
      { name, auth, origin, catalog_slug, tool_allowlist, approval_policy, status, tools },
      {
        name: 'files',
        auth: { kind: 'none', provider: null, client_mode: 'none' },
        origin: 'custom',
        catalog_slug: null,
        tool_allowlist: null,
        approval_policy: [],
        status: 'pending',
        tools: [],
      },
    );
    const second = await p.put('/v1/tenant/mcp/files', { url: server.url, auth: { kind: 'bearer', secret: 's3cret' } });
    assert.equal(second.status, 200, second.text);
    assert.equal(second.body.id, first.body.id);
    assert.ok(!second.text.includes('s3cret'));
    assert.equal((await p.delete('/v1/tenant/mcp/files')).status, 204);
    assertRefused(await p.delete('/v1/tenant/mcp/files'), 404, 'not_found');
    assertRefused(await p.get('/v1/tenant/mcp/files'), 404, 'not_found');
    const [created] = await eventsOf(p, 'mcp_server.created');
    const { request_id: requestId, ...data } = created;
    assert.ok(requestId);
    assert.deepEqual(data, { name: 'files', url: server.url, auth_kind: 'none', previous_auth_kind: null });
    const [updated] = await eventsOf(p, 'mcp_server.updated');
    assert.deepEqual([updated.auth_kind, updated.previous_auth_kind], ['bearer', 'none']);
    const [deleted] = await eventsOf(p, 'mcp_server.deleted');
    assert.deepEqual([deleted.name, deleted.auth_kind], ['files', 'bearer']);
  });

  const refusals: readonly [what: string, body: object, status: number, code: string, param: string][] = [
    ['neither url nor catalog', {}, 422, 'url_required', 'url'],
    ['an empty url', { url: '' }, 422, 'url_required', 'url'],
    ['both', { url: 'https://example.com', catalog: 'deepwiki' }, 422, 'invalid_request', 'catalog'],
    ['an unknown slug', { catalog: 'nowhere' }, 404, 'unknown_catalog_entry', 'catalog'],
    ['no URL', { url: 'over there' }, 422, 'invalid_url', 'url'],
    ['a private address', { url: 'https://10.0.0.1/mcp' }, 422, 'invalid_url', 'url'],
    ['the address of metadata', { url: 'https://169.254.169.254/latest' }, 422, 'invalid_url', 'url'],
    ['a password in the URL', { url: 'https://a:b@example.com/' }, 422, 'invalid_url', 'url'],
    ['a fragment', { url: 'https://example.com/#a' }, 422, 'invalid_url', 'url'],
    ['an unknown kind', { url: 'https://example.com', auth: { kind: 'basic' } }, 422, 'invalid_auth_kind', 'auth.kind'],
    ['bearer alone', { url: 'https://example.com', auth: { kind: 'bearer' } }, 422, 'secret_required', 'auth.secret'],
    [
      'an empty secret',
      { url: 'https://example.com', auth: { kind: 'bearer', secret: ' ' } },
      422,
      'secret_required',
      'auth.secret',
    ],
    [
      'a secret that is not sent',
      { url: 'https://example.com', auth: { kind: 'none', secret: 'a' } },
      422,
      'invalid_request',
      'auth.secret',
    ],
    [
      'a mode of another kind',
      { url: 'https://example.com', auth: { kind: 'none', client_mode: 'dynamic' } },
      422,
      'invalid_client_mode',
      'auth.client_mode',
    ],
    [
      'an unknown mode',
      { url: 'https://example.com', auth: { kind: 'oauth', client_mode: 'magic' } },
      422,
      'invalid_client_mode',
      'auth.client_mode',
    ],
    [
      'a client of a provider that is not saved',
      { url: 'https://example.com', auth: { kind: 'oauth', client_mode: 'registered', provider: 'github' } },
      404,
      'unknown_provider',
      'auth.provider',
    ],
    [
      'a rule for nothing',
      { url: 'https://example.com', approval_policy: [{ match: '' }] },
      422,
      'invalid_approval_policy',
      'approval_policy.0.match',
    ],
    [
      'an unknown hint',
      { url: 'https://example.com', approval_policy: [{ match: '*' }, { match: '@dangerous' }] },
      422,
      'invalid_approval_policy',
      'approval_policy.1.match',
    ],
    [
      'a rule that asks for something else',
      { url: 'https://example.com', approval_policy: [{ match: '*', require: 'sometimes' }] },
      422,
      'unsupported_policy_rule',
      'approval_policy.0.require',
    ],
  ];
  for (const [what, body, status, code, param] of refusals) {
    test(`is refused for ${what}`, async () => {
      const p = await platform.createProject();
      assertRefused(await p.put('/v1/tenant/mcp/one', body), status, code, param);
      assertRefused(await p.get('/v1/tenant/mcp/one'), 404, 'not_found');
    });
  }

  test('has a name of 63 small letters, digits, _ and - at most', async () => {
    const p = await platform.createProject();
    for (const name of ['A', 'a.b', 'a b', 'é', 'a'.repeat(64)]) {
      const answer = await p.put(`/v1/tenant/mcp/${encodeURIComponent(name)}`, { url: server.url });
      assertRefused(answer, 422, 'invalid_name');
    }
    assert.equal((await p.put(`/v1/tenant/mcp/${'a-_9'.padEnd(63, 'z')}`, { url: server.url })).status, 201);
  });

  test('keeps its secret while the origin stays, and needs it again when that changes', async () => {
    const p = await platform.createProject();
    const put = (url: string, secret?: string) =>
      p.put('/v1/tenant/mcp/one', { url, auth: { kind: 'bearer', ...(secret === undefined ? {} : { secret }) } });
    assert.equal((await put('https://example.com/mcp', 'first')).status, 201);
    assert.equal((await put('https://example.com/v2')).status, 200);
    assertRefused(await put('https://example.com:8443/v2'), 422, 'secret_required', 'auth.secret');
    assert.equal((await p.get('/v1/tenant/mcp/one')).body.url, 'https://example.com/v2');
    assert.equal((await put('https://example.com:8443/v2', 'second')).status, 200);
    // Another kind in between, and it is gone.
    assert.equal((await p.put('/v1/tenant/mcp/one', { url: 'https://example.com:8443/v2' })).status, 200);
    assertRefused(await put('https://example.com:8443/v2'), 422, 'secret_required', 'auth.secret');
  });

  test('from the catalog brings what the entry says', async () => {
    const p = await platform.createProject();
    const list = await p.get('/v1/catalog');
    assert.ok(list.body.data.length > 10);
    const slugs = list.body.data.map(({ slug }: { slug: string }) => slug);
    assert.deepEqual(slugs, slugs.toSorted());
    const entry = (await p.get('/v1/catalog/linear')).body;
    assert.deepEqual(entry.auth, { kind: 'oauth', provider: null, client_mode: 'auto' });
    assertRefused(await p.get('/v1/catalog/nowhere'), 404, 'unknown_catalog_entry');
    const { status, body, text } = await p.put('/v1/tenant/mcp/one', { catalog: 'example' });
    assert.equal(status, 201, text);
    const { url, auth, origin, catalog_slug, tool_allowlist, approval_policy } = body;
    assert.deepEqual(
      { url, auth, origin, catalog_slug, tool_allowlist, approval_policy },
      {
        url: 'https://example.com/mcp',
        auth: { kind: 'oauth', provider: null, client_mode: 'auto' },
        origin: 'catalog',
        catalog_slug: 'example',
        tool_allowlist: ['add'],
        approval_policy: [{ match: '@destructive', require: 'always' }],
      },
    );
  });

  test('is one of 100 of its project at most', async () => {
    const p = await platform.createProject();
    const body = { url: server.url };
    for (let n = 0; n < 100; n += 10) {
      const names = Array.from({ length: 10 }, (_, index) => `s${n + index}`);
      const answers = await Promise.all(names.map((name) => p.put(`/v1/tenant/mcp/${name}`, body)));
      for (const answer of answers) assert.equal(answer.status, 201, answer.text);
    }
    const refused = await p.put('/v1/tenant/mcp/more', body);
    assertRefused(refused, 422, 'invalid_request');
    assert.match(refused.body.error.message, / 100 /);
    assert.equal((await p.put('/v1/tenant/mcp/s1', body)).status, 200);
  });
});

test('an operator’s file adds entries to the catalog and replaces them, and one that is no catalog stops the start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ironcraft-catalog-'));
  const file = join(folder, 'catalog.json');
  try {
    const own = { slug: 'our-wiki', display_name: 'Our wiki', mcp_url: 'https://wiki.example.com/mcp' };
    writeFileSync(file, JSON.stringify([own, { ...own, slug: 'linear', auth: { kind: 'oauth' } }]));
    const catalog = createCatalog(file);
    assert.deepEqual(catalog.find('our-wiki')?.auth, { kind: 'none', provider: null, client_mode: 'none' });
    assert.deepEqual(catalog.find('linear')?.auth, { kind: 'oauth', provider: null, client_mode: 'auto' });
    assert.equal(catalog.find('linear')?.mcp_url, own.mcp_url);
    assert.ok(catalog.find('notion'));
    for (const [text, says] of [
      ['{', /cannot be read as JSON/],
      ['{}', /must hold a JSON list/],
      ['[{"slug": "A"}]', /has an entry that cannot be used: 0/],
      [JSON.stringify([{ ...own, mcp_url: 'ftp://a' }]), /0\/mcp_url/],
    ] as const) {
      writeFileSync(file, text);
      assert.throws(() => createCatalog(file), says);
    }
    assert.throws(() => createCatalog(join(folder, 'missing.json')), /IRONCRAFT_CATALOG_FILE: .*missing\.json/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('a refresh', () => {
  test('lists the server’s tools, with what the policy and the allowlist make of them', async () => {
    const p = await platform.createProject();
    await p.put('/v1/tenant/mcp/one', {
      url: server.url,
      tool_allowlist: ['add'],
      approval_policy: [{ match: '@read_only', require: 'never' }, { match: '*' }],
    });
    const answer = await p.post('/v1/tenant/mcp/one/refresh');
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body.tools, [
      { name: 'add', description: 'Adds two numbers.', requires_approval: false, enabled: true },
      { name: 'delete_all', description: null, requires_approval: true, enabled: false },
    ]);
    const { status, tools_discovered, discovery_error, tools_refreshed_at } = answer.body;
    assert.deepEqual([status, tools_discovered, discovery_error], ['ready', 2, null]);
    assert.ok(tools_refreshed_at);
    // The registration's own look at the list may end after this one.
    const known = { ...answer.body, tools_refreshed_at: null };
    const withoutTime = (body: object) => ({ ...body, tools_refreshed_at: null });
    assert.deepEqual(withoutTime((await p.get('/v1/tenant/mcp/one')).body), known);
    assert.deepEqual((await p.get('/v1/tenant/mcp')).body.data.map(withoutTime), [known]);
  });

  test('keeps the last good tools where the server fails, and says why', async () => {
    const own = await startMcpServer([ADD]);
    const p = await platform.createProject();
    await p.put('/v1/tenant/mcp/one', { url: own.url });
    assert.equal((await p.post('/v1/tenant/mcp/one/refresh')).status, 200);
    const cases: readonly [status: number, code: string, state: string, intercept: typeof own.intercept][] = [
      [422, 'auth_required', 'auth_required', (_, response) => Boolean(response.writeHead(401).end())],
      [502, 'discovery_failed', 'failed', (_, response) => Boolean(response.writeHead(500).end('broken'))],
      [502, 'discovery_failed', 'failed', (_, response) => Boolean(response.writeHead(200).end('<html>'))],
      [502, 'connect_failed', 'unreachable', (request) => Boolean(request.socket.destroy())],
    ];
    for (const [status, code, state, intercept] of cases) {
      own.intercept = intercept;
      assertRefused(await p.post('/v1/tenant/mcp/one/refresh'), status, code);
      const { body } = await p.get('/v1/tenant/mcp/one');
      assert.deepEqual([body.status, body.tools.length], [state, 1], body.discovery_error);
      assert.ok(body.discovery_error);
    }
    await own.close();
    assertRefused(await p.post('/v1/tenant/mcp/one/refresh'), 502, 'connect_failed');
    assertRefused(await p.post('/v1/tenant/mcp/two/refresh'), 404, 'not_found');
  });

  test('sends the secret, and nowhere but to the server', async () => {
    const own = await startMcpServer([ADD]);
    const p = await platform.createProject();
    await p.put('/v1/tenant/mcp/one', { url: own.url, auth: { kind: 'bearer', secret: 'tok-1' } });
    assert.equal((await p.post('/v1/tenant/mcp/one/refresh')).status, 200);
    assert.ok(own.received.length > 0);
    for (const { headers } of own.received) assert.equal(headers.authorization, 'Bearer tok-1');
    // A redirect to another origin is not followed.
    const elsewhere = await startMcpServer([ADD]);
    own.intercept = (_, response) => Boolean(response.writeHead(307, { location: elsewhere.url }).end());
    assertRefused(await p.post('/v1/tenant/mcp/one/refresh'), 502, 'discovery_failed');
    assert.equal(elsewhere.received.length, 0);
    await elsewhere.close();
    await own.close();
  });
});
