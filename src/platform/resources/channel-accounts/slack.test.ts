import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import type { FakeSlackApp } from '../../../../test/fakes/slack-api.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const PATH = '/v1/tenant/slack';
const platform = await startPlatform();
after(() => platform.close());
const { slack } = platform;

function put(project: TestProject, app: FakeSlackApp, more: object = {}) {
  return project.put(PATH, { ...slack.bodyOf(app), ...more });
}

test('an app is saved once Slack knows it, and shown without its secrets', async () => {
  const project = await platform.createProject();
  assert.equal((await project.get(PATH)).body.configured, false);
  const app = slack.addApp();
  const saved = await put(project, app);
  assert.equal(saved.status, 200, saved.text);
  const { created_at, updated_at, ...shown } = saved.body;
  assert.deepEqual(shown, {
    configured: true,
    client_id: app.clientId,
    team_id: app.teamId,
    team_name: 'Acme',
    bot_user_id: app.botUserId,
    app_limit: null,
    manifest_template: null,
    api_base_url: slack.url,
    secret_keys: ['bot_token', 'client_secret', 'signing_secret'],
    webhook_url: `http://127.0.0.1:8787/v1/slack/webhook/${project.projectId}`,
    last_error: null,
  });
  assert.deepEqual((await project.get(PATH)).body, saved.body);
  for (const secret of [app.botToken, app.clientSecret, app.signingSecret]) assert.ok(!saved.text.includes(secret));
  assert.equal((await project.delete(PATH)).status, 204);
  assertRefusal(await project.delete(PATH), 404, 'not_found');
});

test('without a bot’s token it is of no workspace yet', async () => {
  const project = await platform.createProject();
  const saved = await put(project, slack.addApp(), { bot_token: undefined });
  assert.deepEqual([saved.status, saved.body.team_id, saved.body.bot_user_id], [200, null, null], saved.text);
  assert.deepEqual(saved.body.secret_keys, ['client_secret', 'signing_secret']);
});

test('what is missing, or does not belong together, is refused', async () => {
  const project = await platform.createProject();
  const app = slack.addApp();
  const stranger = slack.addApp();
  for (const name of ['client_id', 'client_secret', 'signing_secret']) {
    assertRefusal(await put(project, app, { [name]: undefined }), 422, 'empty_config', name);
    assertRefusal(await put(project, app, { [name]: '' }), 422, 'empty_config', name);
  }
  const refused: readonly [more: object, param: string][] = [
    [{ client_id: '1.2' }, 'client_secret'],
    [{ client_secret: stranger.clientSecret }, 'client_secret'],
    [{ bot_token: 'wrong' }, 'bot_token'],
  ];
  for (const [more, param] of refused) {
    assertRefusal(await put(project, app, more), 502, 'slack_api_error', param);
  }
  assertRefusal(
    await put(project, app, { api_base_url: 'http://169.254.169.254' }),
    422,
    'invalid_url',
    'api_base_url',
  );
  slack.failNext(/oauth/, { status: 503 });
  assertRefusal(await put(project, app), 502, 'slack_api_error');
  slack.failNext(/auth\.test/, { status: 200, body: { ok: true, user_id: 'U0ADA', team_id: app.teamId } });
  assertRefusal(await put(project, app), 502, 'slack_api_error', 'bot_token');
  assert.equal((await project.get(PATH)).body.configured, false);
});

test('an app is one project’s', async () => {
  const [one, other] = [await platform.createProject(), await platform.createProject()];
  const app = slack.addApp();
  assert.equal((await put(one, app)).status, 200);
  assertRefusal(await put(other, app), 409, 'address_in_use');
});
