import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import type { FakeApplication } from '../../../../test/fakes/discord-api.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const PATH = '/v1/tenant/discord';
const platform = await startPlatform();
after(() => platform.close());
const { discord } = platform;

const NOT_VERIFIED = { message: 'The specified interactions endpoint URL could not be verified.' };

function put(project: TestProject, application: FakeApplication, more: object = {}) {
  return project.put(PATH, { ...discord.bodyOf(application), ...more });
}

test('an application is saved, its commands registered, and its endpoint set while Discord tries it', async () => {
  const project = await platform.createProject();
  const application = discord.addApplication();
  const saved = await put(project, application);
  assert.equal(saved.status, 200, saved.text);
  const { created_at, updated_at, ...shown } = saved.body;
  const webhook_url = `http://127.0.0.1:8787/v1/discord/webhook/${project.projectId}`;
  assert.deepEqual(shown, {
    configured: true,
    application_id: application.application_id,
    application_name: 'Helper',
    public_key: application.public_key,
    api_base_url: discord.url,
    secret_keys: ['bot_token'],
    webhook_url,
    last_error: null,
  });
  assert.deepEqual([...discord.commandsOf(application)].sort(), ['ask', 'link']);
  assert.equal(discord.endpointOf(application), webhook_url);
  assert.deepEqual((await project.get(PATH)).body, saved.body);
  assert.ok(!saved.text.includes(application.bot_token));

  assert.equal((await project.delete(PATH)).status, 204);
  assert.equal(discord.endpointOf(application), null);
  assertRefusal(await project.delete(PATH), 404, 'not_found');
});

test('what is missing, or does not belong together, is refused', async () => {
  const project = await platform.createProject();
  const application = discord.addApplication();
  const stranger = discord.addApplication();
  assertRefusal(await project.put(PATH, {}), 422, 'empty_config');
  assertRefusal(await project.put(PATH, { application_id: ' ', bot_token: '' }), 422, 'empty_config');
  const refused: readonly [more: object, code: string, param: string][] = [
    [{ application_id: '' }, 'empty_application_id', 'application_id'],
    [{ application_id: undefined }, 'empty_application_id', 'application_id'],
    [{ bot_token: '' }, 'empty_bot_token', 'bot_token'],
    [{ public_key: '' }, 'bad_public_key', 'public_key'],
    [{ public_key: '00'.repeat(32) }, 'bad_public_key', 'public_key'],
    [{ public_key: 'zz'.repeat(32) }, 'bad_public_key', 'public_key'],
    [{ public_key: stranger.public_key }, 'bad_public_key', 'public_key'],
    [{ application_id: stranger.application_id }, 'invalid_request', 'application_id'],
    [{ bot_token: 'wrong' }, 'invalid_request', 'bot_token'],
    [{ api_base_url: 'http://169.254.169.254' }, 'invalid_url', 'api_base_url'],
  ];
  for (const [more, code, param] of refused) assertRefusal(await put(project, application, more), 422, code, param);
  discord.failNext(/applications\/@me/, { status: 503 });
  assertRefusal(await put(project, application), 502, 'connect_failed');
  assert.equal((await project.get(PATH)).body.configured, false);
});

test('an endpoint that Discord cannot verify is told, also later', async () => {
  const project = await platform.createProject();
  const application = discord.addApplication();
  // As far as Discord is concerned, nobody is there.
  const verification = {
    code: 50035,
    message: 'Invalid Form Body',
    errors: { interactions_endpoint_url: { _errors: [NOT_VERIFIED] } },
  };
  discord.failNext(/^PATCH .*applications\/@me/, { status: 400, body: verification });
  const answer = await put(project, application);
  assertRefusal(answer, 422, 'invalid_url');
  assert.match(answer.text, /could not be verified/);
  assert.equal((await project.get(PATH)).body.last_error.code, 'invalid_url');
  assert.equal((await put(project, application)).body.last_error, null);
});
