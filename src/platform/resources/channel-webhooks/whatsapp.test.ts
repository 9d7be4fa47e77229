import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import {
  changeOf,
  type FakeNumber,
  signatureOf,
  signWebhook,
  textFrom,
} from '../../../../test/fakes/whatsapp-graph.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';

const WEBHOOK = '/v1/whatsapp/webhook';
const platform = await startPlatform();
after(() => platform.close());
const { graph } = platform;

interface Place {
  readonly project: TestProject;
  readonly number: FakeNumber;
  readonly smithId: string;
}

let people = 0;

/** Nobody has written from it before. */
function newPhone(): string {
  people += 1;
  return `4915112${String(people).padStart(6, '0')}`;
}

async function makePlace(more: object = {}): Promise<Place> {
  const project = await platform.createProject();
  const number = graph.addNumber();
  const saved = await project.put('/v1/tenant/whatsapp', { ...graph.bodyOf(number), ...more });
  assert.equal(saved.status, 200, saved.text);
  return { project, number, smithId: await project.createSmith() };
}

async function deploy({ project, smithId }: Place, body: object) {
  const target = { type: 'smith', id: smithId };
  const answer = await project.post('/v1/deployments', { target, kind: 'whatsapp', ...body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

async function post(bytes: Buffer, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(platform.url + WEBHOOK, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: new Uint8Array(bytes),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

async function deliver({ number }: Pick<Place, 'number'>, value: object, options: { readonly escaped?: boolean } = {}) {
  const { bytes, headers } = signWebhook([changeOf(number, value)], number.app_secret, options);
  const answer = await post(bytes, headers);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body, { received: true });
}

function answersTo(phone: string): readonly { readonly message: { readonly text: { readonly body: string } } }[] {
  return graph.delivered.filter(({ to }) => to === phone);
}

async function answered(phone: string, count = 1) {
  return eventually(
    () => (answersTo(phone).length >= count ? answersTo(phone) : undefined),
    `${count} answers to ${phone}`,
  );
}

async function eventsOf({ project }: Place) {
  return (await project.get('/v1/inbound_events?source=whatsapp')).body.data;
}

test('Meta is answered with its challenge where a project has the token', async () => {
  const token = `a token of ${newPhone()}`;
  await makePlace({ verify_token: token });
  const ask = (query: Record<string, string>) => fetch(`${platform.url}${WEBHOOK}?${new URLSearchParams(query)}`);
  const good = { 'hub.mode': 'subscribe', 'hub.verify_token': token, 'hub.challenge': '1158201444' };
  const answer = await ask(good);
  assert.deepEqual([answer.status, await answer.text()], [200, '1158201444']);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
  for (const wrong of ['another', '', `${token} `]) {
    const refused = await ask({ ...good, 'hub.verify_token': wrong });
    assert.deepEqual([refused.status, /"code":"(\w+)"/.exec(await refused.text())?.[1]], [403, 'verification_failed']);
  }
  for (const query of [{}, { ...good, 'hub.mode': 'unsubscribe' }]) assert.equal((await ask(query)).status, 403);
});

test('a message is answered once, however often it is delivered', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: `+${phone}` });
  const value = textFrom(phone, 'Write 3 words');
  await Promise.all([deliver(place, value), deliver(place, value), deliver(place, value)]);
  const [first] = await answered(phone);
  assert.equal(first?.message.text.body.split(' ').length, 3);
  await deliver(place, value);
  await deliver(place, textFrom(phone, 'Write 4 words'));
  const [, second] = await answered(phone, 2);
  assert.equal(second?.message.text.body.split(' ').length, 4);
  const events = await eventsOf(place);
  assert.equal(events.length, 2);
  assert.equal(events[1].idempotency_key, value.messages[0].id);
  assert.equal(events[1].smith_id, place.smithId);
  assert.equal(answersTo(phone).length, 2);
});

test('what is beyond ASCII may be signed escaped', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: `+${phone}` });
  await deliver(place, textFrom(phone, 'Schöne Grüße 👋'), { escaped: true });
  const [answer] = await answered(phone);
  assert.match(answer?.message.text.body ?? '', /Schöne Grüße 👋/);
});

