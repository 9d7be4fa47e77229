/** The list of apps, and who may look at it and disconnect them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type AppClient, letIn, startAppClient } from '../../../../test/support/app-client.ts';
import { createClient, startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';

const PATH = '/v1/organization/apps';
let platform: TestPlatform;
let second: TestPlatform;
let desk: AppClient;
let lamp: AppClient;
let projects: TestProject[];
before(async () => {
  [desk, lamp] = [await startAppClient('Desk'), await startAppClient('Lamp')];
  platform = await startPlatform({ publicUrl: 'own', outboundAllow: ['127.0.0.1'] });
  const { db, vault, blobs } = platform;
  second = await startPlatform({ publicUrl: 'own', outboundAllow: ['127.0.0.1'], sharing: { db, vault, blobs } });
  projects = [await platform.createProject(), await platform.createProject()];
});
after(async () => {
  await Promise.all([desk.close(), lamp.close()]);
  await second.close();
  await platform.close();
});

const signIn = async (app: AppClient, project: TestProject, scope = 'runs:read') =>
  (await app.signIn(platform.url, scope, letIn(platform, project))).access_token;

test('an app is listed once a project, newest first, with all that it may do; pages have each once', async () => {
  const [one, two] = projects as [TestProject, TestProject];
  await signIn(desk, one, 'runs:write files:read');
  await signIn(desk, two);
  await signIn(lamp, one);
  // What it asks for later is added, and it is the same app.
  await signIn(desk, one, 'runs:read files:read');
  const { body } = await platform.organization.get(PATH);
  const [newest] = body.data;
  assert.match(newest.created_at, /^\d{4}-\d{2}-\d{2}T/);
  assert.match(newest.id, /^app_/);
  assert.deepEqual(
    body.data.map(({ id, created_at, ...app }: Record<string, unknown>) => app),
    [
      [lamp, 'Lamp', one, 'runs:read'],
      [desk, 'Desk', two, 'runs:read'],
      [desk, 'Desk', one, 'files:read runs:read runs:write'],
    ].map(([app, client_name, project, scope]) => ({
      organization: platform.organizationId,
      client_id: (app as AppClient).clientId,
      client_name,
      project: (project as TestProject).projectId,
      scope,
      revoked_at: null,
    })),
  );
  assert.deepEqual([body.has_more, body.next_cursor], [false, null]);
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await platform.organization.get(`${PATH}?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
    assert.equal(page.body.data.length, 1);
    seen.push(page.body.data[0].id);
    cursor = page.body.next_cursor;
  }
  assert.deepEqual(
    seen,
    body.data.map(({ id }: { id: string }) => id),
  );
  assertRefusal(await platform.organization.get(`${PATH}?cursor=none`), 422, 'invalid_cursor', 'cursor');
});

test('only an organization key reaches them, and only its own', async () => {
  const [one] = projects as [TestProject];
  const [{ id }] = (await platform.organization.get(PATH)).body.data;
  const token = await signIn(desk, one, 'tenant:*');
  for (const client of [one, createClient(platform.url, token)]) {
    assertRefusal(await client.get(PATH), 403, 'organization_required');
    assertRefusal(await client.delete(`${PATH}/${id}`), 403, 'organization_required');
  }
  const { client: other } = await platform.createOrganization();
  assert.deepEqual((await other.get(PATH)).body.data, []);
  assertRefusal(await other.delete(`${PATH}/${id}`), 404, 'not_found');
  assertRefusal(await platform.organization.delete(`${PATH}/app_none`), 404, 'not_found');
});

test('disconnected, it ends everywhere and on all replicas at once; other apps go on; let in again, it is another', async () => {
  const [one, two] = projects as [TestProject, TestProject];
  const held = [await signIn(desk, one), await signIn(desk, one), await signIn(desk, two)];
  const kept = await signIn(lamp, one);
  const status = async (token: string) =>
    Promise.all([platform, second].map(async ({ url }) => (await createClient(url, token).get('/v1/smiths')).status));
  for (const token of [...held, kept]) assert.deepEqual(await status(token), [200, 200]);
  const listed = async () => (await platform.organization.get(PATH)).body.data;
  const found = (await listed()).find((app: { client_name: string }) => app.client_name === 'Desk');
  // Many at once are one.
  const ends = await Promise.all(
    [platform, second].flatMap(({ url }) => {
      const organization = createClient(url, platform.organization.token);
      return [organization.delete(`${PATH}/${found.id}`), organization.delete(`${PATH}/${found.id}`)];
    }),
  );
  assert.deepEqual(
    ends.map((end) => end.status),
    [204, 204, 204, 204],
  );
  for (const token of held) assert.deepEqual(await status(token), [401, 401]);
  assert.deepEqual(await status(kept), [200, 200]);
  for (const project of [one, two]) {
    const tokens = (await project.get('/v1/events?type=token.revoked&limit=100')).body.data;
    const ids = tokens.map(({ data }: { data: { token_id: string } }) => data.token_id);
    assert.equal(new Set(ids).size, ids.length);
  }
  const names = async () =>
    (await listed()).map((app: { client_name: string; revoked_at: string | null }) => [
      app.client_name,
      app.revoked_at !== null,
    ]);
  assert.deepEqual(await names(), [
    ['Lamp', false],
    ['Desk', true],
    ['Desk', true],
  ]);
  await signIn(desk, one);
  assert.deepEqual((await names())[0], ['Desk', false]);
  assert.equal((await names()).length, 4);
  for (const token of held) assert.deepEqual(await status(token), [401, 401]);
});

test('what its tokens mint while it is being disconnected ends too', async () => {
  const [one] = projects as [TestProject];
  for (let round = 0; round < 3; round += 1) {
    const held = createClient(second.url, await signIn(desk, one, 'tenant:*'));
    const [{ id }] = (await platform.organization.get(PATH)).body.data;
    const mints = Array.from({ length: 12 }, () => held.post('/v1/tenant/tokens', { scope: 'admin' }));
    await Promise.race(mints);
    assert.equal((await platform.organization.delete(`${PATH}/${id}`)).status, 204);
    for (const { status, body } of await Promise.all(mints)) {
      assert.ok(status === 201 || status === 401, `${status}`);
      if (status === 201) assert.equal((await createClient(platform.url, body.token).get('/v1/smiths')).status, 401);
    }
  }
});
