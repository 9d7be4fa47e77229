import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { after, test } from 'node:test';
import type { ProviderFault } from '../../../../test/fakes/provider-faults.ts';
import { newSlackId, startSlack } from '../../../../test/fakes/slack-api.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { AttachmentFailure, type Destination, type MessagePart, type OpenAccount, SendFailure } from '../channel.ts';
import { fileRefOf } from './attachment.ts';
import { findSentSlack } from './find-sent.ts';
import { openSlackFile } from './open-attachment.ts';
import { chatOf } from './place.ts';
import { sendSlack } from './send.ts';
import { showSlackTyping } from './show-typing.ts';
import { createSlackApi, type SlackAccess } from './web-api.ts';

const slack = await startSlack();
const outbound = createOutbound({ allow: ['example.com'], lookup: async () => [{ address: '127.0.0.1', family: 4 }] });
after(async () => {
  await outbound.close();
  await slack.close();
});
const app = slack.addApp();
const api = createSlackApi(outbound);
const account: OpenAccount = {
  projectId: 'proj_1',
  kind: 'slack',
  accountId: app.clientId,
  settings: { api_base_url: slack.url, team_id: app.teamId },
  secrets: { bot_token: app.botToken },
};
const findAccess = async (_account: unknown, teamId: string): Promise<SlackAccess | undefined> =>
  teamId === app.teamId ? { baseUrl: slack.url, token: app.botToken } : undefined;
const deps = { api, outbound, findAccess };
const signal = new AbortController().signal;
const THREAD = '1700000000.000100';
const file = { fileId: 'file_1', filename: 'a "b".txt', mediaType: 'text/plain', bytes: 8 };

function place(threadTs?: string): { readonly to: Destination; readonly channel: string } {
  const channel = newSlackId('C');
  const chat = chatOf({ teamId: app.teamId, channelId: channel, threadTs });
  return { channel, to: { account, chat, sender: `${app.teamId}:U0ADA`, reply: undefined } };
}

function text(content: string, replies?: readonly string[]): MessagePart {
  return { type: 'text', text: content, plain: `plain ${content}`, ...(replies !== undefined && { replies }) };
}

function send(to: Destination, part: MessagePart, asPlain = false) {
  return sendSlack(deps, to, part, { asPlain, openFile: async () => Readable.from(['the file']), signal });
}

async function failureOf(work: Promise<unknown>): Promise<SendFailure> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SendFailure, String(error));
  return error;
}

test('a message goes to its thread, with buttons, and nothing that it links to is looked up', async () => {
  const { to, channel } = place(THREAD);
  const ts = await send(to, text('*Hi*', ['Yes', 'x'.repeat(100)]));
  const [message = assert.fail()] = slack.messagesIn(channel);
  assert.deepEqual([message.ts, message.text, message.thread], [ts, '*Hi*', THREAD]);
  assert.deepEqual([message.sent.unfurl_links, message.sent.unfurl_media], [false, false]);
  const buttons: { text: { text: string }; value: string }[] = message.sent.attachments[0].blocks[0].elements;
  assert.deepEqual(
    buttons.map(({ text: { text: label }, value }) => [label.length, value.length]),
    [
      [3, 3],
      [75, 100],
    ],
  );
});

test('what Slack cannot read goes as plain text', async () => {
  const { to, channel } = place();
  slack.failNext(/chat\.postMessage/, { status: 200, body: { ok: false, error: 'invalid_attachments' } });
  assert.equal((await failureOf(send(to, text('*Hi*', ['Yes'])))).kind, 'unreadable');
  await send(to, text('*Hi*', ['Yes']), true);
  const [{ sent } = assert.fail()] = slack.messagesIn(channel);
  assert.deepEqual([sent.text, sent.mrkdwn, sent.attachments], ['plain *Hi*', false, undefined]);
});

test('a file is brought where Slack wants it, without the token, and shown in the thread', async () => {
  const { to, channel } = place(THREAD);
  await send(to, { type: 'file', file });
  const [{ files, thread } = assert.fail()] = slack.messagesIn(channel);
  assert.deepEqual([files, thread], [[{ title: file.filename, text: 'the file' }], THREAD]);
  const upload = slack.calls.find(({ url }) => url.pathname.startsWith('/upload/'));
  assert.equal(upload?.headers.authorization, undefined);
  slack.failNext(/getUploadURLExternal/, {
    status: 200,
    body: { ok: true, file_id: 'F1', upload_url: 'https://elsewhere.example/upload' },
  });
  assert.equal((await failureOf(send(to, { type: 'file', file }))).kind, 'unavailable');
});

