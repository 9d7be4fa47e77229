/** What an app began and used is told apart, and stays told apart once the app is disconnected. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type AppClient, letIn, startAppClient } from '../../../../test/support/app-client.ts';
import {
  type Client,
  createClient,
  startPlatform,
  type TestPlatform,
  type TestProject,
} from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { auditUsage } from '../../usage/index.ts';

let platform: TestPlatform;
let project: TestProject;
let client: AppClient;
let app: Client;
let appId: string;
let smithId: string;

before(async () => {
  client = await startAppClient();
  platform = await startPlatform({ publicUrl: 'own', outboundAllow: ['127.0.0.1'] });
  project = await platform.createProject();
  smithId = await project.createSmith();
  const tokens = await client.signIn(platform.url, 'tenant:*', letIn(platform, project));
  app = createClient(platform.url, tokens.access_token);
  appId = (await platform.organization.get('/v1/organization/apps')).body.data[0].id;
});
after(async () => {
  await client.close();
  await platform.close();
});

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

const question = { input: [{ role: 'user', content: 'Hello' }] };

async function ask(by: Pick<Client, 'post'>, path = `/v1/smiths/${smithId}/runs`, body: object = question) {
  const answer = await by.post(path, body, { 'ic-smith-id': smithId });
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
}

async function appsOf(path: string): Promise<unknown[]> {
  return (await project.get(path)).body.data.map(({ app_id }: Json) => app_id);
}

test('a run is the app’s whose token began it, on every surface, and of what that token has minted', async () => {
  const own = await ask(project);
  assert.equal(own.app_id, null);
  const run = await ask(app);
  assert.equal(run.app_id, appId);
  const again = await ask(app, `/v1/smiths/${smithId}/runs/${own.id}/replay`, {});
  assert.equal(again.app_id, appId);
  await ask(app, '/v1/chat/completions', { model: 'builtin/demo', messages: [{ role: 'user', content: 'Hello' }] });
  await ask(app, '/v1/responses', { model: 'builtin/demo', input: 'Hello' });
  const minted = await app.post('/v1/tenant/tokens', {
    scope: 'smith',
    smith_id: smithId,
    permissions: ['runs:write'],
  });
  await ask(createClient(platform.url, minted.body.token));
  // Whoever began a run of the app's again began another.
  const replayed = await ask(project, `/v1/smiths/${smithId}/runs/${run.id}/replay`, {});
  assert.equal(replayed.app_id, null);
  assert.deepEqual(await appsOf(`/v1/runs?smith_id=${smithId}`), [null, appId, appId, appId, appId, appId, null]);
  assert.deepEqual(await appsOf(`/v1/traces?smith_id=${smithId}`), [null, appId, appId, appId, appId, appId, null]);
  assert.equal((await appsOf(`/v1/traces?app_id=${appId}&status=completed`)).length, 5);
  const trace = (await project.get(`/v1/runs/${run.id}/trace`)).body;
  assert.deepEqual([trace.app_id, trace.spans[0].attributes['ironcraft.app_id']], [appId, appId]);
});

test('a turn that a schedule of the app begins is nobody’s: no token acts', async () => {
  const path = `/v1/smiths/${smithId}/schedules`;
  const schedule = await ask(app, path, { cron: '0 0 1 1 *', input: question.input });
  await ask(app, `${path}/${schedule.id}/run_now`, {});
  const run = await eventually(async () => {
    const { data } = (await project.get('/v1/runs?limit=1')).body;
    return data.find(({ channel, status }: Json) => channel === 'schedule' && status === 'completed');
  }, 'the schedule’s run');
  assert.equal(run.app_id, null);
});

test('usage by the app is grouped and filtered by it: turns, embeddings and meters', async () => {
  const before = (await project.get(`/v1/usage?group_by=app&app_id=${appId}`)).body.totals;
  await ask(app);
  await ask(app, '/v1/embeddings', { input: 'one two three' });
  await ask(app, '/v1/usage/events', { meter: 'pages', quantity: 2.5 });
  await ask(project, '/v1/usage/events', { meter: 'pages', quantity: 4 });
  const { data, totals } = (await project.get(`/v1/usage?group_by=app,source&app_id=${appId}`)).body;
  assert.deepEqual(
    data.map((row: Json) => [row.app_id, row.source]),
    [
      [appId, 'embedding'],
      [appId, 'meter'],
      [appId, 'turn'],
    ],
  );
  assert.deepEqual([totals.calls - before.calls, totals.quantity], [2, 2.5]);
  const all = (await project.get('/v1/usage?group_by=app')).body.data;
  assert.deepEqual(
    all.map((row: Json) => [row.app_id, row.quantity]),
    [
      [null, 4],
      [appId, 2.5],
    ],
  );
  const differences = await auditUsage(platform.db);
  assert.deepEqual(
    differences.filter(({ project_id }) => project_id === project.projectId),
    [],
  );
});

test('it stays the app’s once the app is disconnected', async () => {
  const [run] = (await project.get(`/v1/traces?app_id=${appId}&limit=1`)).body.data;
  const { totals } = (await project.get(`/v1/usage?app_id=${appId}`)).body;
  assert.equal((await platform.organization.delete(`/v1/organization/apps/${appId}`)).status, 204);
  assert.equal((await project.get(`/v1/smiths/${smithId}/runs/${run.run_id}`)).body.app_id, appId);
  assert.equal((await project.get(`/v1/traces?app_id=${appId}&limit=1`)).body.data[0].id, run.id);
  assert.deepEqual((await project.get(`/v1/usage?app_id=${appId}`)).body.totals, totals);
});
