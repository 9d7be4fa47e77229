/** Against a Slack that others wrote: emulate, which knows installations, messages and threads. It brings no events by itself. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { createEmulator } from 'emulate';
import { newTs } from '../../../../test/fakes/slack-api.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';

const APP = { client_id: '12345.67890', client_secret: 'a client secret' };
const SIGNING_SECRET = 'a signing secret';
/** Of emulate's own. */
const [TEAM, ADMIN, GENERAL] = ['T000000001', 'U000000001', 'C000000001'];
const ADMIN_TOKEN = 'xoxp-admin';

const platform = await startPlatform();
const port = await findFreePort();
const baseUrl = `http://example.com:${port}`;
const emulator = await createEmulator({
  service: 'slack',
  port,
  baseUrl,
  seed: {
    slack: {
      oauth_apps: [{ ...APP, app_id: 'A000000001', name: 'Helper', redirect_uris: ['http://127.0.0.1:8787/'] }],
      tokens: [{ token: ADMIN_TOKEN, user_id: ADMIN }],
    },
  },
});
after(async () => {
  await emulator.close();
  await platform.close();
});

test('the app is installed by whoever agrees, mentioned, and answers in the thread', async () => {
  const project = await platform.createProject();
  const app = { ...APP, signing_secret: SIGNING_SECRET, api_base_url: baseUrl };
  const wrong = await project.put('/v1/tenant/slack', { ...app, client_secret: 'another' });
  assert.equal(wrong.body.error.code, 'slack_api_error', wrong.text);
  const saved = await project.put('/v1/tenant/slack', app);
  assert.equal(saved.status, 200, saved.text);
  const target = { type: 'smith', id: await project.createSmith() };
  const address = `${TEAM}:${ADMIN}`;
  const deployment = await project.post('/v1/deployments', { target, kind: 'slack', address });
  assert.equal(deployment.status, 201, deployment.text);

  const back = await agree(deployment.body.install_url);
  const installed = await fetch(platform.url + back.pathname + back.search, { redirect: 'manual' });
  assert.equal(installed.headers.get('location'), `${baseUrl}/app_redirect?app=A000000001&team=${TEAM}`);
  const [{ data }] = (await project.get('/v1/events?type=slack.install')).body.data;
  assert.deepEqual([data.team_id, data.slack_user_id], [TEAM, ADMIN]);

  const asked = await call('chat.postMessage', { channel: GENERAL, text: 'Write 2 words' });
  const event = { type: 'app_mention', user: ADMIN, channel: GENERAL, ts: asked.ts, text: 'Write 2 words' };
  const body = JSON.stringify({ type: 'event_callback', team_id: TEAM, event_id: `Ev${newTs()}`, event });
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const hex = createHmac('sha256', SIGNING_SECRET).update(`v0:${timestamp}:${body}`).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': `v0=${hex}`,
  };
  const taken = await fetch(`${platform.url}/v1/slack/webhook/${project.projectId}`, { method: 'POST', headers, body });
  assert.equal(taken.status, 200);
  const answer = await eventually(async () => {
    const { messages } = await call('conversations.replies', { channel: GENERAL, ts: asked.ts });
    return messages.find(({ user, text }: { user: string; text: string }) => user !== ADMIN && text.includes(' '));
  }, 'an answer in the thread');
  assert.equal(answer.text.split(' ').length, 2);
});

/** Presses the button of the page that asks. */
async function agree(installUrl: string): Promise<URL> {
  const { searchParams } = new URL(installUrl);
  const response = await fetch(`http://127.0.0.1:${port}/oauth/v2/authorize/callback`, {
    method: 'POST',
    body: new URLSearchParams({ ...Object.fromEntries(searchParams), user_id: ADMIN }),
    redirect: 'manual',
  });
  return new URL(response.headers.get('location') ?? assert.fail('the browser is not sent back'));
}

/** As the admin. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
async function call(method: string, args: Record<string, string>): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${port}/api/${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    body: new URLSearchParams(args),
  });
  return response.json();
}

async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port: found } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return found;
}