test('what has arrived is found by its mark, a file by its name', async () => {
  for (const { to } of [place(), place(THREAD)]) {
    const before = new Date();
    const part = text('Once');
    assert.equal(await findSentSlack(deps, to, part, before, signal), undefined);
    const ts = await send(to, part);
    assert.equal(await findSentSlack(deps, to, part, before, signal), ts);
    assert.equal(await findSentSlack(deps, to, text('Another'), before, signal), undefined);
    assert.equal(await findSentSlack(deps, to, part, new Date(Date.now() + 600_000), signal), undefined);
    await send(to, { type: 'file', file });
    assert.ok(await findSentSlack(deps, to, { type: 'file', file }, before, signal));
  }
});

test('each failure says what is to be done', async () => {
  const refused = (error: string): ProviderFault => ({ status: 200, body: { ok: false, error } });
  const faults: readonly [fault: ProviderFault, kind: SendFailure['kind']][] = [
    [refused('channel_not_found'), 'refused'],
    [refused('is_archived'), 'refused'],
    [refused('account_inactive'), 'refused'],
    [refused('invalid_auth'), 'unavailable'],
    [refused('missing_scope'), 'unavailable'],
    [refused('service_unavailable'), 'unavailable'],
    [refused('fatal_error'), 'unknown'],
    [{ status: 503 }, 'unavailable'],
    [{ status: 404, body: '<html>' }, 'unavailable'],
    ['garbage', 'unknown'],
    ['cut', 'unknown'],
  ];
  for (const [fault, kind] of faults) {
    slack.failNext(/chat\.postMessage/, fault);
    const failure = await failureOf(send(place().to, text('Hi')));
    assert.equal(failure.kind, kind, JSON.stringify(fault));
    assert.ok(!failure.message.includes(app.botToken));
  }
  const elsewhere = { ...place().to, chat: 'T0ELSEWHERE:C01' };
  assert.equal((await failureOf(send(elsewhere, text('Hi')))).kind, 'refused');
});

test('patience stops the chat where a message is too many, and the account where a method is', async () => {
  const { to } = place();
  const told: ProviderFault = { status: 429, headers: { 'retry-after': '7' } };
  slack.failNext(
    /chat\.postMessage/,
    told,
    { status: 429 },
    { status: 200, body: { ok: false, error: 'ratelimited' } },
  );
  slack.failNext(/getUploadURLExternal/, told);
  const failures = [];
  for (let time = 0; time < 3; time += 1) failures.push(await failureOf(send(to, text('Hi'))));
  failures.push(await failureOf(send(to, { type: 'file', file })));
  assert.deepEqual(
    failures.map(({ kind, bucket, retryAfterMs }) => [kind, bucket, retryAfterMs]),
    [
      ['paused', 'chat', 7_000],
      ['paused', 'chat', 5_000],
      ['paused', 'account', 5_000],
      ['paused', 'account', 7_000],
    ],
  );
});

test('a command is answered where the bot is no member, at an address of Slack’s alone', async () => {
  const { to, channel } = place();
  slack.closeChannel(channel);
  assert.equal((await failureOf(send(to, text('Hi')))).kind, 'refused');
  await send({ ...to, reply: `${slack.url}/commands/${channel}` }, text('Hi'));
  assert.deepEqual(
    slack.messagesIn(channel).map(({ text: said }) => said),
    ['Hi'],
  );
  for (const reply of ['https://elsewhere.example/', 'http://169.254.169.254/', 'none']) {
    assert.equal((await failureOf(send({ ...to, reply }, text('Hi')))).kind, 'refused');
  }
});

test('a file of a message is read with the bot’s token, from Slack alone', async () => {
  const access = (teamId: string) => findAccess(account, teamId);
  const open = (url: string, teamId = app.teamId) =>
    openSlackFile(
      outbound,
      access,
      { ref: fileRefOf({ teamId, url }), filename: 'cat.png', mediaType: 'image/png', bytes: undefined },
      signal,
    );
  const url = slack.addFile('a cat');
  assert.equal(await readText(await open(url)), 'a cat');
  for (const [address, teamId] of [
    ['https://elsewhere.example/cat.png'],
    ['https://slack.com.elsewhere.example/cat.png'],
    ['http://169.254.169.254/latest'],
    ['no address'],
    [`${slack.url}/files/gone`],
    [url, 'T0ELSEWHERE'],
  ] as const) {
    await assert.rejects(open(address, teamId), AttachmentFailure, address);
  }
  slack.failNext(/GET \/files/, { status: 302, headers: { location: 'http://169.254.169.254/' } }, 'garbage');
  await assert.rejects(open(url), AttachmentFailure);
  await assert.rejects(open(url), /files:read/);
});

test('a thread shows that an answer is being written', async () => {
  const { to, channel } = place(THREAD);
  await showSlackTyping(deps, to, signal);
  await showSlackTyping(deps, { ...to, chat: `${app.teamId}:D0DIRECT` }, signal);
  assert.deepEqual([slack.statusesIn(channel), slack.statusesIn('D0DIRECT')], [['is writing…'], []]);
});
