import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, beforeEach, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { channelAccountContext } from '../../channels/index.ts';

const PATH = '/v1/tenant/telegram';
const PUBLIC_URL = 'https://example.com';
const platform = await startPlatform({ publicUrl: PUBLIC_URL });
const { telegram } = platform;
after(() => platform.close());

let project: TestProject;
beforeEach(async () => {
  project = await platform.createProject();
});

const botOf = (token: string) => token.split(':')[0] ?? '';

function put(token: string, more: object = {}, by = project) {
  return by.put(PATH, { bot_token: token, api_base_url: telegram.url, ...more });
}

test('calls at once leave Telegram with the secret that is stored', async () => {
  const token = telegram.newToken();
  const [arrived, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let held = 0;
  telegram.misbehave(async ({ method }) => {
    if (method !== 'setWebhook' || held++ > 0) return undefined;
    arrived.resolve();
    await release.promise;
    return undefined;
  });
  const first = put(token);
  await arrived.promise;
  assert.equal((await put(token)).status, 200);
  release.resolve();
  assert.equal((await first).status, 200);
  telegram.misbehave(undefined);
  const { rows } = await platform.db.query<{ webhook_key_hash: string }>({
    text: `select webhook_key_hash from channel_accounts where project_id = $1 and kind = 'telegram'`,
    values: [project.projectId],
  });
  const known = createHash('sha256')
    .update(telegram.webhookOf(token)?.secret_token ?? '')
    .digest('hex');
  assert.equal(rows[0]?.webhook_key_hash, known);
});

test('a bot is set, shown, replaced and deleted', async () => {
  assert.deepEqual((await project.get(PATH)).body, {
    configured: false,
    bot_id: null,
    bot_username: null,
    api_base_url: null,
    secret_keys: [],
    webhook_url: null,
    last_error: null,
    created_at: null,
    updated_at: null,
  });
  const token = telegram.newToken();
  const set = await put(` ${token}\n`);
  assert.equal(set.status, 200, set.text);
  assert.deepEqual(set.body, {
    configured: true,
    bot_id: botOf(token),
    bot_username: `Test_${botOf(token)}_bot`,
    api_base_url: telegram.url,
    secret_keys: ['bot_token'],
    webhook_url: `${PUBLIC_URL}/v1/telegram/webhook/${project.projectId}`,
    last_error: null,
    created_at: set.body.created_at,
    updated_at: set.body.updated_at,
  });
  assert.deepEqual((await project.get(PATH)).body, set.body);
  const first = telegram.webhookOf(token);
  assert.equal(first?.url, set.body.webhook_url);
  assert.deepEqual(first?.allowed_updates, ['message']);

  assert.equal((await put(token)).status, 200);
  assert.notEqual(telegram.webhookOf(token)?.secret_token, first?.secret_token);

  const other = telegram.newToken();
  assert.equal((await put(other)).body.bot_id, botOf(other));
  assert.equal(telegram.webhookOf(token), undefined, 'the bot before is not brought here any more');

  assert.equal((await project.delete(PATH)).status, 204);
  assert.equal(telegram.webhookOf(other), undefined);
  assert.equal((await project.get(PATH)).body.configured, false);
  assertRefusal(await project.delete(PATH), 404, 'not_found');
});

test('neither the token nor the secret is shown or kept in the clear', async () => {
  const token = telegram.newToken();
  const shown = [(await put(token)).text, (await project.get(PATH)).text];
  const { rows } = await platform.db.query<{ row: string; sealed_secrets: string }>({
    text: 'select a::text as row, a.sealed_secrets from channel_accounts a where project_id = $1',
    values: [project.projectId],
  });
  const opened = platform.vault.open(
    rows[0]?.sealed_secrets ?? '',
    channelAccountContext(project.projectId, 'telegram'),
  );
  assert.deepEqual(JSON.parse(opened), { bot_token: token });
  const secret = telegram.webhookOf(token)?.secret_token ?? '';
  assert.match(secret, /^[\w-]{43}$/);
  for (const hidden of [token, secret]) assert.ok(![...shown, rows[0]?.row].join('\n').includes(hidden));
});

test('a bot is one project’s', async () => {
  const token = telegram.newToken();
  assert.equal((await put(token)).status, 200);
  const webhook = telegram.webhookOf(token);
  const other = await platform.createProject();
  assertRefusal(await put(token, {}, other), 409, 'address_in_use');
  assert.equal((await other.get(PATH)).body.configured, false);
  assert.deepEqual(telegram.webhookOf(token), webhook);
  assert.equal((await project.delete(PATH)).status, 204);
  assert.equal((await put(token, {}, other)).status, 200);
});

describe('nothing is stored', () => {
  const cases: readonly [what: string, body: () => object, status: number, code: string, param?: string][] = [
    ['without a token', () => ({}), 422, 'empty_bot_token', 'bot_token'],
    ['of white space', () => ({ bot_token: ' \n' }), 422, 'empty_bot_token', 'bot_token'],
    ['of something else', () => ({ bot_token: '../../etc' }), 422, 'invalid_request', 'bot_token'],
    ['of a token that was revoked', () => ({ bot_token: `${telegram.newToken()}revoked` }), 502, 'telegram_api_error'],
    ['at an address inside', () => ({ api_base_url: 'https://169.254.169.254' }), 422, 'invalid_url', 'api_base_url'],
    ['at an address without https', () => ({ api_base_url: 'http://127.0.0.2' }), 422, 'invalid_url', 'api_base_url'],
    [
      'at an address with a query',
      () => ({ api_base_url: 'https://example.com/?a=1' }),
      422,
      'invalid_url',
      'api_base_url',
    ],
    ['at an address where nobody answers', () => ({ api_base_url: 'http://example.com:2' }), 502, 'telegram_api_error'],
  ];
  for (const [what, body, status, code, param] of cases) {
    test(what, async () => {
      const answer = await project.put(PATH, {
        ...(what === 'without a token' ? {} : { bot_token: telegram.newToken() }),
        api_base_url: telegram.url,
        ...body(),
      });
      assertRefusal(answer, status, code, param ?? null);
      assert.equal((await project.get(PATH)).body.configured, false);
      assert.ok(!/bot\d+:/.test(answer.text), answer.text);
    });
  }

  test('where Telegram answers nonsense, or not as it should', async () => {
    for (const how of ['garbage', 'cut', { error_code: 500, description: 'Internal Server Error' }] as const) {
      const token = telegram.newToken();
      telegram.misbehave(({ bot }) => (bot === botOf(token) ? how : undefined));
      const answer = await put(token);
      assertRefusal(answer, 502, 'telegram_api_error');
      assert.ok(!answer.text.includes(token));
      assert.equal((await project.get(PATH)).body.configured, false);
    }
    telegram.misbehave(undefined);
  });
});

test('a webhook that Telegram refuses is the account’s last error, until it is saved again', async () => {
  const token = telegram.newToken();
  const description = 'Bad Request: bad webhook: Failed to resolve host';
  telegram.misbehave(({ bot, method }) =>
    bot === botOf(token) && method === 'setWebhook' ? { error_code: 400, description } : undefined,
  );
  assertRefusal(await put(token), 502, 'telegram_api_error');
  telegram.misbehave(undefined);
  const { configured, last_error } = (await project.get(PATH)).body;
  assert.deepEqual([configured, last_error.code], [true, 'telegram_api_error']);
  assert.match(last_error.message, /Failed to resolve host/);
  assert.equal((await put(token)).body.last_error, null);
});
