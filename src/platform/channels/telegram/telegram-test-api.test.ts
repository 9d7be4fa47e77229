/** Against a Telegram that others wrote: telegram-test-api, behind a proxy that adds the secret, which it does not know. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import telegramTestApi from 'telegram-test-api';
import { startPlatform } from '../../../../test/support/platform.ts';

interface Client {
  makeMessage(text: string): object;
  makeCommand(text: string): object;
  sendMessage(message: object): Promise<unknown>;
  sendCommand(command: object): Promise<unknown>;
  /** What the bot has said since it was asked last; waits for something. */
  getUpdates(): Promise<{ readonly result: readonly { readonly message: { readonly text: string } }[] }>;
}

interface Server {
  readonly config: { readonly apiURL: string };
  start(): Promise<void>;
  stop(): Promise<boolean>;
  getClient(token: string, options: object): Client;
}

/** The package's own type has the class one `default` deeper than Node does. */
const TelegramServer = telegramTestApi as unknown as new (config: object) => Server;

const platform = await startPlatform({ publicUrl: 'https://example.com' });
const server = new TelegramServer({ host: '127.0.0.1', port: await findFreePort() });
await server.start();
const proxy = await startProxy();
after(async () => {
  await proxy.close();
  await server.stop();
  await platform.close();
});

test('a person is bound by a command, and answered', async () => {
  const project = await platform.createProject();
  const bot_token = '666:AAExampleExampleExampleExample';
  const set = await project.put('/v1/tenant/telegram', { bot_token, api_base_url: proxy.url });
  assert.deepEqual([set.status, set.body.bot_id, set.body.bot_username], [200, '666', 'TestNameBot'], set.text);
  const target = { type: 'smith', id: await project.createSmith() };
  const deployment = await project.post('/v1/deployments', { target, kind: 'telegram', setup: {} });
  const ada = server.getClient(bot_token, { userId: 7, chatId: 7, timeout: 60_000, interval: 20 });
  await ada.sendCommand(ada.makeCommand(`/start ${deployment.body.start_token}`));
  assert.match((await ada.getUpdates()).result[0]?.message.text ?? '', /connected/);
  await ada.sendMessage(ada.makeMessage('Write 2 words'));
  const { result } = await ada.getUpdates();
  assert.deepEqual(
    result.map(({ message }) => message.text.split(/\s+/).length > 1),
    [true],
  );
});

/** Keeps the address and the secret of the webhook, and has updates brought to itself. */
async function startProxy() {
  let webhook = { url: '', secret_token: '' };
  const proxying = createServer(async (request, response) => {
    const answer = request.url === '/hook' ? await bring(request) : await call(request);
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  const bring = async (request: IncomingMessage) =>
    fetch(platform.url + new URL(webhook.url).pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': webhook.secret_token },
      body: await text(request),
    });
  const call = async (request: IncomingMessage) => {
    let body = await text(request);
    if (request.url?.endsWith('/setWebhook') === true) {
      webhook = JSON.parse(body);
      body = JSON.stringify({ url: `http://127.0.0.1:${port}/hook` });
    }
    const headers = { 'content-type': 'application/json' };
    return fetch(server.config.apiURL + request.url, { method: 'POST', headers, body });
  };
  await new Promise<void>((resolve) => proxying.listen(0, '127.0.0.1', resolve));
  const { port } = proxying.address() as AddressInfo;
  return {
    url: `http://example.com:${port}`,
    async close() {
      proxying.closeAllConnections();
      await new Promise((resolve) => proxying.close(resolve));
    },
  };
}

async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
