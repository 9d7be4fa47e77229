import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { newId, startDiscord } from '../../../../test/fakes/discord-api.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { type Destination, type MessagePart, type OpenAccount, SendFailure } from '../channel.ts';
import { createDiscordApi } from './api.ts';
import { chatOf } from './chat.ts';
import { findSentDiscord } from './find-sent.ts';
import { writeReply } from './reply.ts';
import { sendDiscord } from './send.ts';

/** Stands for this server: it acknowledges whatever is typed. */
const endpoint = createServer((_request, response) => response.end('{"type":5}'));
await new Promise<void>((resolve) => void endpoint.listen(0, '127.0.0.1', resolve));
const discord = await startDiscord();
const outbound = createOutbound({ allow: ['example.com'], lookup: async () => [{ address: '127.0.0.1', family: 4 }] });
after(async () => {
  await outbound.close();
  await discord.close();
  await new Promise((resolve) => endpoint.close(resolve));
});
const address = endpoint.address();
const port = typeof address === 'object' ? address?.port : undefined;
const application = discord.addApplication({ endpoint: `http://127.0.0.1:${port}/` });
const api = createDiscordApi(outbound);
const account: OpenAccount = {
  projectId: 'proj_1',
  kind: 'discord',
  accountId: application.application_id,
  settings: { api_base_url: discord.url, bot_id: application.application_id },
  secrets: { bot_token: application.bot_token },
};
const signal = new AbortController().signal;
const options = { asPlain: false, openFile: async () => Readable.from(['the file']), signal };
const USER = newId();

function text(content: string, replies?: readonly string[]): MessagePart {
  return { type: 'text', text: content, plain: content, ...(replies !== undefined && { replies }) };
}

/** Somebody has typed /ask, so long ago. */
async function ask(agoMs = 0): Promise<{ readonly to: Destination; readonly channel: string }> {
  const channel = newId();
  const { token, id } = await discord.type(application, {
    userId: USER,
    channelId: channel,
    data: { name: 'ask' },
    agoMs,
  });
  return { channel, to: { account, chat: chatOf(channel, USER), sender: USER, reply: writeReply({ id, token }) } };
}

function send(to: Destination, part: MessagePart, now = new Date()) {
  return sendDiscord({ api, now: () => now }, to, part, options);
}

async function failureOf(work: Promise<unknown>): Promise<SendFailure> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SendFailure, String(error));
  return error;
}

test('the first message takes the place of the deferred reply, the others follow it', async () => {
  const { to, channel } = await ask();
  for (const content of ['one', 'two', 'three']) await send(to, text(content));
  const messages = discord.messagesIn(channel);
  assert.deepEqual(
    messages.map(({ content, by, flags }) => [content, by, flags]),
    [
      ['one', 'interaction', 0],
      ['two', 'interaction', 0],
      ['three', 'interaction', 0],
    ],
  );
  for (const { allowedMentions } of messages) assert.deepEqual(allowedMentions, { parse: [] });
});

test('replies are buttons', async () => {
  const { to, channel } = await ask();
  const long = 'x'.repeat(200);
  await send(to, text('What now?', ['Yes', 'Yes', long]));
  const [{ components } = assert.fail()] = discord.messagesIn(channel);
  assert.deepEqual(
    components[0].components.map(({ label, custom_id }: { label: string; custom_id: string }) => [label, custom_id]),
    [
      ['Yes', 'reply:Yes'],
      [`${'x'.repeat(79)}…`, `reply:${'x'.repeat(94)}`],
    ],
  );
});

test('a file goes along, in place of the deferred reply too', async () => {
  const { to, channel } = await ask();
  await send(to, { type: 'file', file: { fileId: 'file_1', filename: 'a.txt', mediaType: 'text/plain' } });
  const [{ files } = assert.fail()] = discord.messagesIn(channel);
  assert.deepEqual(files, [{ filename: 'a.txt', text: 'the file' }]);
});

test('after a quarter of an hour the bot writes to the channel, and once', async () => {
  const { to, channel } = await ask(16 * 60_000);
  const ids = [await send(to, text('late')), await send(to, text('late'))];
  assert.equal(ids[0], ids[1], 'sent again after an unknown outcome');
  const late = discord.messagesIn(channel).filter(({ by }) => by === 'bot');
  assert.deepEqual(
    late.map(({ content, allowedMentions }) => [content, allowedMentions]),
    [['late', { parse: [] }]],
  );
});

test('where the bot may not write it writes to the person', async () => {
  const { to, channel } = await ask(16 * 60_000);
  discord.closeChannel(channel);
  await send(to, text('late'));
  assert.deepEqual(
    discord.messagesIn(`dm-${USER}`).map(({ content }) => content),
    ['late'],
  );
});

test('an interaction that Discord does not know yet is waited for; one that is gone is not', async () => {
  const channel = newId();
  const unknown = (agoMs: number): Destination => ({
    ...{ account, chat: chatOf(channel, USER), sender: USER },
    reply: writeReply({ id: newId(Date.now() - agoMs), token: 'nobody-knows' }),
  });
  assert.equal((await failureOf(send(unknown(0), text('early')))).kind, 'unavailable');
  await send(unknown(60_000), text('gone'));
  assert.deepEqual(
    discord.messagesIn(channel).map(({ content, by }) => [content, by]),
    [['gone', 'bot']],
  );
});

test('what Discord says decides what becomes of a message', async () => {
  const limited = (global: boolean, seconds = 0.5) => {
    return { status: 429, body: { message: 'limited', retry_after: seconds, global } };
  };
  const cases = [
    [limited(false), 'paused', 'chat'],
    [limited(true), 'paused', 'account'],
    [{ status: 400, body: { code: 50035, message: 'Invalid Form Body' } }, 'refused', 'chat'],
    [{ status: 502 }, 'unavailable', 'chat'],
    ['garbage', 'unknown', 'chat'],
    ['cut', 'unknown', 'chat'],
  ] as const;
  for (const [fault, kind, bucket] of cases) {
    const { to } = await ask();
    discord.failNext(/^PATCH .*@original/, fault);
    const failure = await failureOf(send(to, text('Hello')));
    assert.deepEqual([failure.kind, failure.bucket], [kind, bucket], JSON.stringify(fault));
    if (kind === 'paused') assert.equal(failure.retryAfterMs, 500);
    assert.ok(!failure.message.includes(to.reply ?? ''));
  }
  // More than a timer can wait.
  const { to } = await ask();
  discord.failNext(/^PATCH .*@original/, limited(false, 9_999_999));
  assert.equal((await failureOf(send(to, text('Hello')))).retryAfterMs, 3_600_000);
});

test('a message of unknown outcome is found where it has arrived', async () => {
  const { to } = await ask();
  const find = (part: MessagePart) => findSentDiscord({ api, now: () => new Date() }, to, part, new Date(), signal);
  assert.equal(await find(text('one')), undefined);
  discord.failNext(/^PATCH .*@original/, 'cut after');
  await failureOf(send(to, text('one')));
  discord.failNext(/^POST .*webhooks/, 'cut after');
  await failureOf(send(to, text('two')));
  assert.ok(await find(text('one')));
  assert.ok(await find(text('two')));
  assert.equal(await find(text('three')), undefined);
});