test('whoever sends the prefilled message is bound, in any letter case', async () => {
  const place = await makePlace();
  const deployment = await deploy(place, { setup: {} });
  assert.equal(deployment.status, 'pending');
  const link = new URL(deployment.deep_link);
  assert.equal(link.origin + link.pathname, 'https://wa.me/15557838881');
  assert.equal(link.searchParams.get('text'), deployment.prefilled_message);
  const phone = newPhone();
  await deliver(place, textFrom(phone, `Hello! ${deployment.prefilled_message.toUpperCase()}`));
  await answered(phone);
  const bound = (await place.project.get(`/v1/deployments/${deployment.id}`)).body;
  assert.deepEqual([bound.status, bound.address], ['active', `+${phone}`]);
  await deliver(place, textFrom(phone, 'Write 2 words'));
  const [, answer] = await answered(phone, 2);
  assert.equal(answer?.message.text.body.split(' ').length, 2);
});

test('somebody who shows no number is answered by their id', async () => {
  const place = await makePlace();
  const agent = (await place.project.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' })).body;
  assert.equal((await place.project.post(`/v1/agents/${agent.id}/versions`, {})).status, 201);
  await deploy(place, { target: { type: 'agent', id: agent.id } });
  const user = `DE.${newPhone()}`;
  const { messages } = textFrom('x', 'Write 2 words');
  const value = { contacts: [{ profile: { name: 'Ada' }, user_id: user }], messages };
  await deliver(place, { ...value, messages: [{ ...messages[0], from: undefined, from_user_id: user }] });
  await answered(user);
  const [smith] = (await place.project.get(`/v1/smiths?external_id=${encodeURIComponent(`whatsapp:${user}`)}`)).body
    .data;
  assert.equal(smith.agent_id, agent.id);
});

test('a Brazilian number is the same with and without its ninth digit', async () => {
  for (const address of ['+5511987650001', '+551187650002']) {
    const place = await makePlace();
    const deployment = await deploy(place, { address });
    assert.equal(deployment.address, address.length === 14 ? address : '+5511987650002');
    const written = `5511${address.slice(-8)}`;
    await deliver(place, textFrom(written, 'Write 2 words'));
    await answered(written);
  }
});

test('what one project signs never speaks to another’s number', async () => {
  const [own, other] = [await makePlace(), await makePlace()];
  const [phone, victim] = [newPhone(), newPhone()];
  await deploy(own, { address: `+${phone}` });
  await deploy(other, { address: `+${victim}` });
  const stolen = changeOf(other.number, textFrom(victim, 'Write 2 words'));
  const alone = signWebhook([stolen], own.number.app_secret);
  assertRefusal(await post(alone.bytes, alone.headers), 401, 'bad_signature');
  const both = [stolen, changeOf(own.number, textFrom(phone, 'Write 2 words'))];
  const mixed = signWebhook(both, own.number.app_secret);
  assert.equal((await post(mixed.bytes, mixed.headers)).status, 200);
  await answered(phone);
  assert.deepEqual(await eventsOf(other), []);
  // Numbers that are hidden from whoever looks at the bytes.
  const hidden = Buffer.from(
    mixed.bytes.toString().replaceAll(other.number.phone_number_id, (id) => `\\u003${id[0]}${id.slice(1)}`),
  );
  assert.equal((await post(hidden, signatureOf(hidden, own.number.app_secret))).status, 200);
  assert.deepEqual(await eventsOf(other), []);
});

test('a call that no app has signed is refused, and says nothing of what is known', async () => {
  const place = await makePlace();
  const { bytes, headers } = signWebhook([changeOf(place.number, textFrom(newPhone(), 'Hi'))], place.number.app_secret);
  const good = headers['x-hub-signature-256'] ?? '';
  assertRefusal(await post(bytes, {}), 401, 'missing_signature');
  const unknown = signWebhook([changeOf(graph.addNumber(), textFrom(newPhone(), 'Hi'))], place.number.app_secret);
  const refused = [
    await post(Buffer.concat([bytes, Buffer.from(' ')]), headers),
    await post(bytes, { 'x-hub-signature-256': good.slice(0, -2) }),
    await post(bytes, { 'x-hub-signature-256': `${good}, ${good}` }),
    await post(bytes, { 'x-hub-signature-256': 'sha256=not hexadecimal' }),
    await post(unknown.bytes, unknown.headers),
    await post(Buffer.alloc(0), signatureOf(Buffer.alloc(0), place.number.app_secret)),
  ];
  for (const answer of refused) assertRefusal(answer, 401, 'bad_signature');
  assert.equal(new Set(refused.map(({ body }) => body.error.message)).size, 1);
  assert.deepEqual(await eventsOf(place), []);
});

test('signed bytes that are no JSON, or too many, are refused', async () => {
  const place = await makePlace();
  const { phone_number_id, app_secret } = place.number;
  const named = Buffer.from(`{"phone_number_id":"${phone_number_id}"`);
  for (const bytes of [named, Buffer.concat([named, Buffer.from([0x2c, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])])]) {
    assertRefusal(await post(bytes, signatureOf(bytes, app_secret)), 422, 'bad_webhook');
  }
  const deep = Buffer.from(`{"phone_number_id":"${phone_number_id}","entry":${'['.repeat(200)}${']'.repeat(200)}}`);
  assertRefusal(await post(deep, signatureOf(deep, app_secret)), 422, 'bad_webhook');
  const large = Buffer.alloc(10 * 1024 * 1024, 0x20);
  assertRefusal(await post(large, signatureOf(large, app_secret)), 413, 'payload_too_large');
});

test('states of messages begin nothing; one that could not be delivered is told', async () => {
  const place = await makePlace();
  const recipient_id = newPhone();
  const lastError = async () => (await place.project.get('/v1/tenant/whatsapp')).body.last_error;
  await deliver(place, { statuses: [{ id: 'wamid.A', status: 'read', recipient_id }] });
  assert.equal(await lastError(), null);
  const errors = [
    { code: 131047, title: 'Re-engagement message', error_data: { details: 'More than 24 hours have passed' } },
  ];
  await deliver(place, { statuses: [{ id: 'wamid.B', status: 'failed', recipient_id, errors }] });
  const { code, message } = await lastError();
  assert.deepEqual(
    [code, message],
    ['send_refused', 'WhatsApp did not deliver a message: More than 24 hours have passed'],
  );
  assert.deepEqual(await eventsOf(place), []);
});

test('a picture is a file of the smith’s turn', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: `+${phone}` });
  const id = graph.addMedia({ mediaType: 'image/png', text: 'a cat' });
  const { contacts, messages } = textFrom(phone, '');
  const picture = {
    ...messages[0],
    type: 'image',
    text: undefined,
    image: { id, mime_type: 'image/png', caption: 'My cat' },
  };
  await deliver(place, { contacts, messages: [picture] });
  await answered(phone);
  const [event] = await eventsOf(place);
  assert.equal(event.type, 'message');
  const [run] = (await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data;
  const [, image] = run.input[0].content;
  const content = await place.project.get(`/v1/files/${image.file_id}/content`);
  assert.equal(content.text, 'a cat');
});

test('Meta’s bad moments cost time, and no answer', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: `+${phone}` });
  const unavailable = { status: 500, body: { error: { code: 131000, message: 'Something went wrong' } } };
  graph.failNext(new RegExp(`POST .*${place.number.phone_number_id}/messages`), unavailable);
  await deliver(place, textFrom(phone, 'Write 2 words'));
  await answered(phone);
  assert.equal(answersTo(phone).length, 1);
});

test('without a number nothing is deployed', async () => {
  const project = await platform.createProject();
  const target = { type: 'smith', id: await project.createSmith() };
  const answer = await project.post('/v1/deployments', { target, kind: 'whatsapp', address: '+4915112345678' });
  assertRefusal(answer, 422, 'whatsapp_unconfigured');
});
