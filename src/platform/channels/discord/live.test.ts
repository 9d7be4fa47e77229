import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { newId, startDiscord } from '../../../../test/fakes/discord-api.ts';
import { createOutbound } from '../../../kernel/outbound/outbound.ts';
import { type Destination, type OpenAccount, SendFailure } from '../channel.ts';
import { createDiscordApi } from './api.ts';
import { chatOf } from './chat.ts';
import { createDiscordLive } from './live.ts';
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
const account: OpenAccount = {
  projectId: 'proj_1',
  kind: 'discord',
  accountId: application.application_id,
  settings: { api_base_url: discord.url, bot_id: application.application_id },
  secrets: { bot_token: application.bot_token },
};
const api = createDiscordApi(outbound);
const { signal } = new AbortController();
const LATER = new Date(Date.now() + 20 * 60_000);

function at(now: Date) {
  const deps = { api, now: () => now };
  const options = { asPlain: false, openFile: async () => Readable.from(['']), signal };
  return {
    live: createDiscordLive(deps),
    answer: (to: Destination, text: string, replaces: string) =>
      sendDiscord(deps, to, { type: 'text', text, plain: text }, { ...options, replaces }),
  };
}

const { live, answer } = at(new Date());
const later = at(LATER);

/** Somebody has typed /ask, and sees the beginning of an answer. */
async function showBeginning(text = 'The **be') {
  const channel = newId();
  const user = newId();
  const { token, id } = await discord.type(application, { userId: user, channelId: channel, data: { name: 'ask' } });
  const to: Destination = { account, chat: chatOf(channel, user), sender: user, reply: writeReply({ id, token }) };
  const message = (await live.open(to, signal)) ?? assert.fail('there is no message');
  await live.show(to, text, { message, key: 'run_1', shown: '', signal });
  return { to, message, said: () => discord.messagesIn(channel).map(({ content }) => content), channel };
}

test('the deferred reply shows pieces, which mention nobody, and becomes the answer', async () => {
  const { to, message, said, channel } = await showBeginning();
  assert.deepEqual(said(), ['The **be']);
  assert.deepEqual(discord.messagesIn(channel)[0]?.allowedMentions, { parse: [] });
  assert.equal(await answer(to, 'The **end**', message), message);
  assert.deepEqual(said(), ['The **end**']);
});

test('a piece is no longer than a message, and what says the same already is left alone', async () => {
  const long = 'word '.repeat(1_000);
  const { to, message, said } = await showBeginning(long);
  assert.ok((said()[0] ?? '').length <= 2_000);
  const { length } = discord.calls;
  await live.show(to, `${long} and more`, { message, key: 'run_1', shown: long, signal });
  assert.equal(discord.calls.length, length);
});

test('once the interaction is over the bot edits what was shown, and shows no more', async () => {
  const { to, message, said } = await showBeginning();
  assert.equal(later.live.at(to), undefined);
  assert.equal(await later.answer(to, 'The end', message), message);
  assert.deepEqual(said(), ['The end']);
});

test('what was shown is taken away, by whoever may', async () => {
  for (const { live } of [at(new Date()), later]) {
    const { to, message, said } = await showBeginning();
    await live.remove(to, message, signal);
    await live.remove(to, message, signal);
    assert.deepEqual(said(), []);
  }
});

test('an answer whose message is gone is sent anew', async () => {
  const { to, message, said } = await showBeginning();
  await live.remove(to, message, signal);
  assert.notEqual(await answer(to, 'The end', message), message);
  assert.deepEqual(said(), ['The end']);
});

test('where there is no deferred reply nothing is shown', async () => {
  const { to, message } = await showBeginning();
  await live.remove(to, message, signal);
  await assert.rejects(live.open(to, signal), SendFailure);
  assert.equal(live.at({ ...to, reply: undefined }), undefined);
});
