import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import type { FakeNumber } from '../../../../test/fakes/whatsapp-graph.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const PATH = '/v1/tenant/whatsapp';
const platform = await startPlatform();
after(() => platform.close());
const { graph } = platform;

function put(project: TestProject, number: FakeNumber, more: object = {}) {
  return project.put(PATH, { ...graph.bodyOf(number), ...more });
}

test('a number is saved once Meta knows it, shown without its secrets, replaced and deleted', async () => {
  const project = await platform.createProject();
  const none = await project.get(PATH);
  assert.deepEqual(none.body, {
    ...{ configured: false, phone_number_id: null, business_account_id: null, phone_number: null, api_base_url: null },
    ...{ secret_keys: [], webhook_url: null, last_error: null, created_at: null, updated_at: null },
  });
  const number = graph.addNumber();
  const saved = await put(project, number, { verify_token: 'a text of ours' });
  assert.equal(saved.status, 200, saved.text);
  const { created_at, updated_at, ...shown } = saved.body;
  assert.deepEqual(shown, {
    configured: true,
    phone_number_id: number.phone_number_id,
    business_account_id: number.business_account_id,
    phone_number: '+15557838881',
    api_base_url: graph.url,
    secret_keys: ['access_token', 'app_secret', 'verify_token'],
    webhook_url: 'http://127.0.0.1:8787/v1/whatsapp/webhook',
    last_error: null,
  });
  assert.ok(graph.subscribed.has(number.business_account_id));
  assert.deepEqual((await project.get(PATH)).body, saved.body);

  const { rows } = await platform.db.query<{ row: string }>({
    text: 'select a::text as row from channel_accounts a where project_id = $1',
    values: [project.projectId],
  });
  for (const secret of [number.access_token, number.app_secret, 'a text of ours']) {
    assert.ok(![saved.text, rows[0]?.row].join().includes(secret));
  }

  const other = graph.addNumber();
  const replaced = await put(project, other);
  assert.deepEqual(replaced.body.secret_keys, ['access_token', 'app_secret'], replaced.text);
  const isSubscribed = () => [number, other].map((one) => graph.subscribed.has(one.business_account_id));
  assert.deepEqual(isSubscribed(), [false, true]);
  assert.equal((await project.delete(PATH)).status, 204);
  assert.deepEqual(isSubscribed(), [false, false]);
  assertRefusal(await project.delete(PATH), 404, 'not_found');
  assert.equal((await project.get(PATH)).body.configured, false);
});

test('what Meta does not accept is not saved', async () => {
  const project = await platform.createProject();
  const number = graph.addNumber();
  const stranger = graph.addNumber();
  const refused: readonly [more: object, param: string | null][] = [
    [{ access_token: 'EAAGwrong' }, null],
    [{ app_secret: 'another app’s' }, null],
    [{ phone_number_id: stranger.phone_number_id }, null],
    [{ business_account_id: stranger.business_account_id }, null],
    [{ phone_number_id: '+15557838881' }, 'phone_number_id'],
    [{ business_account_id: '../me' }, 'business_account_id'],
    [{ access_token: '' }, 'access_token'],
  ];
  for (const [more, param] of refused) {
    const answer = await put(project, number, more);
    assertRefusal(answer, 422, 'whatsapp_validation_failed', param);
    assert.ok(!answer.text.includes(number.app_secret) && !answer.text.includes(number.access_token));
  }
  assertRefusal(await put(project, number, { app_secret: undefined }), 422, 'empty_config', 'app_secret');
  for (const api_base_url of ['http://169.254.169.254', 'ftp://127.0.0.1', 'https://10.0.0.1/x']) {
    assertRefusal(await put(project, number, { api_base_url }), 422, 'invalid_url', 'api_base_url');
  }
  assert.equal((await project.get(PATH)).body.configured, false);
});

test('where Meta does not answer, or does not subscribe, that is said', async () => {
  const project = await platform.createProject();
  const number = graph.addNumber();
  for (const fault of [{ status: 500 }, 'garbage', 'cut'] as const) {
    graph.failNext(/^GET /, fault);
    assertRefusal(await put(project, number), 502, 'whatsapp_api_error');
  }
  assert.equal((await project.get(PATH)).body.configured, false);
  graph.failNext(/subscribed_apps/, { status: 403, body: { error: { code: 200, message: 'Permissions error' } } });
  const unsubscribed = await put(project, number);
  assertRefusal(unsubscribed, 502, 'whatsapp_subscribe_failed');
  assert.match(unsubscribed.text, /Permissions error/);
  const { last_error } = (await project.get(PATH)).body;
  assert.equal(last_error.code, 'whatsapp_subscribe_failed');
  assert.equal((await put(project, number)).body.last_error, null);
});

test('a number has one project, and a business may have several', async () => {
  const [one, other] = [await platform.createProject(), await platform.createProject()];
  const number = graph.addNumber();
  assert.equal((await put(one, number)).status, 200);
  assertRefusal(await put(other, number), 409, 'address_in_use');
  assert.equal((await one.get(PATH)).body.configured, true);
});
