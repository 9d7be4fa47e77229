import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../../test/conformance/assert-refusal.ts';
import { createClient, startPlatform, type TestProject } from '../../../../../test/support/platform.ts';
import { createFactoryProject, deploySlackApp } from '../../../../../test/support/slack-apps.ts';
import { TenantDatabase } from '../../../store/tenant-db.ts';
import { keepPair } from './rotation-rows.ts';

const first = await startPlatform({});
const second = await startPlatform({ sharing: first });
after(async () => {
  await second.close();
  await first.close();
});
const { slack, db, vault } = first;
const { factory } = slack;

function setSettings({ projectId }: TestProject, settings: object) {
  return db.query({
    text: 'update channel_accounts set settings = settings || $2 where project_id = $1',
    values: [projectId, JSON.stringify(settings)],
  });
}

test('a token that is over is replaced once, however many replicas want it at once', async () => {
  const { project, tokens } = await createFactoryProject(first);
  factory.expire(tokens.config_token);
  const replicas = [first, second].map(({ url }) => createClient(url, project.token));
  const body = { target: { type: 'smith', id: await project.createSmith() }, kind: 'slack' };
  const wanted = [...replicas, ...replicas, ...replicas];
  const answers = await Promise.all(
    wanted.map((replica, at) => replica.post('/v1/deployments', { ...body, setup: { display_name: `Ada ${at}` } })),
  );
  for (const { status, text } of answers) assert.equal(status, 201, text);
  assert.equal(factory.rotationsOf(tokens.config_refresh_token), 1);
});

test('a token is replaced before its end, and a claim whose replica died is over in time', async () => {
  const { project, tokens } = await createFactoryProject(first);
  const lapsed = { rotation_id: 'of nobody', rotating_until: new Date(Date.now() - 1_000).toISOString() };
  await setSettings(project, { config_expires_at: new Date(Date.now() + 60_000).toISOString(), ...lapsed });
  assert.equal((await deploySlackApp({ project })).status, 201);
  assert.equal((await deploySlackApp({ project })).status, 201);
  assert.equal(factory.rotationsOf(tokens.config_refresh_token), 1);
});

test('a Slack that does not replace the token leaves it to the next call, and says so where it never will', async () => {
  const { project, tokens } = await createFactoryProject(first);
  factory.expire(tokens.config_token);
  slack.failNext(/tokens\.rotate/, { status: 500 }, { status: 429 }, 'garbage', 'cut', {
    status: 200,
    body: { ok: true },
  });
  for (let fault = 0; fault < 5; fault += 1) {
    assertRefusal(await deploySlackApp({ project }), 502, 'slack_api_error');
  }
  assert.equal((await project.get('/v1/tenant/slack')).body.last_error, null);
  slack.failNext(/tokens\.rotate/, { status: 200, body: { ok: false, error: 'invalid_refresh_token' } });
  assertRefusal(await deploySlackApp({ project }), 502, 'slack_api_error');
  assert.match((await project.get('/v1/tenant/slack')).body.last_error.message, /save another pair/);
  assert.equal((await deploySlackApp({ project })).status, 201);
});

test('an account that was saved anew meanwhile stays as it was saved', async () => {
  const { project, tokens } = await createFactoryProject(first);
  const scoped = new TenantDatabase(db, project.projectId);
  const pair = { configToken: 'late', configRefreshToken: 'late too', expiresAt: undefined };
  const kept = await keepPair(vault, scoped, 'another refresh token', pair);
  assert.equal(kept?.secrets.config_token, tokens.config_token);
  assert.equal((await keepPair(vault, scoped, tokens.config_refresh_token, pair))?.secrets.config_token, 'late');
  await project.delete('/v1/tenant/slack');
  assert.equal(await keepPair(vault, scoped, 'late too', pair), undefined);
});
