/** What an account may do is not enough, or is nobody's any more; and who we are where no client is registered. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { accountSteps, expireTokens, goneOn, whoami } from '../../../test/support/mcp-accounts.ts';
import { type OAuthUpstream, startOAuthUpstream } from '../../../test/support/oauth-upstream.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../test/support/platform.ts';
import { eventually } from '../../../test/support/turns.ts';

// By https: issuers read a client's document by nothing else. This issuer reaches it where it is.
const PUBLIC_URL = 'https://agents.example.com';

let upstream: OAuthUpstream;
let platform: TestPlatform;
let steps: ReturnType<typeof accountSteps>;
before(async () => {
  platform = await startPlatform({ outboundAllow: ['127.0.0.1'], publicUrl: PUBLIC_URL });
  upstream = await startOAuthUpstream(`${PUBLIC_URL}/v1/oauth/callback`, {
    configure: {
      features: { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } },
      // It calls no address of its own machine by the dispatcher that it brings along.
      fetch: (url, init) => fetch(String(url).replace(PUBLIC_URL, platform.url), { method: init?.method ?? 'GET' }),
    },
  });
  steps = accountSteps(upstream, platform, PUBLIC_URL);
});
after(async () => {
  await platform.close();
  await upstream.close();
});

const connectionsOf = async (p: TestProject, smithId: string) =>
  (await p.get(`/v1/smiths/${smithId}/connections`)).body.data;

/** Where a paused run asks its user to go. */
function linkOf({ body, text }: Awaited<ReturnType<typeof whoami>>): string {
  assert.equal(body.status, 'paused', text);
  return body.output.tool_calls[0].connection.authorize_url;
}

describe('a server that wants more of the account than it may do', () => {
  afterEach(() => {
    upstream.scopeOfCalls = undefined;
  });

  test('has the user asked for that, beside what there is, and the run goes on', async () => {
    const { p, smithId } = await steps.connectedProject();
    upstream.scopeOfCalls = 'write';
    const paused = await whoami(p, smithId);
    const link = linkOf(paused);
    assert.deepEqual(new URL(link).searchParams.get('scope')?.split(' ').sort(), ['offline_access', 'read', 'write']);
    await steps.arrive(link);
    assert.equal((await goneOn(p, smithId, paused.body.id, link)).status, 'completed');
    const [connection] = await connectionsOf(p, smithId);
    assert.deepEqual(connection.scopes.toSorted(), ['offline_access', 'read', 'write']);
  });

  test('has the user asked once: what was not granted is not asked for in a circle', async () => {
    const { p, smithId } = await steps.connectedProject();
    upstream.scopeOfCalls = 'admin';
    const paused = await whoami(p, smithId);
    const link = linkOf(paused);
    assert.match(new URL(link).searchParams.get('scope') ?? '', /\badmin\b/);
    await steps.arrive(link);
    const lacking = /notes refused the call: the account that is connected lacks a permission for it \(admin\)\./;
    const run = await goneOn(p, smithId, paused.body.id, link);
    const next = (await whoami(p, smithId)).body;
    for (const { status, output } of [run, next]) {
      assert.deepEqual([status, output.tool_calls[0].status], ['completed', 'failed']);
      assert.match(output.content, lacking);
    }
    // Much later the user may have thought better of it.
    await platform.db.query({
      text: `update connections set granted_at = now() - interval '11 minutes' where project_id = $1`,
      values: [p.projectId],
    });
    linkOf(await whoami(p, smithId));
  });
});

test('with a server go its accounts, at the issuer too, and its links; a run that waits ends with its next account', async () => {
  const { p, smithId } = await steps.connectedProject();
  const waiting = await p.createSmith();
  const paused = await whoami(p, waiting);
  const link = linkOf(paused);
  const { revoked, codes } = upstream.counts;
  assert.equal((await p.delete('/v1/tenant/mcp/notes')).status, 204);
  assert.deepEqual(await connectionsOf(p, smithId), []);
  await eventually(() => (upstream.counts.revoked > revoked ? true : undefined), 'the account is revoked');
  const late = await steps.comeBack(link);
  assert.deepEqual([late.status, upstream.counts.codes], [409, codes]);

  await steps.register(p);
  await steps.connect(p, waiting);
  const run = await goneOn(p, waiting, paused.body.id, link);
  assert.deepEqual([run.status, run.output.tool_calls[0].status], ['completed', 'failed']);
  assert.match(run.output.content, /is no longer there/);
});

test('by our metadata document: nothing is registered, and each request to the issuer is signed', async () => {
  const { registered, refreshes, refused, revoked } = upstream.counts;
  const auth = { kind: 'oauth', client_mode: 'metadata_document' };
  const { p, smithId } = await steps.connectedProject({ auth });
  assert.deepEqual(await steps.callsOf(async () => assert.equal((await whoami(p, smithId)).body.status, 'completed')), [
    'ada',
  ]);
  await expireTokens(platform, p);
  assert.deepEqual(await steps.callsOf(async () => assert.equal((await whoami(p, smithId)).body.status, 'completed')), [
    'ada',
  ]);
  assert.deepEqual(
    [upstream.counts.registered, upstream.counts.refreshes, upstream.counts.refused],
    [registered, refreshes + 1, refused],
  );
  const [{ id }] = await connectionsOf(p, smithId);
  assert.equal((await p.delete(`/v1/smiths/${smithId}/connections/${id}`)).status, 204);
  await eventually(() => (upstream.counts.revoked > revoked ? true : undefined), 'the account is revoked');
});
