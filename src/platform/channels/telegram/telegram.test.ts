/** A bot from its token to its answers: people write at a Telegram on loopback, which brings it here or is asked for it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { createClient, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { seedFor } from '../../../../test/support/seed.ts';

const platform = await startPlatform({ publicUrl: 'https://example.com' });
after(() => platform.close());
const { telegram } = platform;
const nobody = createClient(platform.url, '');

interface Bot {
  readonly project: TestProject;
  readonly token: string;
  readonly smithId: string;
}

async function startBot(): Promise<Bot> {
  const project = await platform.createProject();
  const token = telegram.newToken();
  const answer = await project.put('/v1/tenant/telegram', { bot_token: token, api_base_url: telegram.url });
  assert.equal(answer.status, 200, answer.text);
  return { project, token, smithId: await project.createSmith() };
}

async function deploy(
  { project, smithId }: Bot,
  body: object,
): Promise<{ id: string; start_token: string; deep_link: string }> {
  const answer = await project.post('/v1/deployments', {
    target: { type: 'smith', id: smithId },
    kind: 'telegram',
    ...body,
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

let lastId = seedFor('telegram.test');
const newId = () => ++lastId;

/** A person, and the bot's chat with them. */
function newPerson() {
  const id = newId();
  return { id, from: { id, is_bot: false, first_name: 'Ada' } };
}

async function boundBot() {
  const bot = await startBot();
  const person = newPerson();
  await deploy(bot, { address: String(person.id) });
  return { ...bot, person };
}

test('whoever sends the start token is bound, and answered once for each message, however often it comes', async () => {
  const bot = await startBot();
  const { id, start_token, deep_link } = await deploy(bot, { setup: {} });
  assert.equal(deep_link, `https://t.me/Test_${bot.token.split(':')[0]}_bot?start=${start_token}`);
  const { from, id: chat } = newPerson();
  const bound = await telegram.say(bot.token, { from, text: `/start ${start_token}` });
  assert.equal(bound.status, 204);
  const [greeting] = await telegram.waitForSent(chat, 1);
  assert.match(greeting?.payload.text, /connected/);
  const deployment = (await bot.project.get(`/v1/deployments/${id}`)).body;
  assert.deepEqual([deployment.status, deployment.address], ['active', String(chat)]);

  const { update } = await telegram.say(bot.token, { from, text: 'Write 2 words' });
  await Promise.all(Array.from({ length: 3 }, () => telegram.say(bot.token, update)));
  const [, answer] = await telegram.waitForSent(chat, 2);
  assert.equal(answer?.payload.parse_mode, 'HTML');
  await telegram.say(bot.token, update);
  await telegram.say(bot.token, { from, text: 'Write 3 words' });
  const sent = await telegram.waitForSent(chat, 3);
  assert.equal(sent.length, 3);
  const runs = (await bot.project.get(`/v1/smiths/${bot.smithId}/runs`)).body.data;
  assert.deepEqual(
    runs.map(({ channel, status }: { channel: string; status: string }) => [channel, status]),
    [
      ['telegram', 'completed'],
      ['telegram', 'completed'],
    ],
  );
  const { data: events } = (await bot.project.get('/v1/inbound_events?source=telegram')).body;
  assert.equal(events.length, 3);
  assert.equal(events[0].data.message.text, 'Write 3 words');
});

describe('the webhook', async () => {
  const bot = await boundBot();
  const path = `/v1/telegram/webhook/${bot.project.projectId}`;
  const secret = telegram.webhookOf(bot.token)?.secret_token ?? '';
  const header = (value: string) => ({ 'x-telegram-bot-api-secret-token': value });
  const update = JSON.stringify({ update_id: 1 });

  test('takes nothing without its secret, whether the project has a bot, or is', async () => {
    const without = await platform.createProject();
    const answers = [
      await nobody.post(path, update),
      await nobody.post(path, update, header('')),
      await nobody.post(path, update, header(`${secret}x`)),
      await nobody.post(path, 'no JSON', header('wrong')),
      await nobody.post(`/v1/telegram/webhook/${without.projectId}`, update, header(secret)),
      await nobody.post('/v1/telegram/webhook/proj_nobody', update, header(secret)),
    ];
    for (const answer of answers) {
      assertRefusal(answer, 401, 'bad_webhook_secret');
      assert.equal(answer.text, answers[0]?.text);
    }
  });

  test('refuses what is no update', async () => {
    for (const body of ['', 'no JSON', '[]', '"x"', 'null', '{}', Buffer.from([0x7b, 0xff, 0x7d]).toString('latin1')]) {
      assertRefusal(await nobody.post(path, body, header(secret)), 422, 'bad_webhook');
    }
    assertRefusal(await nobody.post(path, 'x'.repeat(2 ** 20 + 1), header(secret)), 413, 'payload_too_large');
    assert.equal((await nobody.post(path, update, header(secret))).status, 204);
  });
});

