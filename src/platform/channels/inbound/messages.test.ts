/** What people write through a channel: whom it reaches, and the turns that it begins. */
import assert from 'node:assert/strict';
import { after, describe, type TestContext, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import {
  createTestChannel,
  openTestProvider,
  saveTestAccount,
  TEST_KIND,
  writes,
} from '../../../../test/support/test-channel.ts';
import { eventually, FAKE_MODEL, smithOf, useUpstream } from '../../../../test/support/turns.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { InboundMessage } from '../channel.ts';
import { sweepChannels } from '../sweep-channels.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

let db: Database | undefined;
/** While it is set, the server's clock stands still. */
let stoppedAt: Date | undefined;
const platform = await startPlatform({
  clock: { now: () => stoppedAt ?? new Date() },
  channels: [createTestChannel(() => db ?? assert.fail('the server has no database yet'))],
  limits: { fileLimitBytes: 1_024 },
});
db = platform.db;
after(() => platform.close());
const provider = await openTestProvider();
after(() => provider.close());
const upstream = await startOpenAiUpstream();
after(() => upstream.close());

let lastChat = 0;
const newChat = () => String(10_000 + ++lastChat);

async function openProject() {
  const project = await platform.createProject();
  const account = await saveTestAccount(platform.db, project.projectId, provider);
  const accept = (...messages: InboundMessage[]) => platform.platform.messaging.accept(account, messages);
  const deploy = (body: object) => project.post('/v1/deployments', { kind: TEST_KIND, ...body });
  return { project, account, accept, deploy };
}

/** A smith that one person speaks to. */
async function openChat() {
  const { project, account, accept, deploy } = await openProject();
  const chat = newChat();
  const smith = smithOf(project, await project.createSmith());
  const deployment = (await deploy({ target: { type: 'smith', id: smith.id }, address: chat })).body;
  const write = (text: string, more: Partial<InboundMessage> = {}) => accept(writes(chat, text, more));
  return { project, account, accept, chat, smith, deployment, write, said: () => saidIn(chat) };
}

const saidIn = (chat: string) => provider.sent.filter((one) => one.chat === chat).map((one) => one.text);

function until(chat: string, count: number): Promise<string[]> {
  return eventually(() => {
    const said = saidIn(chat);
    return said.length >= count ? said : undefined;
  }, `${count} messages have come to ${chat}`);
}

async function runsOf(project: TestProject, smithId: string): Promise<Json[]> {
  return (await project.get(`/v1/smiths/${smithId}/runs?limit=100`)).body.data.reverse();
}

const textsOf = (run: Json): string[] => run.input.map((message: Json) => message.content);

test('a message begins one turn, however often it is delivered, and its answer comes to the chat', async () => {
  const { project, accept, chat, smith, deployment } = await openChat();
  const message = writes(chat, 'What is a smith?', { data: { update_id: 7 } });
  const startedMs = Date.now();
  await Promise.all([accept(message), accept(message, message), accept(message)]);
  const [said] = await until(chat, 1);
  assert.match(said ?? '', /What is a smith\?/);
  await accept(message);
  const [run, ...others] = await runsOf(project, smith.id);
  assert.deepEqual(others, []);
  const events = (await project.get('/v1/inbound_events')).body.data;
  assert.equal(events.length, 1);
  const [event] = events;
  assert.deepEqual(
    [run.channel, run.metadata],
    [TEST_KIND, { deployment_id: deployment.id, inbound_event_id: event.id, chat }],
  );
  assert.deepEqual(run.actor, { kind: 'smith', id: smith.id, token_id: '', email: '' });
  const { id, created_at, ...rest } = event;
  assert.match(id, /^ievt_/);
  assert.ok(Date.parse(created_at) >= startedMs && Date.parse(created_at) <= Date.now(), created_at);
  assert.deepEqual(rest, {
    ...{ source: TEST_KIND, type: 'message', subject: message.subject, idempotency_key: message.idempotencyKey },
    ...{ smith_id: smith.id, data: { update_id: 7 } },
  });
  assert.deepEqual((await project.get(`/v1/inbound_events/${id}`)).body, event);
  const [told] = (await project.get('/v1/events?type=deployment.inbound')).body.data;
  assert.deepEqual(
    [told.smith_id, told.actor, told.data],
    [
      smith.id,
      run.actor,
      { kind: TEST_KIND, channel_id: deployment.id, triggered_run_id: run.id, inbound_event_id: id },
    ],
  );
});

test('messages that come while the smith is busy go together into its next turn, in order', async () => {
  const { project, smith, write, said } = await openChat();
  await useUpstream(project, upstream);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith({ type: 'answer', deltas: ['Done.'], held });
  const first = await smith.begin('Hello', { model: FAKE_MODEL });
  for (const text of ['one', 'two', 'three']) await write(text);
  release();
  await smith.settled(first);
  await eventually(() => (said().length === 1 ? true : undefined), 'they are answered');
  const runs = await runsOf(project, smith.id);
  assert.deepEqual(runs.slice(1).map(textsOf), [['one', 'two', 'three']]);
  assert.equal((await project.get('/v1/events?type=deployment.inbound')).body.data.length, 3);
});

/** Stops the server's clock until the test ends, or goes on. */
function stopClock(t: TestContext): { goOn(): void } {
  const goOn = () => {
    stoppedAt = undefined;
  };
  t.after(goOn);
  stoppedAt = new Date();
  return { goOn };
}

test('an album goes into one turn, though its pictures come one by one', async (t) => {
  const { project, smith, write } = await openChat();
  const clock = stopClock(t);
  await write('The first', { group: 'g1' });
  await eventually(async () => {
    const { rowCount } = await platform.db.query({
      text: 'select from channel_chats where project_id = $1 and waits > 0',
      values: [project.projectId],
    });
    return rowCount === 1 ? true : undefined;
  }, 'the server has seen the first picture, and waits for others');
  await write('', { group: 'g1' });
  clock.goOn();
  const [run] = await eventually(async () => {
    const runs = await runsOf(project, smith.id);
    return runs.length > 0 ? runs : undefined;
  }, 'the album begins a turn');
  assert.deepEqual(textsOf(run), ['The first', '[A message without text.]']);
});

test('what the limit of runs in flight or a refusal keeps from beginning is answered later, or by one sentence', async () => {
  const { project, smith, write, chat } = await openChat();
  assert.equal(
    (await project.post('/v1/budgets', { scope: 'smith', scope_id: smith.id, limit: 0, action: 'block' })).status,
    201,
  );
  await write('Anybody?');
  assert.deepEqual(await until(chat, 1), ['Sorry, there is no answer at this moment. Please try again later.']);
  assert.deepEqual(await runsOf(project, smith.id), []);
});

test('a turn that fails is told by the same sentence', async () => {
  const { write, chat } = await openChat();
  await write('Fail with 400');
  assert.deepEqual(await until(chat, 1), ['Sorry, there is no answer at this moment. Please try again later.']);
});

describe('commands', () => {
  test('/new begins a thread', async () => {
    const { project, smith, write, chat } = await openChat();
    await write('Before');
    await until(chat, 1);
    await write(' /NEW ');
    assert.equal((await until(chat, 2))[1], 'We begin anew. What do you want to know?');
    await write('After');
    await until(chat, 3);
    const [before, following, ...others] = await runsOf(project, smith.id);
    assert.deepEqual(others, []);
    assert.notEqual(before.thread_id, following.thread_id);
    assert.deepEqual(textsOf(following), ['After']);
  });

  test('/stop ends the turn at once and drops what waits behind it', async () => {
    const { project, smith, write, chat } = await openChat();
    await write('Write 500 words at 20 words per second');
    await eventually(async () => ((await runsOf(project, smith.id)).length > 0 ? true : undefined), 'the turn begins');
    await write('And this?');
    await write('/stop');
    assert.deepEqual(await until(chat, 1), ['Stopped.']);
    await write('/stop');
    assert.deepEqual((await until(chat, 2))[1], 'There is nothing to stop.');
    const runs = await runsOf(project, smith.id);
    assert.deepEqual(
      runs.map(({ status }) => status),
      ['cancelled'],
    );
  });
});

describe('files that come with a message', () => {
  test('are the smith’s by the time the turn begins, and what cannot be had is told', async () => {
    const { project, smith, write, chat } = await openChat();
    provider.files.set('note', 'The password is swordfish.').set('gone', 410);
    const file = (ref: string, bytes?: number) => ({ ref, filename: `${ref}.txt`, mediaType: 'text/plain', bytes });
    await write('See here', { attachments: [file('note'), file('gone'), file('huge', 2 ** 31)] });
    await until(chat, 1);
    const [run] = await runsOf(project, smith.id);
    const [text, note, gone, huge] = run.input[0].content;
    assert.deepEqual(text, { type: 'text', text: 'See here' });
    assert.equal(note.filename, 'note.txt');
    assert.equal((await project.get(`/v1/files/${note.file_id}/content`)).text, 'The password is swordfish.');
    assert.match(gone.text, /^\[The file gone\.txt is missing\. It is gone\.\]$/);
    assert.match(huge.text, /^\[The file huge\.txt is missing\. It is too large/);
  });
});

describe('a deployment that is bound later', () => {
  async function openPending() {
    const { project, accept, deploy } = await openProject();
    const smith = await project.createSmith();
    const pending = await deploy({ target: { type: 'smith', id: smith }, setup: {} });
    assert.equal(pending.status, 201, pending.text);
    return { project, accept, smith, deployment: pending.body, deploy };
  }

  test('is whoever’s writes its token, in any letter case and inside other text, once', async () => {
    const { project, accept, smith, deployment } = await openPending();
    const { start_token: token, deep_link, prefilled_message, ...shown } = deployment;
    assert.match(token, /^ic[0-9a-z]{20}$/);
    assert.deepEqual(
      [deep_link, prefilled_message],
      [`https://t.example/bot-${project.projectId}?start=${token}`, `/start ${token}`],
    );
    assert.deepEqual([shown.status, shown.address], ['pending', null]);
    const path = `/v1/deployments/${deployment.id}`;
    assert.deepEqual((await project.get(path)).body, shown);
    const [ada, eve] = [newChat(), newChat()];
    await accept(writes(ada, `Hello! /start ${token.toUpperCase()}, please`));
    assert.deepEqual(await until(ada, 1), ['You are connected. What do you want to know?']);
    assert.deepEqual((await project.get(path)).body, { ...shown, status: 'active', address: ada });
    const [bound] = (await project.get('/v1/events?type=deployment.bound')).body.data;
    assert.deepEqual(
      [bound.smith_id, bound.data],
      [smith, { kind: TEST_KIND, channel_id: deployment.id, address: ada }],
    );
    assert.deepEqual(await runsOf(project, smith), []);
    await accept(writes(eve, token), writes(ada, token));
    assert.equal((await until(ada, 2))[1], 'You are connected already. Just write.');
    const [unbound] = (await project.get('/v1/events?type=unbound_message')).body.data;
    assert.deepEqual(unbound.data, { kind: TEST_KIND, sender: eve, text: token });
    assert.deepEqual(saidIn(eve), []);
  });

  test('takes no eleventh guess within an hour', async (t) => {
    const { accept, deployment, project } = await openPending();
    stopClock(t);
    const eve = newChat();
    for (let guess = 0; guess < 10; guess += 1) await accept(writes(eve, `ic${String(guess).padStart(20, '0')}`));
    await accept(writes(eve, deployment.start_token));
    assert.equal((await project.get(`/v1/deployments/${deployment.id}`)).body.status, 'pending');
    await accept(writes(newChat(), deployment.start_token));
    assert.equal((await project.get(`/v1/deployments/${deployment.id}`)).body.status, 'active');
  });

  test('is bound to nobody by a token that is a day old, or that is another project’s', async () => {
    const { accept, deployment, project } = await openPending();
    await (await openProject()).accept(writes(newChat(), deployment.start_token));
    await platform.db.query({
      text: `update deployments set start_token_expires_at = now() - interval '1 second' where id = $1`,
      values: [deployment.id],
    });
    await accept(writes(newChat(), deployment.start_token));
    assert.equal((await project.get(`/v1/deployments/${deployment.id}`)).body.status, 'pending');
  });
});

describe('an address', () => {
  test('is one deployment’s until that is deleted', async () => {
    const { project, deploy, accept } = await openProject();
    const [chat, smith] = [newChat(), await project.createSmith()];
    const target = { type: 'smith', id: smith };
    const { id } = (await deploy({ target, address: chat })).body;
    assertRefusal(await deploy({ target, address: chat }), 409, 'address_in_use', 'address');
    assert.equal((await project.delete(`/v1/deployments/${id}`)).status, 204);
    await accept(writes(chat, 'Is anybody there?'));
    assert.equal((await project.get('/v1/inbound_events')).body.data[0].type, 'unbound_message');
    assert.equal((await deploy({ target, address: chat })).status, 201);
  });

  test('of an account that is another project’s reaches nothing there', async () => {
    const [here, there] = [await openChat(), await openChat()];
    await there.accept(writes(here.chat, 'Hello'));
    assert.deepEqual(await runsOf(here.project, here.smith.id), []);
    assert.deepEqual((await here.project.get('/v1/inbound_events')).body.data, []);
    const [foreign] = (await there.project.get('/v1/inbound_events')).body.data;
    assertRefusal(await here.project.get(`/v1/inbound_events/${foreign.id}`), 404, 'not_found');
  });
});

test('an agent has a smith for each person who writes, besides those who have one of their own', async () => {
  const { project, deploy, accept } = await openProject();
  const agent = (await project.post('/v1/agents', { name: 'Help', model: 'builtin/demo' })).body.id;
  await project.post(`/v1/agents/${agent}/versions`, {});
  const target = { type: 'agent', id: agent };
  assert.equal((await deploy({ target })).status, 201);
  assertRefusal(await deploy({ target }), 409, 'catch_all_exists', 'target');
  const own = await project.createSmith();
  const [ada, bob, eve] = [newChat(), newChat(), newChat()];
  await deploy({ target: { type: 'smith', id: own }, address: eve });
  await accept(writes(ada, 'I am Ada'), writes(bob, 'I am Bob'), writes(eve, 'I am Eve'));
  await Promise.all([until(ada, 1), until(bob, 1), until(eve, 1)]);
  await accept(writes(ada, 'Ada again'));
  await until(ada, 2);
  const smiths = (await project.get('/v1/smiths')).body.data.filter(({ agent_id }: Json) => agent_id === agent);
  const names = smiths.map(({ external_id }: Json) => external_id).sort();
  assert.deepEqual(names, [`${TEST_KIND}:${ada}`, `${TEST_KIND}:${bob}`].sort());
  assert.equal((await runsOf(project, own)).length, 1);
  const adas = smiths.find(({ external_id }: Json) => external_id === `${TEST_KIND}:${ada}`).id;
  const runs = await runsOf(project, adas);
  assert.equal(runs.length, 2);
  assert.equal(runs[0].thread_id, runs[1].thread_id);

  const her = project.as(await project.smithToken(adas, ['deployments:read']));
  const seen = await her.get('/v1/inbound_events');
  assert.deepEqual(new Set(seen.body.data.map(({ smith_id }: Json) => smith_id)), new Set([adas]));
  assert.deepEqual((await her.get(`/v1/inbound_events?smith_id=${adas}`)).body, seen.body);
  assertRefusal(await her.get(`/v1/inbound_events?smith_id=${own}`), 403, 'smith_mismatch');
  const filtered = await project.get(
    `/v1/inbound_events?smith_id=${own}&source=${TEST_KIND}&since=2020-01-01T00:00:00Z`,
  );
  assert.deepEqual(
    filtered.body.data.map(({ data }: Json) => data),
    [{ text: 'I am Eve' }],
  );
  assert.deepEqual((await project.get('/v1/inbound_events?source=slack')).body.data, []);
});

test('what is a month old goes, but for messages that wait', async () => {
  const { project, chat, write } = await openChat();
  await write('Write 2 words');
  await until(chat, 1);
  const { projectId } = project;
  const count = async () => {
    const { rows } = await platform.db.query<{ events: number; answers: number; parts: number }>({
      text: `
        select (select count(*) from inbound_events where project_id = $1) as events,
          (select count(*) from channel_answers where project_id = $1) as answers,
          (select count(*) from channel_parts where project_id = $1) as parts`,
      values: [projectId],
    });
    return rows[0];
  };
  await eventually(async () => {
    const { rowCount } = await platform.db.query({
      text: `select from channel_answers where project_id = $1 and state = 'sent'`,
      values: [projectId],
    });
    return rowCount === 1 ? true : undefined;
  }, 'the answer is noted');
  const sweepIn = (days: number) => {
    const now = () => new Date(Date.now() + days * 86_400_000);
    return sweepChannels({ db: platform.db, now }, new AbortController().signal);
  };
  await sweepIn(29);
  assert.deepEqual(await count(), { events: 1, answers: 1, parts: 1 });
  await sweepIn(31);
  assert.deepEqual(await count(), { events: 0, answers: 0, parts: 0 });
});

test('a deployment whose start token nobody has sent in a day waits no longer', async () => {
  const { project, accept, deploy } = await openProject();
  const { id, start_token } = (await deploy({ target: { type: 'smith', id: await project.createSmith() }, setup: {} }))
    .body;
  const statusIn = async (hours: number) => {
    const now = () => new Date(Date.now() + hours * 3_600_000);
    await sweepChannels({ db: platform.db, now }, new AbortController().signal);
    return (await project.get(`/v1/deployments/${id}`)).body.status;
  };
  assert.deepEqual([await statusIn(23), await statusIn(25)], ['pending', 'disconnected']);
  const late = newChat();
  await accept(writes(late, start_token));
  assert.deepEqual(saidIn(late), []);
});
