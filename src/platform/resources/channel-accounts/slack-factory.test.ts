import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { createFactoryProject, deploySlackApp } from '../../../../test/support/slack-apps.ts';

const PATH = '/v1/tenant/slack';
const platform = await startPlatform();
after(() => platform.close());
const { slack } = platform;

const SCOPES = [
  ...['app_mentions:read', 'channels:history', 'chat:write', 'files:read', 'files:write', 'groups:history'],
  ...['im:history', 'metadata.message:read', 'mpim:history'],
];

function templateOf(more: object = {}): string {
  return JSON.stringify({ oauth_config: { scopes: { bot: SCOPES } }, ...more });
}

test('what makes apps is saved once Slack takes it, and shown without its tokens', async () => {
  const manifest_template = templateOf();
  const { project, tokens } = await createFactoryProject(platform, { manifest_template, app_limit: 3 });
  const shown = await project.get(PATH);
  assert.deepEqual([shown.body.app_limit, shown.body.manifest_template], [3, manifest_template]);
  assert.deepEqual(shown.body.secret_keys, [
    ...['bot_token', 'client_secret', 'config_refresh_token', 'config_token', 'signing_secret'],
  ]);
  for (const token of Object.values(tokens)) assert.ok(!shown.text.includes(token));
});

test('a part of it, or what Slack would not take, is refused', async () => {
  const project = await platform.createProject();
  const app = slack.bodyOf(slack.addApp());
  const tokens = slack.factory.addTokens();
  const put = (more: object) => project.put(PATH, { ...app, ...more });
  assertRefusal(await put({ config_token: tokens.config_token }), 422, 'empty_config', 'config_refresh_token');
  assertRefusal(await put({ ...tokens, config_token: null }), 422, 'empty_config', 'config_token');
  assertRefusal(await put({ app_limit: 5 }), 422, 'empty_config', 'config_token');
  for (const app_limit of [0, 1_001, 1.5]) {
    assertRefusal(await put({ ...tokens, app_limit }), 422, 'invalid_request', 'app_limit');
  }
  const templates = [
    'no JSON',
    '[]',
    'null',
    '{"oauth_config":{"scopes":{"bot":["chat:write"]}}}',
    '{"oauth_config":7}',
    templateOf({ padding: 'x'.repeat(40_000) }),
    templateOf({ display_information: { description: 'x'.repeat(141) } }),
  ];
  for (const manifest_template of templates) {
    const refused = await put({ ...tokens, manifest_template });
    assertRefusal(refused, 422, 'invalid_manifest_template', 'manifest_template');
  }
  assertRefusal(await put({ ...tokens, config_token: 'wrong' }), 502, 'slack_api_error', 'config_token');
  slack.failNext(/validate/, { status: 429, headers: { 'retry-after': '60' } }, { status: 500 }, 'garbage', 'cut');
  for (let fault = 0; fault < 4; fault += 1) assertRefusal(await put(tokens), 502, 'slack_api_error');
  assert.equal((await project.get(PATH)).body.configured, false);
});

test('saved without it no app is made, and those that are there stay', async () => {
  const { project, tokens, saved } = await createFactoryProject(platform);
  const { body: deployment } = await deploySlackApp({ project });
  assert.deepEqual((await project.put(PATH, saved)).body.app_limit, null);
  assertRefusal(await deploySlackApp({ project }), 422, 'slack_factory_unconfigured', 'kind');
  const path = `/v1/deployments/${deployment.id}`;
  assertRefusal(await project.patch(path, { display_name: 'Grace' }), 422, 'slack_factory_unconfigured');
  assert.equal((await project.delete(path)).status, 204);
  assert.ok(slack.factory.apps.some(({ appId }) => appId === deployment.slack_app_id));
  assert.equal((await project.put(PATH, { ...saved, ...tokens })).status, 200);
});
