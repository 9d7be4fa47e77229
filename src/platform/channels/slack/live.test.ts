import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { newSlackId, startSlack } from '../../../../test/fakes/slack-api.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { type Destination, type OpenAccount, SendFailure } from '../channel.ts';
import { createSlackLive } from './live.ts';
import { chatOf } from './place.ts';
import { sendSlack } from './send.ts';
import { createSlackApi } from './web-api.ts';

const slack = await startSlack();
const outbound = createOutbound({ allow: ['example.com'], lookup: async () => [{ address: '127.0.0.1', family: 4 }] });
after(async () => {
  await outbound.close();
  await slack.close();
});
const app = slack.addApp();
const access = { baseUrl: slack.url, token: app.botToken };
const deps = { api: createSlackApi(outbound), outbound, findAccess: async () => access };
const live = createSlackLive(deps);
const account: OpenAccount = { projectId: 'proj_1', kind: 'slack', accountId: app.clientId, settings: {}, secrets: {} };
const { signal } = new AbortController();
const THREAD = '1700000000.000100';

interface Beginning {
  readonly to: Destination;
  readonly channel: string;
  readonly message: string;
  said(): readonly string[];
  show(text: string, shown?: string): Promise<void>;
  answer(text: string): Promise<string | undefined>;
}

async function begin(threadTs: string | undefined, streams = true): Promise<Beginning> {
  const channel = newSlackId('C');
  if (!streams) slack.stopStreamsIn(channel);
  const chat = chatOf({ teamId: app.teamId, channelId: channel, threadTs });
  const to: Destination = { account, chat, sender: `${app.teamId}:U0ADA`, reply: undefined };
  const message = (await live.open(to, signal)) ?? assert.fail('there is no message');
  const options = { asPlain: false, openFile: async () => Readable.from(['']), signal, replaces: message };
  return {
    to,
    channel,
    message,
    said: () => slack.messagesIn(channel).map(({ text }) => text),
    show: (text, shown = '') => live.show(to, text, { message, key: 'run_1', shown, signal }),
    answer: (text) => sendSlack(deps, to, { type: 'text', text, plain: text }, options),
  };
}

test('in a thread pieces are streamed, calling nobody, and the answer takes their place', async () => {
  const { said, show, answer, channel } = await begin(THREAD);
  assert.deepEqual(said(), ['']);
  await show('Hello <');
  await show('Hello <!channel> **wor', 'Hello <');
  assert.deepEqual(said(), ['Hello <\u2060!channel> **wor']);
  await show('Said otherwise', 'Hello <!channel> **wor');
  await show(`Hello <!channel> **wor${'x'.repeat(12_000)}`, 'Hello <!channel> **wor');
  assert.deepEqual(said(), ['Hello <\u2060!channel> **wor']);
  const ts = await answer('Hello *world*');
  assert.deepEqual(said(), ['Hello *world*']);
  const [message] = slack.messagesIn(channel);
  assert.deepEqual([message?.ts, message?.thread, message?.sent.metadata.event_type], [ts, THREAD, 'answer_part']);
  assert.equal(await answer('Hello *world*'), ts, 'sent again after an unknown outcome');
  assert.deepEqual(said(), ['Hello *world*']);
});

test('elsewhere a message is edited, with markup that is whole', async () => {
  for (const beginning of [await begin(undefined), await begin(THREAD, false)]) {
    const { said, show, answer, message } = beginning;
    assert.deepEqual(said(), ['…']);
    await show('**The <@U0ADA>');
    assert.match(said()[0] ?? '', /The &lt;@U0ADA&gt;$/);
    const calls = slack.calls.length;
    await show('**The <@U0ADA>', '**The <@U0ADA>');
    assert.equal(slack.calls.length, calls);
    await show('word '.repeat(3_000));
    assert.ok((said()[0] ?? '').length <= 4_000);
    assert.equal(await answer('The end'), message);
    assert.deepEqual(said(), ['The end']);
  }
});

test('where the answer cannot take the place it is sent, and what was shown goes', async () => {
  for (const threadTs of [undefined, THREAD]) {
    const { said, show, answer, message } = await begin(threadTs);
    await show('The beginning');
    const long = 'word '.repeat(1_000);
    assert.notEqual(await answer(long), message);
    assert.deepEqual(said(), [long]);
    await answer('After somebody has deleted it');
    assert.equal(said().length, 2);
  }
});

test('what is shown can be taken away, once and again', async () => {
  for (const threadTs of [undefined, THREAD]) {
    const { said, to, message } = await begin(threadTs);
    for (let time = 0; time < 2; time += 1) await live.remove(to, message, signal);
    assert.deepEqual(said(), []);
  }
});

test('a piece that Slack does not take says when to try again, or never', async () => {
  const { show } = await begin(THREAD);
  slack.failNext(/appendStream/, { status: 429, headers: { 'retry-after': '3' } }, { status: 503 });
  const kinds: unknown[] = [];
  for (let time = 0; time < 2; time += 1) {
    await show('piece').catch((error: unknown) => kinds.push(error instanceof SendFailure && error.kind));
  }
  assert.deepEqual(kinds, ['paused', 'unavailable']);
});
