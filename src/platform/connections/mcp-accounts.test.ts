/** Calls of an MCP server that takes accounts, whose issuer rotates refresh tokens and registers clients by itself. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type OAuthUpstream, startOAuthUpstream } from '../../../test/support/oauth-upstream.ts';
import { type Answer, startPlatform, type TestPlatform, type TestProject } from '../../../test/support/platform.ts';

const PUBLIC_URL = 'http://127.0.0.1:8787';
const CALLBACK = `${PUBLIC_URL}/v1/oauth/callback`;
/** Rounds of turns side by side, and turns of a round. */
const [ROUNDS = 2, TURNS = 6] = (process.env.IRONCRAFT_TEST_REFRESH_ROUNDS ?? '')
  .split('x')
  .filter(Boolean)
  .map(Number);

let upstream: OAuthUpstream;
let platform: TestPlatform;
let second: TestPlatform;
before(async () => {
  upstream = await startOAuthUpstream(CALLBACK);
  const outboundAllow = ['127.0.0.1', 'example.com'];
  platform = await startPlatform({ outboundAllow });
  const { db, vault, blobs } = platform;
  second = await startPlatform({ outboundAllow, sharing: { db, vault, blobs } });
});
after(async () => {
  await second.close();
  await platform.close();
  await upstream.close();
});

async function register(p: TestProject, body: object = {}): Promise<void> {
  const { status, text } = await p.put('/v1/tenant/mcp/notes', {
    url: upstream.mcpUrl,
    auth: { kind: 'oauth' },
    ...body,
  });
  assert.ok(status === 200 || status === 201, text);
}

async function arrive(link: string): Promise<void> {
  const answer = await fetch((await upstream.visit(link)).replace(PUBLIC_URL, platform.url), { redirect: 'manual' });
  assert.equal(answer.status, 200, await answer.text());
}

async function connect(p: TestProject, smithId: string): Promise<void> {
  const { status, body, text } = await p.post(`/v1/smiths/${smithId}/connections/authorize`, { provider: 'mcp:notes' });
  assert.equal(status, 200, text);
  await arrive(body.authorize_url);
}

/** Until the server's tools are known. */
async function knowTools(p: TestProject): Promise<void> {
  const { status, body, text } = await p.post('/v1/tenant/mcp/notes/refresh');
  assert.deepEqual([status, body.status, body.tools_discovered], [200, 'ready', 1], text);
}

const whoami = (p: TestProject, smithId: string) =>
  p.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content: 'Call the tool notes__whoami with {}' }] });

function assertCompleted({ body, text }: Answer): void {
  assert.equal(body.status, 'completed', text);
}

/** As whom the server was called meanwhile. */
async function callsOf(work: () => Promise<void>): Promise<string[]> {
  const before = upstream.calls.length;
  await work();
  return upstream.calls.slice(before).map(({ account }) => account);
}

async function connectedProject(): Promise<{ p: TestProject; smithId: string }> {
  const p = await platform.createProject();
  await register(p);
  const smithId = await p.createSmith();
  await connect(p, smithId);
  await knowTools(p);
  return { p, smithId };
}

/** As if the access token had expired. */
const expire = (p: TestProject) =>
  platform.db.query({
    text: `update connections set expires_at = now() where project_id = $1`,
    values: [p.projectId],
  });

test('a client is registered once, an account connected, and the tool called as its user', async () => {
  const p = await platform.createProject();
  await register(p);
  const { registered } = upstream.counts;
  const smithId = await p.createSmith();
  const refused = await p.post('/v1/tenant/mcp/notes/refresh');
  assert.deepEqual([refused.status, refused.body.error.code], [422, 'auth_required']);
  await connect(p, smithId);
  await connect(p, smithId);
  await knowTools(p);
  assert.equal(upstream.counts.registered, registered + 1);
  assert.deepEqual(await callsOf(async () => assertCompleted(await whoami(p, smithId))), ['ada']);
});

test('a run without an account pauses with a link, and goes on by itself once one is connected', async () => {
  const { p } = await connectedProject();
  const smithId = await p.createSmith();
  const { body: run, text } = await whoami(p, smithId);
  assert.equal(run.status, 'paused', text);
  const { body: feed } = await p.get('/v1/events?type=connection.required');
  const { authorize_url, provider, mcp_server } = feed.data[0].data;
  assert.deepEqual([provider, mcp_server], ['mcp:notes', 'notes']);
  const called = await callsOf(async () => {
    await arrive(authorize_url);
    for (let { status } = run; status !== 'completed'; ) {
      status = (await p.get(`/v1/smiths/${smithId}/runs/${run.id}`)).body.status;
    }
  });
  assert.deepEqual(called, ['ada']);
});

