import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { after, beforeEach, test } from 'node:test';
import { startGraph } from '../../../../test/fakes/whatsapp-graph.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { AttachmentFailure, type Destination, type MessagePart, type OpenAccount, SendFailure } from '../channel.ts';
import { createGraph } from './graph.ts';
import { openWhatsAppMedia } from './open-media.ts';
import { sendWhatsApp, showWhatsAppTyping } from './send.ts';

const server = await startGraph();
const outbound = createOutbound({ allow: ['example.com'], lookup: async () => [{ address: '127.0.0.1', family: 4 }] });
after(async () => {
  await outbound.close();
  await server.close();
});
const graph = createGraph(outbound);
const number = server.addNumber();
const account: OpenAccount = {
  projectId: 'proj_1',
  kind: 'whatsapp',
  accountId: number.phone_number_id,
  settings: { api_base_url: server.url },
  secrets: { access_token: number.access_token, app_secret: number.app_secret },
};
const to: Destination = { account, chat: '4915112345678', sender: '+4915112345678', reply: 'wamid.Q' };
const signal = new AbortController().signal;
const options = { asPlain: false, openFile: async () => Readable.from(['the file']), signal };

function text(body: string, replies?: readonly string[]): MessagePart {
  return { type: 'text', text: body, plain: body, ...(replies !== undefined && { replies }) };
}

function send(part: MessagePart, destination = to) {
  return sendWhatsApp(graph, destination, part, options);
}

async function failureOf(part: MessagePart = text('Hello')): Promise<SendFailure> {
  const error: unknown = await send(part).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SendFailure, String(error));
  return error;
}

beforeEach(() => void server.delivered.splice(0));

test('a text arrives, and Meta names it', async () => {
  assert.match((await send(text('*Hello*'))) ?? '', /^wamid\./);
  assert.deepEqual(server.delivered, [
    {
      to: to.chat,
      message: {
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        to: to.chat,
        type: 'text',
        text: { body: '*Hello*', preview_url: false },
      },
    },
  ]);
});

test('whoever has no number is the recipient', async () => {
  await send(text('Hello'), { ...to, chat: 'DE.13491208655302741918' });
  const [{ message } = assert.fail('it never arrived')] = server.delivered;
  assert.deepEqual([message.to, message.recipient], [undefined, 'DE.13491208655302741918']);
});

test('replies are buttons of 20 characters that say all of it when they are pressed', async () => {
  const long = 'Tell me everything about it';
  await send(text('What now?', ['Yes', long, 'Tell me everything about her']));
  const { buttons } = server.delivered[0]?.message.interactive.action ?? assert.fail('no buttons');
  assert.deepEqual(
    buttons.map((button: { reply: object }) => button.reply),
    [
      { id: 'Yes', title: 'Yes' },
      // Of two with one title the last.
      { id: 'Tell me everything about her', title: 'Tell me everything…' },
    ],
  );
});

test('a file is uploaded as what WhatsApp takes it for, then sent', async () => {
  const part = (mediaType: string, filename: string): MessagePart => ({
    type: 'file',
    file: { fileId: 'file_1', filename, mediaType },
  });
  await send(part('image/png', 'cat.png'));
  await send(part('application/json', 'a "b".json'));
  assert.deepEqual(
    server.delivered.map(({ message }) => [message.type, message[message.type].filename]),
    [
      ['image', undefined],
      ['document', 'a "b".json'],
    ],
  );
  const uploads = server.calls.filter(({ url }) => url.pathname.endsWith('/media'));
  assert.deepEqual(
    uploads.map(({ file, body }) => [file?.text, file?.mediaType, body.type]),
    [
      ['the file', 'image/png', 'image/png'],
      ['the file', 'text/plain', 'text/plain'],
    ],
  );
  assert.equal((await failureOf(part('application/zip', 'a.zip'))).kind, 'refused');
});

test('a typing sign names the message that it answers', async () => {
  await showWhatsAppTyping(graph, to, signal);
  assert.deepEqual(server.calls.at(-1)?.body, {
    messaging_product: 'whatsapp',
    status: 'read',
    message_id: 'wamid.Q',
    typing_indicator: { type: 'text' },
  });
});

const MESSAGES = /POST .*\/messages/;

test('what Meta says decides what becomes of a message', async () => {
  const refusal = (status: number, code: number) => ({
    status,
    body: { error: { code, message: 'no', error_data: { details: 'why' } } },
  });
  const cases = [
    [refusal(400, 131056), 'paused', 'chat'],
    [refusal(400, 130429), 'paused', 'account'],
    [{ status: 429, headers: { 'retry-after': '7' } }, 'paused', 'account'],
    [refusal(500, 131000), 'unavailable', 'chat'],
    [{ status: 503 }, 'unavailable', 'chat'],
    [refusal(400, 131047), 'refused', 'chat'],
    [refusal(401, 190), 'refused', 'chat'],
    ['garbage', 'unknown', 'chat'],
    ['cut', 'unknown', 'chat'],
    ['cut after', 'unknown', 'chat'],
  ] as const;
  for (const [fault, kind, bucket] of cases) {
    server.failNext(MESSAGES, fault);
    const failure = await failureOf();
    assert.deepEqual([failure.kind, failure.bucket], [kind, bucket], JSON.stringify(fault));
    if (typeof fault === 'object' && 'headers' in fault) assert.equal(failure.retryAfterMs, 7_000);
    if (kind === 'refused') assert.match(failure.message, /why/);
  }
});

test('an upload of unknown outcome is done again: nobody sees it', async () => {
  const part: MessagePart = { type: 'file', file: { fileId: 'file_1', filename: 'a.png', mediaType: 'image/png' } };
  server.failNext(/POST .*\/media/, 'cut after');
  assert.equal((await failureOf(part)).kind, 'unavailable');
});

test('nothing that is thrown holds a secret', async () => {
  server.failNext(MESSAGES, 'cut', { status: 401 });
  for (const failure of [await failureOf(), await failureOf()]) {
    const told = `${failure.message} ${JSON.stringify(failure)}`;
    assert.ok(!told.includes(number.access_token) && !told.includes(number.app_secret), told);
  }
});

function open(ref: string) {
  return openWhatsAppMedia(
    { graph, outbound },
    account,
    { ref, filename: 'cat.jpg', mediaType: undefined, bytes: undefined },
    signal,
  );
}

test('a file that somebody sent is had in two steps', async () => {
  assert.equal(await readText(await open(server.addMedia({ mediaType: 'image/jpeg', text: 'a cat' }))), 'a cat');
});

test('the token goes to Meta’s hosts alone, whatever address is told', async () => {
  for (const address of [
    'http://169.254.169.254/latest',
    'https://example.org/cat',
    'https://evilfbsbx.com/cat',
    'file:///etc/passwd',
    'x',
  ]) {
    await assert.rejects(
      open(server.addMedia({ mediaType: 'image/jpeg', text: '', address })),
      AttachmentFailure,
      address,
    );
  }
});

test('a file that is gone is given up, one that cannot be had now is not', async () => {
  await assert.rejects(open('1'), AttachmentFailure);
  const ref = server.addMedia({ mediaType: 'image/jpeg', text: 'a cat' });
  server.failNext(/GET \/v/, { status: 503 });
  server.failNext(/GET \/files/, { status: 302, headers: { location: 'http://169.254.169.254/' } }, { status: 500 });
  await assert.rejects(open(ref), (error) => !(error instanceof AttachmentFailure));
  await assert.rejects(open(ref), AttachmentFailure);
  await assert.rejects(open(ref), (error) => !(error instanceof AttachmentFailure));
});
