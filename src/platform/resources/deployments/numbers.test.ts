import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import type { FakePhoneNumber } from '../../../../test/fakes/twilio-api.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';
import { mintId } from '../../../kernel/ids/ids.ts';

const PUBLIC_URL = 'https://example.com/base';
const platform = await startPlatform({ publicUrl: PUBLIC_URL });
after(() => platform.close());
const { twilio } = platform;
const project = await platform.createProject();
const smithId = await project.createSmith();
const toSmith = { type: 'smith', id: smithId };

let people = 0;

function newPhone(): string {
  people += 1;
  return `+4915114${String(people).padStart(6, '0')}`;
}

function create(number: FakePhoneNumber, body: object = {}, caller: Pick<TestProject, 'post'> = project) {
  const one = { target: toSmith, kind: 'sms', address: newPhone() };
  return caller.post('/v1/deployments', { ...one, ...twilio.settingsOf(number), ...body });
}

async function created(number: FakePhoneNumber, body: object = {}, caller: Pick<TestProject, 'post'> = project) {
  const answer = await create(number, body, caller);
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

async function makeAgent(): Promise<string> {
  const agent = (await project.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' })).body;
  assert.equal((await project.post(`/v1/agents/${agent.id}/versions`, {})).status, 201);
  return agent.id;
}

/** What Twilio was told of the number, once it was told something else. */
function told(number: FakePhoneNumber, url: string): Promise<true> {
  return eventually(() => (number.sms_url === url ? true : undefined), `Twilio to be told ${url || 'nothing'}`);
}

test('a number is shown without its token, which is sealed', async () => {
  const number = twilio.addNumber();
  const answer = await create(number, { address: '+4930901820' });
  assert.equal(answer.status, 201, answer.text);
  const { id } = answer.body;
  assert.deepEqual(answer.body, {
    id,
    target: toSmith,
    kind: 'sms',
    address: '+4930901820',
    provider: 'twilio',
    provider_metadata: { account_sid: number.account_sid, number: number.phone_number, api_base_url: twilio.url },
    secret_keys: ['auth_token'],
    mcp_url: '',
    page_url: '',
    status: 'active',
    created_at: answer.body.created_at,
  });
  const shown = await project.get(`/v1/deployments/${id}`);
  assert.deepEqual(shown.body, answer.body);
  const { rows } = await platform.db.query<{ row: string }>({
    text: 'select d::text as row from deployments d where id = $1',
    values: [id],
  });
  assert.ok(!`${answer.text}${shown.text}${rows[0]?.row}`.includes(number.auth_token));
});

test('Twilio is told where to bring messages, until nothing is deployed there any more', async () => {
  const number = twilio.addNumber();
  const url = `${PUBLIC_URL}/v1/sms/webhook/${project.projectId}`;
  const [first, second] = [await created(number), await created(number)];
  await told(number, url);
  assert.equal((await project.delete(`/v1/deployments/${first.id}`)).status, 204);
  assert.equal((await project.delete(`/v1/deployments/${second.id}`)).status, 204);
  await told(number, '');
  // Twilio's bad moments do not keep it from being told.
  twilio.failNext(new RegExp(`GET .*${number.account_sid}`), {
    status: 200,
    body: { incoming_phone_numbers: [number] },
  });
  twilio.failNext(new RegExp(`POST .*${number.account_sid}`), { status: 503 });
  const third = await created(number);
  await told(number, url);
  // An address that is somebody else's by then stays.
  number.sms_url = 'https://elsewhere.example/sms';
  const looks = () => twilio.calls.filter(({ url }) => url.pathname.includes(number.account_sid)).length;
  const before = looks();
  assert.equal((await project.delete(`/v1/deployments/${third.id}`)).status, 204);
  await eventually(() => looks() > before || undefined, 'a look at the number');
  assert.equal(number.sms_url, 'https://elsewhere.example/sms');
});

test('a number that is called is told of apart from its messages', async () => {
  const number = twilio.addNumber();
  const before = number.sms_url;
  const voice = await created(number, { kind: 'voice' });
  const url = `${PUBLIC_URL}/v1/voice/webhook/${project.projectId}`;
  await eventually(() => number.voice_url === url || undefined, 'Twilio to be told');
  assert.equal((await project.delete(`/v1/deployments/${voice.id}`)).status, 204);
  await eventually(() => number.voice_url === '' || undefined, 'Twilio to be told');
  assert.equal(number.sms_url, before);
  const mute = twilio.addNumber({ sms: true, voice: false });
  assertRefusal(await create(mute, { kind: 'voice' }), 422, 'invalid_request', 'provider_metadata.number');
});

test('the token that a number was deployed with last is the one that holds', async () => {
  const number = twilio.addNumber();
  const before = await created(number);
  await told(number, `${PUBLIC_URL}/v1/sms/webhook/${project.projectId}`);
  Object.assign(number, { auth_token: 'b'.repeat(32) });
  const after = await created(number);
  assert.equal((await project.delete(`/v1/deployments/${after.id}`)).status, 204);
  Object.assign(number, { auth_token: 'c'.repeat(32) });
  const last = await created(number);
  assert.equal((await project.delete(`/v1/deployments/${before.id}`)).status, 204);
  assert.equal((await project.delete(`/v1/deployments/${last.id}`)).status, 204);
  await told(number, '');
});

test('a number is one project’s, an address one deployment’s, and all others one agent’s', async () => {
  const number = twilio.addNumber();
  const address = newPhone();
  const { id } = await created(number, { address });
  assertRefusal(await create(number, { address }), 409, 'address_in_use', 'address');
  await created(twilio.addNumber(), { address });
  const target = { type: 'agent', id: await makeAgent() };
  await created(number, { target, address: null });
  assertRefusal(await create(number, { target, address: null }), 409, 'catch_all_exists', 'target');
  const other = await platform.createProject();
  const theirs = { target: { type: 'smith', id: await other.createSmith() } };
  assertRefusal(await create(number, theirs, other), 409, 'address_in_use', 'provider_metadata.number');
  for (const deployment of (await project.get('/v1/deployments?limit=100')).body.data) {
    if (deployment.provider_metadata.number !== number.phone_number) continue;
    assert.equal((await project.delete(`/v1/deployments/${deployment.id}`)).status, 204);
  }
  await created(number, { ...theirs, address }, other);
  assertRefusal(await project.get(`/v1/deployments/${id}`), 404, 'not_found');
});

test('two projects that take a number at once: one has it', async () => {
  const number = twilio.addNumber();
  const owners = await Promise.all([platform.createProject(), platform.createProject()]);
  const answers = await Promise.all(
    owners.map(async (owner) => create(number, { target: { type: 'smith', id: await owner.createSmith() } }, owner)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409]);
});

test('what is wrong with it is told', async () => {
  const number = twilio.addNumber();
  const { provider_metadata: metadata, secrets } = twilio.settingsOf(number);
  const wrong: readonly [body: object, code: string, param: string][] = [
    [{ provider: null }, 'unsupported', 'provider'],
    [{ provider: 'vonage' }, 'unsupported', 'provider'],
    [{ provider_metadata: { ...metadata, account_sid: 'AC1' } }, 'invalid_request', 'provider_metadata.account_sid'],
    [{ provider_metadata: { ...metadata, number: '030 901820' } }, 'invalid_request', 'provider_metadata.number'],
    [{ provider_metadata: { ...metadata, number: '+15559999999' } }, 'invalid_request', 'provider_metadata.number'],
    [{ provider_metadata: { ...metadata, colour: 'red' } }, 'invalid_request', 'provider_metadata.colour'],
    [{ provider_metadata: { ...metadata, api_base_url: 'here' } }, 'invalid_url', 'provider_metadata.api_base_url'],
    [
      { provider_metadata: { ...metadata, api_base_url: 'https://169.254.169.254' } },
      'invalid_url',
      'provider_metadata.api_base_url',
    ],
    [{ secrets: {} }, 'invalid_request', 'secrets.auth_token'],
    [{ secrets: { auth_token: 7 } }, 'invalid_request', 'secrets.auth_token'],
    [{ secrets: { auth_token: 'another-token' } }, 'invalid_request', 'secrets.auth_token'],
    [{ secrets: { ...secrets, password: 'x' } }, 'invalid_request', 'secrets.password'],
    [{ address: null }, 'address_required', 'address'],
  ];
  for (const [body, code, param] of wrong) assertRefusal(await create(number, body), 422, code, param);
  const mute = twilio.addNumber({ sms: false, voice: true });
  assertRefusal(await create(mute), 422, 'invalid_request', 'provider_metadata.number');
  assertRefusal(await create(number, { target: { type: 'smith', id: mintId('smt') } }), 404, 'not_found', 'target.id');
  twilio.failNext(/IncomingPhoneNumbers/, { status: 503 });
  assertRefusal(await create(number), 502, 'connect_failed');
  const renamed = await project.patch(`/v1/deployments/${(await created(number)).id}`, { display_name: 'Ada' });
  assertRefusal(renamed, 422, 'rename_unsupported', 'display_name');
});

test('a smith token deploys a number for its own smith', async () => {
  const smith = project.as(await project.smithToken(smithId, ['deployments:write', 'deployments:read', 'runs:read']));
  const number = twilio.addNumber();
  await created(number, {}, smith);
  const another = twilio.addNumber();
  const target = { type: 'smith', id: await project.createSmith() };
  assertRefusal(await create(another, { target }, smith), 403, 'forbidden_target', 'target.id');
  const asked = twilio.calls.filter(({ url }) => url.pathname.includes(another.account_sid));
  assert.deepEqual(asked, [], 'Twilio is not asked for a target that is refused');
});

test('a deployment that is made again with its key is not looked up again', async () => {
  const number = twilio.addNumber();
  const body = { target: toSmith, kind: 'sms', address: newPhone(), ...twilio.settingsOf(number) };
  const headers = { 'idempotency-key': mintId('key') };
  const first = await project.post('/v1/deployments', body, headers);
  Object.assign(number, { auth_token: 'd'.repeat(32) });
  const again = await project.post('/v1/deployments', body, headers);
  assert.deepEqual([again.status, again.body], [first.status, first.body]);
});
