import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type FakePhoneNumber, signTwilio, smsTo } from '../../../../test/fakes/twilio-api.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';

/** Under which clients reach the shared server of tests. */
const PUBLIC_URL = 'http://127.0.0.1:8787';
const platform = await startPlatform();
after(() => platform.close());
const { twilio } = platform;

interface Place {
  readonly project: TestProject;
  readonly number: FakePhoneNumber;
  readonly smithId: string;
}

let people = 0;

/** Nobody has written from it before. */
function newPhone(): string {
  people += 1;
  return `+4915113${String(people).padStart(6, '0')}`;
}

async function makePlace(): Promise<Place> {
  const project = await platform.createProject();
  return { project, number: twilio.addNumber(), smithId: await project.createSmith() };
}

async function deploy({ project, smithId, number }: Place, body: object) {
  const target = { type: 'smith', id: smithId };
  const answer = await project.post('/v1/deployments', { target, kind: 'sms', ...twilio.settingsOf(number), ...body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

async function makeAgent(project: TestProject): Promise<string> {
  const agent = (await project.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' })).body;
  assert.equal((await project.post(`/v1/agents/${agent.id}/versions`, {})).status, 201);
  return agent.id;
}

function pathOf({ projectId }: Pick<TestProject, 'projectId'>): string {
  return `/v1/sms/webhook/${projectId}`;
}

async function post(path: string, body: string | Buffer, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(platform.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8', ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

async function deliver(
  { project, number }: Pick<Place, 'project' | 'number'>,
  fields: Record<string, string>,
  query = '',
) {
  const path = pathOf(project) + query;
  const headers = signTwilio(number.auth_token, PUBLIC_URL + path, fields);
  const answer = await post(path, new URLSearchParams(fields).toString(), headers);
  assert.deepEqual([answer.status, answer.text], [200, '<?xml version="1.0" encoding="UTF-8"?><Response/>']);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/xml/);
}

async function answered(phone: string, count = 1): Promise<readonly string[]> {
  const answers = () => twilio.delivered.filter(({ to }) => to === phone).map(({ body }) => body);
  return eventually(() => (answers().length >= count ? answers() : undefined), `${count} answers to ${phone}`);
}

async function eventsOf({ project }: Place) {
  return (await project.get('/v1/inbound_events?source=sms')).body.data;
}

test('a message is answered once, however often it is delivered', async () => {
  const place = await makePlace();
  const phone = newPhone();
  const deployment = await deploy(place, { address: phone });
  assert.deepEqual([deployment.status, deployment.address, deployment.secret_keys], ['active', phone, ['auth_token']]);
  const fields = smsTo(place.number, phone, 'Write 3 words');
  await Promise.all([deliver(place, fields), deliver(place, fields), deliver(place, fields)]);
  const [first] = await answered(phone);
  assert.equal(first?.split(' ').length, 3);
  await deliver(place, fields);
  await deliver(place, smsTo(place.number, phone, 'Write 4 words'), '?from=a%20query&of=ours');
  const [, second, ...more] = await answered(phone, 2);
  assert.deepEqual([second?.split(' ').length, more], [4, []]);
  const events = await eventsOf(place);
  assert.deepEqual(
    events
      .map((event: { idempotency_key: string; smith_id: string }) => [event.idempotency_key, event.smith_id])
      .at(-1),
    [fields.MessageSid, place.smithId],
  );
  assert.equal(events.length, 2);
});

test('whoever sends the prefilled message is bound, in any letter case', async () => {
  const place = await makePlace();
  const deployment = await deploy(place, { setup: {} });
  assert.equal(deployment.status, 'pending');
  const { phone_number } = place.number;
  const body = encodeURIComponent(deployment.prefilled_message);
  assert.equal(deployment.deep_link, `sms:${phone_number}?&body=${body}`);
  assert.match(deployment.prefilled_message, new RegExp(deployment.start_token));
  const phone = newPhone();
  await deliver(place, smsTo(place.number, phone, `Hi! ${deployment.prefilled_message.toUpperCase()}`));
  await answered(phone);
  const bound = (await place.project.get(`/v1/deployments/${deployment.id}`)).body;
  assert.deepEqual([bound.status, bound.address], ['active', phone]);
  const events = (await place.project.get('/v1/events?type=deployment.bound')).body.data;
  assert.deepEqual(events[0].data, { kind: 'sms', channel_id: deployment.id, address: phone });
  await deliver(place, smsTo(place.number, phone, 'Write 2 words'));
  assert.equal((await answered(phone, 2))[1]?.split(' ').length, 2);
});

test('an agent has a smith for each sender, beside those of one person', async () => {
  const place = await makePlace();
  const [own, other] = [newPhone(), newPhone()];
  await deploy(place, { address: own });
  const agentId = await makeAgent(place.project);
  await deploy(place, { target: { type: 'agent', id: agentId } });
  await deliver(place, smsTo(place.number, own, 'Write 2 words'));
  await deliver(place, smsTo(place.number, other, 'Write 2 words'));
  await Promise.all([answered(own), answered(other)]);
  const events = await eventsOf(place);
  const query = `external_id=${encodeURIComponent(`sms:${other}`)}`;
  const [smith] = (await place.project.get(`/v1/smiths?${query}`)).body.data;
  assert.equal(smith.agent_id, agentId);
  assert.deepEqual(
    events.map(({ smith_id }: { smith_id: string }) => smith_id).sort(),
    [place.smithId, smith.id].sort(),
  );
  const inbound = (await place.project.get('/v1/events?type=deployment.inbound')).body.data;
  assert.deepEqual(Object.keys(inbound[0].data).sort(), ['channel_id', 'inbound_event_id', 'kind', 'triggered_run_id']);
});

test('somebody whom nobody claims is noted and not answered, and so is what Twilio answers itself', async () => {
  const place = await makePlace();
  const [own, other] = [newPhone(), newPhone()];
  await deploy(place, { address: own });
  await deliver(place, smsTo(place.number, other, 'Is anybody there?'));
  for (const word of ['STOP', 'help']) await deliver(place, smsTo(place.number, own, word));
  const [, , event, ...more] = await eventsOf(place);
  assert.deepEqual([event.type, event.smith_id, event.subject, more], ['unbound_message', null, other, []]);
  assert.deepEqual(
    (await eventsOf(place)).map(({ type }: { type: string }) => type),
    ['keyword', 'keyword', 'unbound_message'],
  );
  assert.deepEqual((await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data, []);
});

test('two smiths do not keep each other talking', async () => {
  const [place, other] = [await makePlace(), await makePlace()];
  await deploy(place, { address: other.number.phone_number });
  await deploy(other, { address: newPhone() });
  await deliver(place, smsTo(place.number, other.number.phone_number, 'Write 2 words'));
  const [event] = await eventsOf(place);
  assert.equal(event.type, 'automatic');
  assert.deepEqual((await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data, []);
});

test('a picture is a file of the smith’s turn', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  const url = twilio.addMedia({ mediaType: 'image/png', text: 'a cat' });
  const media = { NumMedia: '1', MediaUrl0: url, MediaContentType0: 'image/png' };
  await deliver(place, smsTo(place.number, phone, 'My cat', media));
  await answered(phone);
  const [run] = (await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data;
  const [, image] = run.input[0].content;
  assert.equal((await place.project.get(`/v1/files/${image.file_id}/content`)).text, 'a cat');
  assert.doesNotMatch(JSON.stringify(await eventsOf(place)), /Media\/ME/);
});

test('Twilio’s bad moments cost time, and no answer', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  twilio.failNext(new RegExp(`POST .*${place.number.account_sid}/Messages`), { status: 500 }, 'cut after');
  await deliver(place, smsTo(place.number, phone, 'Write 2 words'));
  assert.equal((await answered(phone)).length, 1);
  // It was looked up: sent again it would have come twice.
  await deliver(place, smsTo(place.number, phone, 'Write 3 words'));
  const answers = await answered(phone, 2);
  assert.deepEqual(
    answers.map((text) => text.split(' ').length),
    [2, 3],
  );
});

test('a call that the account has not signed is refused, and says nothing of what is known', async () => {
  const place = await makePlace();
  const other = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  await deploy(other, { address: phone });
  const fields = smsTo(place.number, phone, 'Hi');
  const body = new URLSearchParams(fields).toString();
  const path = pathOf(place.project);
  const sign = (url: string, token = place.number.auth_token, signed = fields) => signTwilio(token, url, signed);
  const good = sign(PUBLIC_URL + path);
  const [signature] = Object.values(good);
  assertRefusal(await post(path, body, {}), 401, 'missing_signature');
  const refused = [
    await post(path, `${body}&Extra=1`, good),
    await post(path, body, { 'x-twilio-signature': `${signature}, ${signature}` }),
    await post(path, body, { 'x-twilio-signature': String(signature).slice(0, -2) }),
    await post(path, body, sign(platform.url + path)),
    await post(`${path}?a=1`, body, good),
    await post(path, body, sign(PUBLIC_URL + path, other.number.auth_token)),
    // Well signed by one project, and of another's number.
    await post(path, new URLSearchParams(smsTo(other.number, phone, 'Hi')).toString(), good),
    await post(pathOf(other.project), body, sign(PUBLIC_URL + pathOf(other.project))),
    await post('/v1/sms/webhook/proj_nobody', body, sign(`${PUBLIC_URL}/v1/sms/webhook/proj_nobody`)),
    await post(path, '{"Body":"Hi"}', { ...good, 'content-type': 'application/json' }),
    await post(path, Buffer.from([0xff, 0xfe, 0x00]), good),
  ];
  for (const answer of refused) assertRefusal(answer, 401, 'bad_signature');
  assert.equal(new Set(refused.map(({ body: { error } }) => error.message)).size, 1);
  assertRefusal(await post(path, Buffer.alloc(10 * 1024 * 1024, 0x61), good), 413, 'payload_too_large');
  assert.deepEqual([await eventsOf(place), await eventsOf(other)], [[], []]);
});