test('a token goes to the address at which it was connected, and nowhere else', async () => {
  const { p, smithId } = await connectedProject();
  const calls = upstream.calls.length;
  await register(p, { url: `${upstream.issuer}/elsewhere` });
  const connection = (await p.get(`/v1/smiths/${smithId}/connections`)).body.data[0];
  assert.equal(connection.status, 'expired');
  // Back again, it has to be connected again.
  await register(p);
  await platform.db.query({
    text: `update mcp_servers set tools_hash = (select hash from mcp_tool_lists l where l.project_id = $1 limit 1) where project_id = $1`,
    values: [p.projectId],
  });
  const { body, text } = await whoami(p, smithId);
  assert.equal(body.status, 'paused', text);
  assert.equal(upstream.calls.length, calls);
});

test('a token of another issuer than today’s is not sent', async () => {
  const { p, smithId } = await connectedProject();
  const other = await startOAuthUpstream(CALLBACK);
  upstream.namedIssuer = other.issuer;
  const called = await callsOf(async () => {
    const asked = await p.post(`/v1/smiths/${await p.createSmith()}/connections/authorize`, { provider: 'mcp:notes' });
    assert.ok(asked.body.authorize_url.startsWith(other.issuer), asked.text);
    assert.equal((await whoami(p, smithId)).body.status, 'paused');
  });
  assert.deepEqual(called, []);
  upstream.namedIssuer = upstream.issuer;
  await other.close();
});

test('an account of a provider serves the servers that named it before the user was asked, and no later ones', async () => {
  const p = await platform.createProject();
  await p.put('/v1/tenant/providers/work', { ...upstream.client, issuer: upstream.issuer, scopes_allowed: ['read'] });
  const auth = { kind: 'oauth', provider: 'work', client_mode: 'registered' };
  await register(p, { auth });
  const smithId = await p.createSmith();
  const { body } = await p.post(`/v1/smiths/${smithId}/connections/authorize`, { provider: 'work' });
  await arrive(body.authorize_url);
  await knowTools(p);
  assert.equal((await whoami(p, smithId)).body.status, 'completed');
  await p.put('/v1/tenant/mcp/later', { url: upstream.mcpUrl, auth });
  const later = await p.post('/v1/tenant/mcp/later/refresh');
  assert.deepEqual([later.status, later.body.error.code], [422, 'auth_required']);
});

test('a token that the server refuses is refreshed, and the call made once more', async () => {
  const { p, smithId } = await connectedProject();
  const { rows } = await platform.db.query<{ id: string }>({
    text: `update connections set credential_at = now() - interval '1 hour' where project_id = $1 returning id`,
    values: [p.projectId],
  });
  assert.equal(rows.length, 1);
  const { refreshes } = upstream.counts;
  upstream.refuseCalls = 1;
  assert.deepEqual(await callsOf(async () => assertCompleted(await whoami(p, smithId))), ['ada']);
  assert.equal(upstream.counts.refreshes, refreshes + 1);
});

test('turns over two replicas on an expired connection refresh it once, and present no refresh token twice', async () => {
  const { p, smithId } = await connectedProject();
  const { refreshes, refused } = upstream.counts;
  const serverId = (await p.get('/v1/tenant/mcp/notes')).body.id;
  const access = (server: TestPlatform) =>
    server.platform.connections.signIn.findAccess({
      projectId: p.projectId,
      smithId,
      serverId,
      signal: AbortSignal.timeout(60_000),
    });
  for (let round = 1; round <= ROUNDS; round += 1) {
    await expire(p);
    const found = await Promise.all(
      Array.from({ length: TURNS }, (_, turn) => access(turn % 2 === 0 ? platform : second)),
    );
    const tokens = new Set(found.map((each) => (each.kind === 'token' ? each.token : each.kind)));
    assert.equal(tokens.size, 1, [...tokens].join());
    assert.equal(upstream.counts.refreshes, refreshes + round);
  }
  assert.equal(upstream.counts.refused, refused);
});
