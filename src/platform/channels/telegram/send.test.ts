import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, describe, test } from 'node:test';
import { type Misbehaviour, startTelegram } from '../../../../test/fakes/telegram-server.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { type Destination, type MessagePart, SendFailure, type SendFailureKind } from '../channel.ts';
import { createBotApi } from './bot-api.ts';
import { openAttachment } from './open-attachment.ts';
import { sendPart } from './send.ts';

const telegram = await startTelegram();
const outbound = createOutbound({
  allow: ['example.com'],
  lookup: async () => [{ address: '127.0.0.1', family: 4 }],
});
after(async () => {
  await outbound.close();
  await telegram.close();
});
const botApi = createBotApi(outbound);

function destination(chat = '7', url = telegram.url): Destination {
  const token = telegram.newToken();
  const settings = { bot_username: 'bot', api_base_url: url, webhook_url: '' };
  const account = {
    projectId: 'proj_x',
    kind: 'telegram',
    accountId: '1',
    settings,
    secrets: { bot_token: token },
  } as const;
  return { account, chat, sender: '7', reply: undefined };
}

const options = {
  asPlain: false,
  openFile: async () => Readable.from([Buffer.from('con'), Buffer.from('tent')]),
  signal: new AbortController().signal,
};
const text: MessagePart = { type: 'text', text: '<b>Hi</b>', plain: 'Hi' };
const callsTo = (to: Destination) =>
  telegram.calls.filter(({ bot }) => to.account.secrets.bot_token?.startsWith(`${bot}:`));

test('a text goes with its markup, its topic, what it answers, and buttons', async () => {
  const to = { ...destination('-100/5'), reply: '17' };
  const id = await sendPart(botApi, to, { ...text, replies: ['Yes', 'No'] }, options);
  assert.match(id, /^\d+$/);
  assert.deepEqual(callsTo(to)[0]?.payload, {
    chat_id: -100,
    text: '<b>Hi</b>',
    parse_mode: 'HTML',
    message_thread_id: 5,
    reply_parameters: { message_id: 17, allow_sending_without_reply: true },
    reply_markup: {
      keyboard: [[{ text: 'Yes' }], [{ text: 'No' }]],
      one_time_keyboard: true,
      resize_keyboard: true,
      selective: true,
    },
  });
  await sendPart(botApi, to, text, { ...options, asPlain: true });
  const { text: said, parse_mode } = callsTo(to)[1]?.payload ?? {};
  assert.deepEqual([said, parse_mode], ['Hi', undefined]);
});

test('files are streamed: pictures as such, and as files where they cannot be', async () => {
  const to = destination();
  const part = (filename: string, mediaType: string): MessagePart => ({
    type: 'file',
    file: { fileId: 'file_1', filename, mediaType },
  });
  await sendPart(botApi, to, part('a "b".png', 'image/png'), options);
  await sendPart(botApi, to, part('a.png', 'image/png'), { ...options, asPlain: true });
  await sendPart(botApi, to, part('ä\r\n.pdf', 'application/pdf'), options);
  assert.deepEqual(
    callsTo(to).map(({ method, payload, files }) => [
      method,
      payload.chat_id,
      files.map(({ filename, content }) => [filename, content.toString()]),
    ]),
    [
      ['sendPhoto', '7', [['a _b_.png', 'content']]],
      ['sendDocument', '7', [['a.png', 'content']]],
      ['sendDocument', '7', [['ä__.pdf', 'content']]],
    ],
  );
});

describe('what a failure means', () => {
  const refusal = (error_code: number, description: string) => () => ({ error_code, description });
  const cases: readonly [what: string, how: Misbehaviour, kind: SendFailureKind, plain: SendFailureKind][] = [
    ['no markup', refusal(400, "Bad Request: can't parse entities"), 'unreadable', 'refused'],
    ['no chat', refusal(400, 'Bad Request: chat not found'), 'refused', 'refused'],
    ['blocked', refusal(403, 'Forbidden: bot was blocked by the user'), 'refused', 'refused'],
    ['too large', refusal(413, 'Request Entity Too Large'), 'refused', 'refused'],
    ['a token that was revoked', refusal(401, 'Unauthorized'), 'unavailable', 'unavailable'],
    ['down', refusal(502, 'Bad Gateway'), 'unavailable', 'unavailable'],
    ['nonsense', () => 'garbage', 'unknown', 'unknown'],
    ['cut off', () => 'cut', 'unknown', 'unknown'],
  ];
  for (const [what, how, kind, plain] of cases) {
    test(what, async () => {
      for (const [asPlain, expected] of [
        [false, kind],
        [true, plain],
      ] as const) {
        const to = destination();
        telegram.misbehave((call) =>
          to.account.secrets.bot_token?.startsWith(`${call.bot}:`) ? how(call) : undefined,
        );
        const failure = await failureOf(to, { ...options, asPlain });
        telegram.misbehave(undefined);
        assert.equal(failure.kind, expected, failure.message);
        // The URL is in no part of it.
        const all = [failure.message, failure.stack, JSON.stringify(failure), String(failure.cause)].join('\n');
        assert.ok(!all.includes(to.account.secrets.bot_token ?? ''), all);
      }
    });
  }

  test('patience is what Telegram says', async () => {
    telegram.misbehave(() => ({ error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 7 } }));
    const { kind, retryAfterMs, bucket } = await failureOf(destination(), options);
    telegram.misbehave(undefined);
    assert.deepEqual([kind, retryAfterMs, bucket], ['paused', 7_000, 'chat']);
  });

  test('nobody there', async () => {
    assert.equal((await failureOf(destination('7', 'http://example.com:2'), options)).kind, 'unavailable');
    assert.equal((await failureOf(destination('7', 'http://169.254.169.254'), options)).kind, 'unavailable');
  });

  test('given up before there was an answer', async () => {
    telegram.misbehave(() => 'hang');
    const giveUp = new AbortController();
    const to = destination();
    const failing = failureOf(to, { ...options, signal: giveUp.signal });
    await telegram.waitForCall(({ bot }) => to.account.secrets.bot_token?.startsWith(`${bot}:`) === true);
    giveUp.abort();
    assert.equal((await failing).kind, 'unknown');
    telegram.misbehave(undefined);
  });

  async function failureOf(to: Destination, how: typeof options): Promise<SendFailure> {
    const failure = await sendPart(botApi, to, text, how).catch((error: unknown) => error);
    assert.ok(failure instanceof SendFailure, String(failure));
    return failure;
  }
});

test('a file of a message is fetched; one that Telegram does not give is given up', async () => {
  const { account } = destination();
  const file = { filename: 'a', mediaType: undefined, bytes: undefined };
  const signal = AbortSignal.timeout(60_000);
  telegram.putFile('f-1', Buffer.from('bytes'));
  const content = await openAttachment(botApi, account, { ...file, ref: 'f-1' }, signal);
  assert.equal(Buffer.concat(await content.toArray()).toString(), 'bytes');
  await assert.rejects(openAttachment(botApi, account, { ...file, ref: 'f-2' }, signal), { name: 'AttachmentFailure' });
});