test('in a group the bot answers whoever names it, as an answer to them', async () => {
  const bot = await startBot();
  const chatId = -newId();
  const chat = { id: chatId, type: 'supergroup', title: 'Engines' };
  await deploy(bot, { address: String(chatId) });
  const name = `@Test_${bot.token.split(':')[0]}_bot`;
  await telegram.say(bot.token, { chat, text: 'Write 9 words' });
  const said = await telegram.say(bot.token, {
    chat,
    text: `${name} Write 2 words`,
    entities: [{ type: 'mention', offset: 0, length: name.length }],
  });
  const [answer] = await telegram.waitForSent(chatId, 1);
  const { message_id } = said.update.message as { message_id: number };
  assert.deepEqual(answer?.payload.reply_parameters, { message_id, allow_sending_without_reply: true });
  const runs = (await bot.project.get(`/v1/smiths/${bot.smithId}/runs`)).body.data;
  assert.deepEqual(
    runs.map(({ input }: { input: unknown }) => input),
    [[{ role: 'user', content: 'Write 2 words' }]],
  );
});

test('files that come with a message are the smith’s, an album’s together', async () => {
  const { project, token, smithId, person } = await boundBot();
  const { from } = person;
  for (const n of [1, 2]) {
    telegram.putFile(`doc${person.id}${n}`, Buffer.from(`Content ${n}`));
    const document = { file_id: `doc${person.id}${n}`, file_name: `${n}.txt`, mime_type: 'text/plain' };
    await telegram.say(token, {
      from,
      document,
      media_group_id: 'album',
      ...(n === 1 ? { caption: 'Write 2 words' } : {}),
    });
  }
  await telegram.waitForSent(person.id, 1);
  const { data: runs } = (await project.get(`/v1/smiths/${smithId}/runs`)).body;
  assert.equal(runs.length, 1);
  const parts = runs[0].input.flatMap(({ content }: { content: unknown }) => content);
  const files = parts.filter(({ type }: { type: string }) => type === 'input_file');
  const contents = [];
  for (const { file_id } of files)
    contents.push(await project.open('GET', `/v1/files/${file_id}/content`).then((answer) => answer.text()));
  assert.deepEqual(contents, ['Content 1', 'Content 2']);
});

describe('an answer arrives', () => {
  test('as plain text where Telegram cannot read it, after a wait where it asks for one', async () => {
    const { token, person } = await boundBot();
    const refusals = [
      { error_code: 429, description: 'Too Many Requests: retry after 1', parameters: { retry_after: 1 } },
      { error_code: 400, description: "Bad Request: can't parse entities: unsupported start tag" },
    ];
    telegram.misbehave(({ method, payload }) =>
      method === 'sendMessage' && Number(payload.chat_id) === person.id ? refusals.shift() : undefined,
    );
    await telegram.say(token, { from: person.from, text: 'Write 2 words' });
    const sent = await telegram.waitForSent(person.id, 3);
    telegram.misbehave(undefined);
    assert.deepEqual(
      sent.map(({ payload }) => payload.parse_mode),
      ['HTML', 'HTML', undefined],
    );
  });

  test('to nobody who has blocked the bot, and the next message is none the worse', async () => {
    const { project, token, person } = await boundBot();
    telegram.misbehave(({ method, payload }) =>
      method === 'sendMessage' && Number(payload.chat_id) === person.id
        ? { error_code: 403, description: 'Forbidden: bot was blocked by the user' }
        : undefined,
    );
    await telegram.say(token, { from: person.from, text: 'Write 2 words' });
    await telegram.waitForSent(person.id, 1);
    telegram.misbehave(undefined);
    await telegram.say(token, { from: person.from, text: 'Write 3 words' });
    const [, again] = await telegram.waitForSent(person.id, 2);
    assert.ok(again);
    assert.match((await project.get('/v1/tenant/telegram')).body.last_error.message, /blocked by the user/);
  });
});

