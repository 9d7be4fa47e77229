/** Against a Twilio that others wrote: emulate, which signs its calls and keeps what it was sent. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { createEmulator } from 'emulate';
import { startPlatform } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';

const ACCOUNT = { sid: 'AC00000000000000000000000000000000', auth_token: 'twilio_test_auth_token' };
const NUMBER = '+15551234567';
const ADA = '+4915112345678';

/** Where Twilio calls: known before the server is. */
const front = createServer(async (from, to) => {
  const headers = new Headers(from.headers as Record<string, string>);
  for (const name of ['host', 'connection', 'content-length', 'transfer-encoding']) headers.delete(name);
  const answer = await fetch(platform.url + from.url, { method: 'POST', headers, body: await text(from) });
  to.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(await answer.text());
});
await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
const publicUrl = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
const platform = await startPlatform({ publicUrl });
const twilio = await createEmulator({
  service: 'twilio',
  port: await freePort(),
  seed: { twilio: { account: ACCOUNT, phone_numbers: [{ phone_number: NUMBER }] } },
});
after(async () => {
  await twilio.close();
  await platform.close();
  front.closeAllConnections();
  front.close();
});

test('a text message is answered, as Twilio tells and takes it', async () => {
  const project = await platform.createProject();
  const deployment = await project.post('/v1/deployments', {
    target: { type: 'smith', id: await project.createSmith() },
    kind: 'sms',
    address: ADA,
    provider: 'twilio',
    provider_metadata: {
      account_sid: ACCOUNT.sid,
      number: NUMBER,
      api_base_url: `http://example.com:${new URL(twilio.url).port}`,
    },
    secrets: { auth_token: ACCOUNT.auth_token },
  });
  assert.equal(deployment.status, 201, deployment.text);
  const {
    incoming_phone_numbers: [number],
  } = await call('GET', `/2010-04-01/Accounts/${ACCOUNT.sid}/IncomingPhoneNumbers.json`);
  await call('POST', `/2010-04-01/Accounts/${ACCOUNT.sid}/IncomingPhoneNumbers/${number.sid}.json`, {
    SmsUrl: `${publicUrl}/v1/sms/webhook/${project.projectId}?region=eu%20west`,
    SmsMethod: 'POST',
  });
  await call('POST', '/_twilio/simulate/inbound-message', { To: NUMBER, From: ADA, Body: 'Write 3 words' });
  const said = await eventually(async () => {
    const { messages } = await call('GET', `/2010-04-01/Accounts/${ACCOUNT.sid}/Messages.json`);
    return messages.find(({ to }: { to: string }) => to === ADA);
  }, 'an answer');
  assert.deepEqual([said.from, said.body.split(' ').length], [NUMBER, 3]);
});

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
async function call(method: string, path: string, form?: Record<string, string>): Promise<any> {
  const credentials = Buffer.from(`${ACCOUNT.sid}:${ACCOUNT.auth_token}`).toString('base64');
  const response = await fetch(twilio.url + path, {
    method,
    headers: { authorization: `Basic ${credentials}` },
    ...(form !== undefined && { body: new URLSearchParams(form) }),
  });
  assert.ok(response.ok, `${path}: ${response.status} ${response.ok ? '' : await response.text()}`);
  return response.json();
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
