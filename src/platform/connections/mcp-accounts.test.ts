/** Calls of an MCP server that takes accounts, whose issuer rotates refresh tokens and registers clients by itself. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accountSteps, expireTokens, goneOn, whoami } from '../../../test/support/mcp-accounts.ts';
import { type OAuthUpstream, startOAuthUpstream } from '../../../test/support/oauth-upstream.ts';
import { type Answer, startPlatform, type TestPlatform } from '../../../test/support/platform.ts';

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
let steps: ReturnType<typeof accountSteps>;
before(async () => {
  upstream = await startOAuthUpstream(CALLBACK);
  const outboundAllow = ['127.0.0.1', 'example.com'];
  platform = await startPlatform({ outboundAllow });
  const { db, vault, blobs } = platform;
  second = await startPlatform({ outboundAllow, sharing: { db, vault, blobs } });
  steps = accountSteps(upstream, platform, PUBLIC_URL);
});
after(async () => {
  await second.close();
  await platform.close();
  await upstream.close();
});

function assertCompleted({ body, text }: Answer): void {
  assert.equal(body.status, 'completed', text);
}

test('a client is registered once, an account connected, and the tool called as its user', async () => {
  const p = await platform.createProject();
  await steps.register(p);
  const { registered } = upstream.counts;
  const smithId = await p.createSmith();
  const refused = await p.post('/v1/tenant/mcp/notes/refresh');
  assert.deepEqual([refused.status, refused.body.error.code], [422, 'auth_required']);
  await steps.connect(p, smithId);
  await steps.connect(p, smithId);
  await steps.knowTools(p);
  assert.equal(upstream.counts.registered, registered + 1);
  assert.deepEqual(await steps.callsOf(async () => assertCompleted(await whoami(p, smithId))), ['ada']);
});

test('a run without an account pauses with a link, and goes on by itself once one is connected', async () => {
  const { p } = await steps.connectedProject();
  const smithId = await p.createSmith();
  const { body: run, text } = await whoami(p, smithId);
  assert.equal(run.status, 'paused', text);
  const { body: feed } = await p.get('/v1/events?type=connection.required');
  const { authorize_url, provider, mcp_server } = feed.data[0].data;
  assert.deepEqual([provider, mcp_server], ['mcp:notes', 'notes']);
  const called = await steps.callsOf(async () => {
    await steps.arrive(authorize_url);
    assert.equal((await goneOn(p, smithId, run.id, authorize_url)).status, 'completed');
  });
  assert.deepEqual(called, ['ada']);
});

test('a token goes to the address at which it was connected, and nowhere else', async () => {
  const { p, smithId } = await steps.connectedProject();
  const calls = upstream.calls.length;
  await steps.register(p, { url: `${upstream.issuer}/elsewhere` });
  const connection = (await p.get(`/v1/smiths/${smithId}/connections`)).body.data[0];
  assert.equal(connection.status, 'expired');
  // Back again, it has to be connected again.
  await steps.register(p);
  await platform.db.query({
    text: `update mcp_servers set tools_hash = (select hash from mcp_tool_lists l where l.project_id = $1 limit 1) where project_id = $1`,
    values: [p.projectId],
  });
  const { body, text } = await whoami(p, smithId);
  assert.equal(body.status, 'paused', text);
  assert.equal(upstream.calls.length, calls);
});

test('a token of another issuer than today’s is not sent', async () => {
  const { p, smithId } = await steps.connectedProject();
  const other = await startOAuthUpstream(CALLBACK);
  upstream.namedIssuer = other.issuer;
  const called = await steps.callsOf(async () => {
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
  await steps.register(p, { auth });
  const smithId = await p.createSmith();
  const { body } = await p.post(`/v1/smiths/${smithId}/connections/authorize`, { provider: 'work' });
  await steps.arrive(body.authorize_url);
  await steps.knowTools(p);
  assert.equal((await whoami(p, smithId)).body.status, 'completed');
  await p.put('/v1/tenant/mcp/later', { url: upstream.mcpUrl, auth });
  const later = await p.post('/v1/tenant/mcp/later/refresh');
  assert.deepEqual([later.status, later.body.error.code], [422, 'auth_required']);
});

test('a token that the server refuses is refreshed, and the call made once more', async () => {
  const { p, smithId } = await steps.connectedProject();
  const { rows } = await platform.db.query<{ id: string }>({
    text: `update connections set credential_at = now() - interval '1 hour' where project_id = $1 returning id`,
    values: [p.projectId],
  });
  assert.equal(rows.length, 1);
  const { refreshes } = upstream.counts;
  upstream.refuseCalls = 1;
  assert.deepEqual(await steps.callsOf(async () => assertCompleted(await whoami(p, smithId))), ['ada']);
  assert.equal(upstream.counts.refreshes, refreshes + 1);
});

test('turns over two replicas on an expired connection refresh it once, and present no refresh token twice', async () => {
  const { p, smithId } = await steps.connectedProject();
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
    await expireTokens(platform, p);
    const found = await Promise.all(
      Array.from({ length: TURNS }, (_, turn) => access(turn % 2 === 0 ? platform : second)),
    );
    const tokens = new Set(found.map((each) => (each.kind === 'token' ? each.token : each.kind)));
    assert.equal(tokens.size, 1, [...tokens].join());
    assert.equal(upstream.counts.refreshes, refreshes + round);
  }
  assert.equal(upstream.counts.refused, refused);
});
