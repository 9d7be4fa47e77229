import assert from 'node:assert/strict';
import { text as readText } from 'node:stream/consumers';
import { after, beforeEach, test } from 'node:test';
import { startTwilio } from '../../../../test/fakes/twilio-api.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { AttachmentFailure, type Destination, type MessagePart, type OpenAccount, SendFailure } from '../channel.ts';
import { createTwilioApi } from '../twilio/api.ts';
import { openSmsMedia } from './open-media.ts';
import { findSentSms, sendSms } from './send.ts';

const server = await startTwilio();
const elsewhere = await startTwilio();
const outbound = createOutbound({ allow: ['example.com'], lookup: async () => [{ address: '127.0.0.1', family: 4 }] });
after(async () => {
  await outbound.close();
  await server.close();
  await elsewhere.close();
});
const api = createTwilioApi(outbound);
const number = server.addNumber();
const { account_sid, phone_number, auth_token } = number;
const account: OpenAccount = {
  projectId: 'proj_1',
  kind: 'sms',
  accountId: `${account_sid}:${phone_number}`,
  settings: { account_sid, number: phone_number, api_base_url: server.url },
  secrets: { auth_token },
};
const to: Destination = { account, chat: '+4915112345678', sender: '+4915112345678', reply: undefined };
const signal = new AbortController().signal;

function text(plain: string): MessagePart {
  return { type: 'text', text: plain, plain };
}

async function failureOf(part: MessagePart = text('Hello')): Promise<SendFailure> {
  const error: unknown = await sendSms(api, to, part, signal).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof SendFailure, String(error));
  return error;
}

beforeEach(() => void server.delivered.splice(0));

test('a text arrives from the number, and Twilio names it', async () => {
  const id = await sendSms(api, to, text('Hello + goodbye & 👋'), signal);
  const [message] = server.delivered;
  assert.equal(message?.sid, id);
  assert.deepEqual([message?.from, message?.to, message?.body], [phone_number, to.chat, 'Hello + goodbye & 👋']);
});

test('what Twilio answers says whether and when it is sent again', async () => {
  const refused = { status: 400, body: { code: 21610, message: 'Attempt to send to unsubscribed recipient' } };
  const cases = [
    [refused, 'refused'],
    [{ status: 401, body: { code: 20003, message: 'Authenticate' } }, 'refused'],
    [{ status: 503 }, 'unavailable'],
    ['garbage', 'unknown'],
    ['cut', 'unknown'],
  ] as const;
  for (const [fault, kind] of cases) {
    server.failNext(/POST/, fault);
    assert.equal((await failureOf()).kind, kind);
  }
  server.failNext(/POST/, { status: 429, headers: { 'retry-after': '7' }, body: { code: 20429 } });
  const paused = await failureOf();
  assert.deepEqual([paused.kind, paused.bucket, paused.retryAfterMs], ['paused', 'account', 7_000]);
  // More than a timer can wait.
  server.failNext(/POST/, { status: 429, headers: { 'retry-after': '999999999' }, body: { code: 20429 } });
  assert.equal((await failureOf()).retryAfterMs, 3_600_000);
  server.failNext(/POST/, { status: 400, body: { code: 21611, message: 'The queue is full' } });
  assert.equal((await failureOf()).kind, 'paused');
  assert.deepEqual(server.delivered, []);
});

test('a message whose answer was lost is found, and no other', async () => {
  const before = new Date();
  server.failNext(/POST/, 'cut after');
  assert.equal((await failureOf(text('Did it arrive?'))).kind, 'unknown');
  assert.equal(await findSentSms(api, to, text('Did it arrive?'), before, signal), server.delivered[0]?.sid);
  assert.equal(await findSentSms(api, to, text('Another'), before, signal), undefined);
  const later = new Date(before.getTime() + 60_000);
  assert.equal(await findSentSms(api, to, text('Did it arrive?'), later, signal), undefined);
});

function open(ref: string) {
  return openSmsMedia(outbound, account, { ref, filename: 'a.png', mediaType: 'image/png', bytes: undefined }, signal);
}

test('a file is fetched with the account’s token, which does not follow a redirect', async () => {
  assert.equal(await readText(await open(server.addMedia({ mediaType: 'image/png', text: 'a cat' }))), 'a cat');
  // Whoever asks there without credentials gets what a token of another account would: nothing.
  const away = server.addMedia({ location: `${elsewhere.url}/cat` });
  await assert.rejects(open(away), AttachmentFailure);
  assert.deepEqual(
    elsewhere.calls.map(({ url, headers }) => [url.pathname, headers.authorization]),
    [['/cat', undefined]],
  );
});

test('no file is fetched from this machine’s own network, or with the token from anybody but Twilio', async () => {
  for (const location of [
    'http://169.254.169.254/latest/meta-data',
    'https://169.254.169.254/',
    'file:///etc/passwd',
  ]) {
    await assert.rejects(open(server.addMedia({ location })), AttachmentFailure, location);
  }
  const calls = elsewhere.calls.length;
  for (const ref of ['https://twilio.com.evil.example/a', `${elsewhere.url}/a`, 'http://api.twilio.com/a', 'nothing']) {
    await assert.rejects(open(ref), /not one of Twilio’s/, ref);
  }
  assert.equal(elsewhere.calls.length, calls);
});
