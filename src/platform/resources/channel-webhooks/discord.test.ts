import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type FakeApplication, newId, type SignedBody } from '../../../../test/fakes/discord-api.ts';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually, FAKE_MODEL, sentTexts, useUpstream } from '../../../../test/support/turns.ts';

const PING = { id: '1', type: 1 };
const platform = await startPlatform();
after(() => platform.close());
const { discord } = platform;
const upstream = await startOpenAiUpstream();
after(() => upstream.close());

interface Place {
  readonly project: TestProject;
  readonly application: FakeApplication;
  readonly smithId: string;
}

async function makePlace(smith: Record<string, unknown> = {}): Promise<Place> {
  const project = await platform.createProject();
  const application = discord.addApplication();
  const saved = await project.put('/v1/tenant/discord', discord.bodyOf(application));
  assert.equal(saved.status, 200, saved.text);
  return { project, application, smithId: await project.createSmith(smith) };
}

async function deploy({ project, smithId }: Place, body: object) {
  const answer = await project.post('/v1/deployments', {
    target: { type: 'smith', id: smithId },
    kind: 'discord',
    ...body,
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

function ask({ application }: Place, userId: string, channelId: string, message: string, more: object = {}) {
  const data = { name: 'ask', options: [{ name: 'message', type: 3, value: message }], ...more };
  return discord.type(application, { userId, channelId, data });
}

/** Waits until the place's smith has been given a turn. */
function begun({ project, smithId }: Place) {
  const runs = () => project.get(`/v1/smiths/${smithId}/runs`);
  return eventually(async () => ((await runs()).body.data.length > 0 ? true : undefined), 'the turn has begun');
}

async function said(channelId: string, count = 1) {
  const whole = () => discord.messagesIn(channelId).filter(({ content }) => content !== '');
  return eventually(() => (whole().length >= count ? whole() : undefined), `${count} messages in ${channelId}`);
}

async function post({ project }: Pick<Place, 'project'>, { bytes, headers }: SignedBody): Promise<Answer> {
  const response = await fetch(`${platform.url}/v1/discord/webhook/${project.projectId}`, {
    method: 'POST',
    headers,
    body: new Uint8Array(bytes),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

test('a ping is answered, a command deferred and then answered in its place', async () => {
  const place = await makePlace();
  assert.deepEqual((await post(place, discord.signBody(place.application, PING))).body, { type: 1 });
  const [user, channel] = [newId(), newId()];
  await deploy(place, { address: user });
  const answer = await ask(place, user, channel, 'Write 3 words');
  assert.deepEqual([answer.status, answer.body], [200, { type: 5 }]);
  const [message] = await said(channel);
  assert.equal(message?.content.split(' ').length, 3);
  assert.deepEqual([message?.by, message?.allowedMentions], ['interaction', { parse: [] }]);
  const [event] = (await place.project.get('/v1/inbound_events?source=discord')).body.data;
  assert.deepEqual([event.type, event.idempotency_key, event.smith_id], ['command', answer.id, place.smithId]);
  assert.ok(!JSON.stringify(event).includes(answer.token));
  const { rows } = await platform.db.query<{ row: string }>({
    text: 'select e::text as row from inbound_events e where project_id = $1',
    values: [place.project.projectId],
  });
  assert.ok(!JSON.stringify(rows).includes(answer.token));
});

test('an interaction that is delivered twice is answered once', async () => {
  const place = await makePlace();
  const [user, channel] = [newId(), newId()];
  await deploy(place, { address: user });
  const data = { name: 'ask', options: [{ name: 'message', type: 3, value: 'Write 2 words' }] };
  const signed = discord.signBody(
    place.application,
    discord.interactionOf(place.application, { userId: user, channelId: channel, data }),
  );
  const answers = await Promise.all([post(place, signed), post(place, signed)]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
  assert.equal((await place.project.get('/v1/inbound_events')).body.data.length, 1);
});

test('/link binds whoever types it, and nobody else sees that', async () => {
  const place = await makePlace();
  const deployment = await deploy(place, { setup: {} });
  assert.equal(deployment.prefilled_message, `/link token:${deployment.start_token}`);
  const [user, channel] = [newId(), newId()];
  const data = { name: 'link', options: [{ name: 'token', type: 3, value: deployment.start_token.toUpperCase() }] };
  const answer = await discord.type(place.application, { userId: user, channelId: channel, data });
  assert.deepEqual(answer.body, { type: 5, data: { flags: 64 } });
  await said(channel);
  const bound = (await place.project.get(`/v1/deployments/${deployment.id}`)).body;
  assert.deepEqual([bound.status, bound.address], ['active', user]);
  await ask(place, user, channel, 'Write 2 words');
  const [, message] = await said(channel, 2);
  assert.equal(message?.content.split(' ').length, 2);
});

test('a file that comes along is the turn’s', async () => {
  const place = await makePlace();
  const [user, channel] = [newId(), newId()];
  await deploy(place, { address: user });
  const file = { id: '5', filename: 'cat.png', size: 5, content_type: 'image/png', url: discord.addFile('a cat') };
  const options = [
    { name: 'message', type: 3, value: 'Look' },
    { name: 'file', type: 11, value: '5' },
  ];
  await ask(place, user, channel, '', { options, resolved: { attachments: { 5: file } } });
  await said(channel);
  const [run] = (await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data;
  const [, image] = run.input[0].content;
  assert.equal((await place.project.get(`/v1/files/${image.file_id}/content`)).text, 'a cat');
});

test('what is asked while an answer is written is answered together, and shows nothing that never ends', async () => {
  const place = await makePlace({ model: FAKE_MODEL });
  await useUpstream(place.project, upstream);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith([
    { type: 'answer', deltas: ['First.'], held },
    { type: 'answer', deltas: ['Both.'] },
  ]);
  const [user, channel] = [newId(), newId()];
  await deploy(place, { address: user });
  await ask(place, user, channel, 'One');
  await upstream.waitForRequests(1);
  await ask(place, user, channel, 'Two');
  await ask(place, user, channel, 'Three');
  release();
  const [, last] = await said(channel, 2);
  assert.equal(last?.content, 'Both.');
  assert.deepEqual(sentTexts(upstream).slice(-2), ['user: Two', 'user: Three']);
  await eventually(
    () => (discord.messagesIn(channel).every(({ content }) => content !== '') ? true : undefined),
    'nothing is left that waits',
  );
  assert.equal(discord.messagesIn(channel).length, 2);
});

test('/stop ends the answer, and says so in its place', async () => {
  const place = await makePlace();
  const [user, channel] = [newId(), newId()];
  await deploy(place, { address: user });
  await ask(place, user, channel, 'Write 1000 words at 5 words per second');
  await begun(place);
  const answer = await ask(place, user, channel, '/stop');
  assert.deepEqual([answer.body.type, answer.body.data.flags], [4, 64]);
  const messages = await said(channel);
  assert.deepEqual(
    messages.map(({ content, by }) => [content, by]),
    [['Stopped.', 'interaction']],
  );
});

test('whom nobody claims is told so, and begins nothing', async () => {
  const place = await makePlace();
  const answer = await ask(place, newId(), newId(), 'Hello');
  assert.deepEqual([answer.body.type, answer.body.data.flags], [4, 64]);
  const [event] = (await place.project.get('/v1/inbound_events')).body.data;
  assert.deepEqual([event.type, event.smith_id], ['unbound_message', null]);
});

test('a command that somebody else registered is answered', async () => {
  const place = await makePlace();
  const answer = await discord.type(place.application, {
    userId: newId(),
    channelId: newId(),
    data: { name: 'other' },
  });
  assert.equal(answer.body.type, 4);
});

test('what the application has not signed just now is refused', async () => {
  const [place, other] = [await makePlace(), await makePlace()];
  const { bytes, headers } = discord.signBody(place.application, PING);
  const signature = headers['x-signature-ed25519'] ?? '';
  const now = Math.floor(Date.now() / 1_000);
  for (const name of ['x-signature-ed25519', 'x-signature-timestamp']) {
    const { [name]: _left, ...rest } = headers;
    assertRefusal(await post(place, { bytes, headers: rest }), 401, 'missing_signature');
  }
  const refused = [
    await post(place, { bytes: Buffer.concat([bytes, Buffer.from(' ')]), headers }),
    await post(place, { bytes, headers: { ...headers, 'x-signature-ed25519': signature.slice(2) } }),
    await post(place, { bytes, headers: { ...headers, 'x-signature-ed25519': `${signature}, ${signature}` } }),
    await post(place, discord.signBody(place.application, PING, 'now')),
    await post(place, discord.signBody(place.application, PING, String(now - 301))),
    await post(place, discord.signBody(place.application, PING, String(now + 3_600))),
    await post(other, { bytes, headers }),
    await post({ project: { ...place.project, projectId: 'proj_nobody' } }, { bytes, headers }),
  ];
  for (const answer of refused) assertRefusal(answer, 401, 'bad_signature');
});

test('signed bytes that are no JSON, or too many, are refused', async () => {
  const place = await makePlace();
  for (const bytes of [Buffer.from('{'), Buffer.from([0x22, 0xff, 0x22]), Buffer.alloc(0)]) {
    assertRefusal(await post(place, discord.signBody(place.application, bytes)), 422, 'bad_webhook');
  }
  const large = discord.signBody(place.application, Buffer.alloc(10 * 1024 * 1024, 0x20));
  assertRefusal(await post(place, large), 413, 'payload_too_large');
});

test('without an application nothing is deployed', async () => {
  const project = await platform.createProject();
  const target = { type: 'smith', id: await project.createSmith() };
  const answer = await project.post('/v1/deployments', { target, kind: 'discord', address: newId() });
  assertRefusal(answer, 422, 'empty_config');
});
