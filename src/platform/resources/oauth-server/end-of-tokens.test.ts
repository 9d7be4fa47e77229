/** What was let in ends with what it was let into: at every surface, and on every replica at once. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type AppClient, letIn, startAppClient } from '../../../../test/support/app-client.ts';
import { askMessage, publishAgent, publishMcp, sendLegacy } from '../../../../test/support/mcp-deployment.ts';
import { obtainCode, redeem, refreshWith } from '../../../../test/support/oauth.ts';
import { createClient, startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';

let app: AppClient;
let platform: TestPlatform;
let second: TestPlatform;
before(async () => {
  app = await startAppClient();
  platform = await startPlatform({ outboundAllow: ['127.0.0.1'], publicUrl: 'own' });
  const { db, vault, blobs, url: publicUrl } = platform;
  second = await startPlatform({ outboundAllow: ['127.0.0.1'], publicUrl, sharing: { db, vault, blobs } });
});
after(async () => {
  await app.close();
  await second.close();
  await platform.close();
});

interface Surface {
  readonly token: string;
  readonly smithId: string;
  readonly path: string;
}

/** The status of each surface that a token may be shown at, on both replicas. */
async function statusesOf({ token, smithId, path }: Surface): Promise<number[]> {
  const input = [{ role: 'user', content: 'Hello' }];
  const messages = input;
  const headers = { 'ic-smith-id': smithId };
  const answers = await Promise.all(
    [platform, second].flatMap(({ url }) => {
      const client = createClient(url, token);
      return [
        sendLegacy(client, path, askMessage(1, 'Hello')),
        client.post(`/v1/smiths/${smithId}/runs`, { input }),
        client.get(`/v1/smiths/${smithId}/runs`),
        client.post('/v1/chat/completions', { model: 'builtin/demo', messages }, headers),
        client.post('/v1/responses', { model: 'builtin/demo', input: 'Hello' }, headers),
        client.post('/v1/embeddings', { input: 'Hello' }),
        client.get('/v1/models'),
      ];
    }),
  );
  return [...new Set(answers.map(({ status }) => status))];
}

async function connector(project: TestProject, target: { type: 'smith' | 'agent'; id: string }, smithId: string) {
  const { path } = await publishMcp(project, target);
  const resource = platform.url + path;
  const obtain = () => obtainCode(platform.url, { resource, token: project.token, smithId });
  const consented = await obtain();
  const { status, body, text } = await redeem(platform.url, consented);
  assert.equal(status, 200, text);
  const surface = { token: body.access_token, smithId, path };
  const call = await sendLegacy(createClient(second.url, surface.token), path, askMessage(1, 'Hello'));
  assert.equal(call.status, 200, call.text);
  return { surface, clientId: consented.clientId, refreshToken: body.refresh_token, waiting: await obtain() };
}

type Connected = Awaited<ReturnType<typeof connector>>;

async function assertEnded({ surface, clientId, refreshToken, waiting }: Connected): Promise<void> {
  assert.deepEqual(await statusesOf(surface), [401]);
  for (const { url } of [platform, second]) {
    const refused = [await refreshWith(url, clientId, refreshToken), await redeem(url, waiting)];
    for (const { status, body } of refused) assert.deepEqual([status, body.error], [400, 'invalid_grant']);
  }
}

test('a connector’s token, its refresh token and a code that waits end as the smith is archived', async () => {
  const project = await platform.createProject();
  const own = await project.createSmith();
  const ofAgent = await project.createSmith({ agent_id: await publishAgent(project), model: null });
  const { agent_id: agentId } = (await project.get(`/v1/smiths/${ofAgent}`)).body;
  const bound = await connector(project, { type: 'smith', id: own }, own);
  // This deployment stays: it is the agent's.
  const chosen = await connector(project, { type: 'agent', id: agentId }, ofAgent);
  for (const smithId of [own, ofAgent]) assert.equal((await project.delete(`/v1/smiths/${smithId}`)).status, 204);
  await assertEnded(bound);
  await assertEnded(chosen);
});

test('a code ends with the token that consented to it, an app’s that is disconnected too', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const { path } = await publishMcp(project, { type: 'smith', id: smithId });
  const obtain = (token: string) => obtainCode(platform.url, { resource: platform.url + path, token, smithId });
  const minted = await project.post('/v1/tenant/tokens', { scope: 'admin' });
  const signedIn = await app.signIn(platform.url, 'tenant:*', letIn(platform, project));
  const codes = [await obtain(minted.body.token), await obtain(signedIn.access_token)];
  assert.equal((await project.delete(`/v1/tenant/tokens/${minted.body.id}`)).status, 204);
  const [{ id }] = (await platform.organization.get('/v1/organization/apps')).body.data;
  assert.equal((await platform.organization.delete(`/v1/organization/apps/${id}`)).status, 204);
  for (const code of codes) {
    const { status, body } = await redeem(second.url, code);
    assert.deepEqual([status, body.error], [400, 'invalid_grant']);
  }
});

test('every token of a project ends as the project is deleted: an app’s, a connector’s, and those that they are held beside', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const connected = await connector(project, { type: 'smith', id: smithId }, smithId);
  const signedIn = await app.signIn(platform.url, 'tenant:*', letIn(platform, project));
  const { path } = connected.surface;
  const smithToken = await project.smithToken(smithId, ['runs:write', 'runs:read']);
  const tokens = [signedIn.access_token, project.token, smithToken];
  for (const token of tokens) {
    assert.equal((await createClient(second.url, token).get(`/v1/smiths/${smithId}/runs`)).status, 200);
  }
  const deleted = await platform.organization.delete(`/v1/organization/projects/${project.projectId}`);
  assert.equal(deleted.status, 204);
  await assertEnded(connected);
  for (const token of tokens) assert.deepEqual(await statusesOf({ token, smithId, path }), [401]);
});