test('the commands of docs/channels.md do what they say', async () => {
  const guide = await readFile(new URL('../../../../docs/channels.md', import.meta.url), 'utf8');
  const section = guide.split(/^## /m).find((text) => text.startsWith('Telegram\n')) ?? '';
  const commands = /^```sh\n(.*?)^```/ms.exec(section)?.[1] ?? '';
  const project = await platform.createProject();
  const bot = telegram.newToken();
  const lines = `curl() { command curl -w '\\n' "$@"; }`;
  const there = commands.replace('\\"$BOT_TOKEN\\"', '\\"$BOT_TOKEN\\",\\"api_base_url\\":\\"$TELEGRAM\\"');
  assert.notEqual(there, commands);
  const env = {
    ...process.env,
    URL: platform.url,
    TOKEN: project.token,
    BOT_TOKEN: bot,
    TELEGRAM: telegram.url,
    SMITH: await project.createSmith(),
  };
  const { stdout } = await promisify(execFile)('sh', ['-c', `${lines}\n${there}`], { env });
  const [account, deployment] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual([account.configured, account.secret_keys], [true, ['bot_token']]);
  assert.equal(deployment.deep_link, `https://t.me/${account.bot_username}?start=${deployment.start_token}`);
  const { from, id } = newPerson();
  await telegram.say(bot, { from, text: `/start ${deployment.start_token}` });
  await telegram.waitForSent(id, 1);
});

test('an agent has a smith for each person', async () => {
  const bot = await startBot();
  const agent = (await bot.project.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' })).body.id;
  assert.equal((await bot.project.post(`/v1/agents/${agent}/versions`, {})).status, 201);
  await deploy(bot, { target: { type: 'agent', id: agent } });
  const people = [newPerson(), newPerson()];
  for (const { from } of people) await telegram.say(bot.token, { from, text: 'Write 2 words' });
  for (const { id } of people) await telegram.waitForSent(id, 1);
  const { data } = (await bot.project.get(`/v1/smiths?agent_id=${agent}`)).body;
  const names = data.map(({ external_id }: { external_id: string }) => external_id);
  assert.deepEqual(names.sort(), people.map(({ id }) => `telegram:${id}`).sort());
});

test('without the bot its deployments are disconnected', async () => {
  const bot = await boundBot();
  assert.equal((await bot.project.delete('/v1/tenant/telegram')).status, 204);
  const { data } = (await bot.project.get('/v1/deployments')).body;
  assert.deepEqual(
    data.map(({ status }: { status: string }) => status),
    ['disconnected'],
  );
  assertRefusal(
    await bot.project.post('/v1/deployments', {
      target: { type: 'smith', id: bot.smithId },
      kind: 'telegram',
      setup: {},
    }),
    422,
    'telegram_bot_unconfigured',
  );
});

test('a group that becomes a supergroup is the same conversation, whichever of the two says so first', async () => {
  const migrate = async (isOldFirst: boolean) => {
    const bot = await startBot();
    const [group, supergroup] = [-newId(), -1_000_000_000_000 - newId()];
    const { id } = await deploy(bot, { address: String(group) });
    const { from } = newPerson();
    const name = `@Test_${bot.token.split(':')[0]}_bot`;
    const entities = [{ type: 'mention', offset: 0, length: name.length }];
    await telegram.say(bot.token, {
      from,
      chat: { id: group, type: 'group' },
      text: `${name} Write 2 words`,
      entities,
    });
    await telegram.waitForSent(group, 1);
    const told = [
      { from, chat: { id: group, type: 'group' }, migrate_to_chat_id: supergroup },
      { from, chat: { id: supergroup, type: 'supergroup' }, migrate_from_chat_id: group },
    ];
    for (const each of isOldFirst ? told : told.reverse()) await telegram.say(bot.token, each);
    assert.equal((await bot.project.get(`/v1/deployments/${id}`)).body.address, String(supergroup));
    const chat = { id: supergroup, type: 'supergroup' };
    await telegram.say(bot.token, { from, chat, text: `${name} Write 3 words`, entities });
    await telegram.waitForSent(supergroup, 1);
    const { data } = (await bot.project.get(`/v1/smiths/${bot.smithId}/runs`)).body;
    assert.equal(data.length, 2);
    assert.equal(data[0].thread_id, data[1].thread_id);
  };
  await Promise.all([migrate(true), migrate(false)]);
});
