/** A replica that is killed with -9 while it shows the beginning of an answer: who goes on puts the answer in its place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { startTelegram } from '../fakes/telegram-server.ts';
import { eventually, FAKE_MODEL } from '../support/turns.ts';
import { NEEDS_SERVER, openFleet, patiently } from './fleet.ts';

const GROUP = -700_001;
const BEGINNING = 'The first half';
const WHOLE = 'The first half and the second.';

test('half an answer in a group becomes the answer, though who showed it is killed', {
  skip: NEEDS_SERVER,
}, async (t) => {
  const upstream = await startOpenAiUpstream();
  const telegram = await startTelegram();
  t.after(async () => {
    await upstream.close();
    await telegram.close();
  });
  upstream.respondWith([
    { type: 'answer', deltas: [BEGINNING, '.'], fault: { afterChunks: 1, type: 'hang' } },
    { type: 'answer', deltas: [WHOLE] },
  ]);
  const fleet = await openFleet(t, {
    ...{ store: 'server', only: 'platform' },
    variables: { IRONCRAFT_PUBLIC_URL: 'https://127.0.0.1' },
  });
  const victim = await fleet.start();
  const project = fleet.project(victim);
  const key = { api_key: 'sk-test', base_url: upstream.url };
  await patiently(() => project.put('/v1/tenant/model_keys/openai-compatible', key));
  const token = telegram.newToken();
  const api_base_url = `http://127.0.0.1:${new URL(telegram.url).port}`;
  assert.equal((await project.put('/v1/tenant/telegram', { bot_token: token, api_base_url })).status, 200);
  const agent = await project.post('/v1/agents', { name: 'Help', model: FAKE_MODEL });
  await project.post(`/v1/agents/${agent.body.id}/versions`, {});
  const target = { type: 'agent', id: agent.body.id };
  assert.equal((await project.post('/v1/deployments', { kind: 'telegram', target })).status, 201);

  const written = await fetch(`${victim.url}/v1/telegram/webhook/${project.projectId}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-telegram-bot-api-secret-token': telegram.webhookOf(token)?.secret_token ?? '',
    },
    body: JSON.stringify({
      update_id: 1,
      message: {
        ...{ message_id: 1, date: 1_780_000_000, text: 'Say it' },
        from: { id: 7, is_bot: false, first_name: 'Ada' },
        chat: { id: GROUP, type: 'group' },
        reply_to_message: { from: { id: Number(token.split(':')[0]) } },
      },
    }),
  });
  assert.equal(written.status, 204);
  await telegram.waitForCall(({ method, payload }) => method === 'editMessageText' && payload.text === BEGINNING);
  const [opened] = telegram.calls.filter(({ method }) => method === 'editMessageText');
  const message = opened?.payload.message_id;
  victim.kill('SIGKILL');
  await victim.ended;
  assert.equal(telegram.textOf(message), BEGINNING);
  await fleet.start();
  await eventually(() => (telegram.textOf(message) === WHOLE ? true : undefined), 'the answer stands in its place');
  assert.equal(telegram.sentTo(GROUP).length, 1, 'no other message was sent');
});
