import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { startTelegram } from '../../../../test/fakes/telegram-server.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { type Destination, type MessagePart, SendFailure, type SendOptions } from '../channel.ts';
import { createBotApi } from './bot-api.ts';
import { createTelegramLive } from './live.ts';
import { sendPart } from './send.ts';

const telegram = await startTelegram();
const outbound = createOutbound({ allow: ['example.com'], lookup: async () => [{ address: '127.0.0.1', family: 4 }] });
after(async () => {
  await outbound.close();
  await telegram.close();
});
const botApi = createBotApi(outbound);
const live = createTelegramLive(botApi);
const { signal } = new AbortController();

let lastGroup = 0;

function destination(chat = `-${++lastGroup}/5`): Destination {
  const account = {
    projectId: 'proj_x',
    kind: 'telegram',
    accountId: '1',
    settings: { bot_username: 'bot', api_base_url: telegram.url, webhook_url: '' },
    secrets: { bot_token: telegram.newToken() },
  } as const;
  return { account, chat, sender: chat, reply: '17' };
}

async function openMessage(to: Destination): Promise<string> {
  return (await live.open(to, signal)) ?? assert.fail('there is no message');
}

function show(to: Destination, text: string, message: string | undefined, shown = '') {
  return live.show(to, text, { message, key: 'run_1', shown, signal });
}

function replace(to: Destination, part: MessagePart, replaces: string) {
  const options: SendOptions = { asPlain: false, openFile: async () => Readable.from(['the file']), signal, replaces };
  return sendPart(botApi, to, part, options);
}

const lastCall = () => telegram.calls.at(-1) ?? assert.fail('nothing was called');

test('in a private chat a draft is shown, the same for all pieces of an answer, in markup that is whole', async () => {
  const to = destination('7');
  assert.deepEqual(live.at(to), { paceMs: 1_100, lifetimeMs: 30_000 });
  assert.equal(await live.open(to, signal), undefined);
  await show(to, 'Dear @ada, **now', undefined);
  const { method, payload } = lastCall();
  assert.deepEqual(
    [method, payload.chat_id, payload.text, payload.parse_mode],
    ['sendMessageDraft', 7, 'Dear @\u2060ada, **now', 'HTML'],
  );
  await show(to, 'Dear @ada, **now**\n```js\nlet a', undefined);
  assert.match(lastCall().payload.text, /<b>now<\/b>\n+<pre><code class="language-js">let a\n?<\/code><\/pre>$/);
  assert.equal(lastCall().payload.draft_id, payload.draft_id);
  assert.ok(payload.draft_id > 0);
});

test('in a group a message is made that says nothing yet, edited, and becomes the answer', async () => {
  const to = destination();
  assert.deepEqual(live.at(to), { paceMs: 3_100 });
  const message = await openMessage(to);
  assert.equal(telegram.textOf(message), '…');
  assert.equal(lastCall().payload.reply_parameters.message_id, 17);
  await show(to, 'The **be', message);
  assert.equal(telegram.textOf(message), 'The **be');
  assert.equal(await replace(to, { type: 'text', text: 'The <b>end</b>', plain: 'The end' }, message), message);
  assert.equal(telegram.textOf(message), 'The <b>end</b>');
  // Sent again, as its outcome was not known.
  assert.equal(await replace(to, { type: 'text', text: 'The <b>end</b>', plain: 'The end' }, message), message);
});

test('a message keeps what fits, and is not edited to what it says already', async () => {
  const to = destination();
  const message = await openMessage(to);
  const long = 'word '.repeat(1_000);
  await show(to, long, message);
  assert.ok((telegram.textOf(message) ?? '').length <= 4_096);
  const { length } = telegram.calls;
  await show(to, `${long} and more`, message, long);
  assert.equal(telegram.calls.length, length);
});

test('what cannot be edited in takes the place of a message that goes', async () => {
  for (const part of [
    { type: 'text', text: 'Yes?', plain: 'Yes?', replies: ['Yes'] },
    { type: 'file', file: { fileId: 'file_1', filename: 'a.txt', mediaType: 'text/plain' } },
  ] satisfies MessagePart[]) {
    const to = destination();
    const message = await openMessage(to);
    assert.notEqual(await replace(to, part, message), message);
    assert.equal(telegram.textOf(message), undefined);
  }
});

test('a message that is gone is sent anew, and needs no removal', async () => {
  const to = destination();
  const message = await openMessage(to);
  await live.remove(to, message, signal);
  await live.remove(to, message, signal);
  const sent = await replace(to, { type: 'text', text: 'Here', plain: 'Here' }, message);
  assert.notEqual(sent, message);
  assert.equal(telegram.textOf(sent), 'Here');
});

test('what Telegram does not let be shown says why', async () => {
  const to = destination('8');
  const cases = [
    [{ error_code: 429, description: 'Too Many', parameters: { retry_after: 3 } }, 'paused', 3_000],
    // More than a timer can wait.
    [{ error_code: 429, description: 'Too Many', parameters: { retry_after: 9_999_999 } }, 'paused', 3_600_000],
    [{ error_code: 404, description: 'Not Found' }, 'unavailable', undefined],
    [{ error_code: 400, description: 'Bad Request' }, 'refused', undefined],
    ['cut', 'unknown', undefined],
  ] as const;
  for (const [mood, kind, retryAfterMs] of cases) {
    telegram.misbehave(({ method }) => (method === 'sendMessageDraft' ? mood : undefined));
    await assert.rejects(show(to, 'Hello', undefined), (error: unknown) => {
      assert.ok(error instanceof SendFailure);
      assert.deepEqual([error.kind, error.retryAfterMs], [kind, retryAfterMs]);
      return true;
    });
  }
  telegram.misbehave(undefined);
});
