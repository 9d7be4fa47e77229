/** Where Telegram cannot reach the server, messages are fetched: by one replica, which another follows. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { seedFor } from '../../../../test/support/seed.ts';

const first = await startPlatform({});
const { telegram, db, vault, blobs } = first;
let second: TestPlatform | undefined;
after(async () => {
  await second?.close();
  await first.close();
});

test('another replica goes on fetching where one stops', async () => {
  const project = await first.createProject();
  const token = telegram.newToken();
  const isPoll = (call: { bot: string; method: string }) =>
    call.method === 'getUpdates' && token.startsWith(`${call.bot}:`);
  const set = await project.put('/v1/tenant/telegram', { bot_token: token, api_base_url: telegram.url });
  assert.deepEqual([set.status, set.body.webhook_url], [200, null], set.text);
  const id = seedFor('telegram/polling.test');
  const from = { id, is_bot: false, first_name: 'Ada' };
  const target = { type: 'smith', id: await project.createSmith() };
  assert.equal((await project.post('/v1/deployments', { target, kind: 'telegram', address: String(id) })).status, 201);
  const asked = await telegram.waitForCall(isPoll);
  assert.deepEqual(asked.payload.allowed_updates, ['message']);

  second = await startPlatform({ sharing: { db, vault, blobs } });
  const { update } = await telegram.say(token, { from, text: 'Write 2 words' });
  await telegram.waitForSent(id, 1);
  const confirmed = await telegram.waitForCall((call) => isPoll(call) && call.payload.offset !== undefined);
  assert.equal(confirmed.payload.offset, update.update_id + 1);

  await first.platform.drain(5_000);
  await telegram.say(token, { from, text: 'Write 3 words' });
  assert.equal((await telegram.waitForSent(id, 2)).length, 2);
  // Both have fetched what the other had confirmed, and nothing was answered again.
  assert.equal((await project.get('/v1/inbound_events')).body.data.length, 2);
});
