import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { WebSocket } from 'ws';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type FakePhoneNumber, mintSid, signTwilio } from '../../../../test/fakes/twilio-api.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually, smithOf } from '../../../../test/support/turns.ts';

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

function newPhone(): string {
  people += 1;
  return `+4915115${String(people).padStart(6, '0')}`;
}

async function makePlace(): Promise<Place> {
  const project = await platform.createProject();
  return { project, number: twilio.addNumber(), smithId: await project.createSmith() };
}

async function deploy({ project, smithId, number }: Place, body: object) {
  const target = { type: 'smith', id: smithId };
  const answer = await project.post('/v1/deployments', {
    target,
    kind: 'voice',
    ...twilio.settingsOf(number),
    ...body,
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

function callFrom(number: FakePhoneNumber, from: string): Record<string, string> {
  const { account_sid: AccountSid, phone_number: To } = number;
  return { CallSid: mintSid('CA'), AccountSid, From: from, To, CallStatus: 'ringing', Direction: 'inbound' };
}

async function post(path: string, fields: Record<string, string>, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(platform.url + path, { method: 'POST', headers, body: new URLSearchParams(fields) });
  const text = await response.text();
  const body = response.headers.get('content-type')?.includes('json') === true ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, body };
}

/** What Twilio is told to do with the call. */
async function ring({ project, number }: Pick<Place, 'project' | 'number'>, from: string): Promise<string> {
  const path = `/v1/voice/webhook/${project.projectId}`;
  const fields = callFrom(number, from);
  const answer = await post(path, fields, signTwilio(number.auth_token, PUBLIC_URL + path, fields));
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/xml/);
  return answer.text;
}

function relayPath({ projectId }: Pick<TestProject, 'projectId'>): string {
  return `/v1/voice/relay/${projectId}`;
}

/** The connection of a call that was rung, as ConversationRelay makes it. */
class Call {
  /** What was spoken, each time up to `last`. */
  readonly said: string[] = [''];
  tokens = 0;
  /** Twilio was told to hang up. */
  ended = false;
  readonly #socket: WebSocket;
  readonly closed: Promise<number>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.closed = once(socket, 'close').then(([code]) => Number(code));
    socket.on('message', (data) => {
      const { type, token, last } = JSON.parse(String(data));
      if (type === 'end') {
        this.ended = true;
        return;
      }
      assert.equal(type, 'text');
      this.tokens += 1;
      this.said.push(`${this.said.pop()}${token}`);
      if (last) this.said.push('');
    });
  }

  static async open({ project, number }: Pick<Place, 'project' | 'number'>, twiml: string): Promise<Call> {
    const call = await Call.connect(project, number.auth_token);
    call.send({ type: 'setup', sessionId: 'VX1', customParameters: { call: ticketOf(twiml) } });
    return call;
  }

  static async connect(project: Pick<TestProject, 'projectId'>, token: string): Promise<Call> {
    const path = relayPath(project);
    const headers = signTwilio(token, `ws://127.0.0.1:8787${path}`, {});
    const socket = new WebSocket(platform.url.replace('http', 'ws') + path, { headers });
    // Who is refused is told so at once.
    const call = new Call(socket);
    await once(socket, 'open');
    return call;
  }

  send(message: object | string): void {
    this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  ask(voicePrompt: string): void {
    this.send({ type: 'prompt', voicePrompt, lang: 'en-US', last: true });
  }

  /** The answers that were said whole. */
  async answers(count: number): Promise<readonly string[]> {
    return eventually(() => (this.said.length > count ? this.said.slice(0, -1) : undefined), `${count} answers`);
  }

  async begun(): Promise<void> {
    await eventually(() => this.tokens > 0 || undefined, 'the first word');
  }

  hangUp(): void {
    this.#socket.close();
  }
}

function ticketOf(twiml: string): string {
  return /<Parameter name="call" value="([^"]+)"/.exec(twiml)?.[1] ?? assert.fail(twiml);
}

function wordsIn(text: string | undefined): number {
  return text?.trim().split(/\s+/).length ?? 0;
}

async function runsOf({ project, smithId }: Pick<Place, 'project' | 'smithId'>) {
  return (await project.get(`/v1/smiths/${smithId}/runs`)).body.data;
}

async function eventsOf({ project }: Pick<Place, 'project'>) {
  return (await project.get('/v1/inbound_events?source=voice')).body.data;
}

test('a caller is connected, and each thing that they say is a turn in the call’s thread', async () => {
  const place = await makePlace();
  const phone = newPhone();
  const deployment = await deploy(place, { address: phone });
  const twiml = await ring(place, phone);
  const url = `ws://127.0.0.1:8787${relayPath(place.project)}`;
  assert.match(
    twiml,
    new RegExp(`<Connect><ConversationRelay url="${url}" welcomeGreeting="[^"]+" dtmfDetection="true">`),
  );
  const call = await Call.open(place, twiml);
  call.ask('Write 30 words');
  call.ask('Write 2 words');
  const [first, second] = await call.answers(2);
  assert.deepEqual([wordsIn(first), wordsIn(second)], [30, 2]);
  assert.ok(call.tokens > 2, 'words are said as they come');
  const [later, earlier] = await runsOf(place);
  assert.equal(later.thread_id, earlier.thread_id);
  const events = await eventually(async () => {
    const found = await eventsOf(place);
    return found.length === 2 ? found : undefined;
  }, 'two inbound events');
  assert.deepEqual(events[1].data, { voicePrompt: 'Write 30 words', lang: 'en-US' });
  assert.deepEqual([events[1].type, events[1].smith_id, events[1].subject], ['message', place.smithId, phone]);
  const [inbound] = (await place.project.get('/v1/events?type=deployment.inbound')).body.data;
  assert.deepEqual(inbound.data, {
    kind: 'voice',
    channel_id: deployment.id,
    triggered_run_id: later.id,
    inbound_event_id: events[0].id,
  });
  call.hangUp();
  const again = await Call.open(place, await ring(place, phone));
  again.ask('Write 2 words');
  await again.answers(1);
  assert.notEqual((await runsOf(place))[0].thread_id, later.thread_id, 'another call has a thread of its own');
  again.hangUp();
});

test('marks are not spoken', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  const call = await Call.open(place, await ring(place, phone));
  call.ask('Say **bold** and [a link](https://example.com)');
  const [said] = await call.answers(1);
  assert.match(said ?? '', /bold and a link/);
  assert.doesNotMatch(said ?? '', /[*\]]/);
  call.hangUp();
});

test('who speaks into the answer cancels it, and what waits behind it', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  const call = await Call.open(place, await ring(place, phone));
  call.ask('Write 5000 words at 20 words per second');
  await call.begun();
  call.ask('Write 7 words');
  call.send({ type: 'interrupt', utteranceUntilInterrupt: 'amber', durationUntilInterruptMs: 460 });
  call.ask('Write 3 words');
  const said = await call.answers(1);
  const runs = await runsOf(place);
  assert.deepEqual(
    runs.map(({ status }: { status: string }) => status),
    ['completed', 'cancelled'],
  );
  assert.ok(said[0]?.endsWith(runs[0].output.content), said[0]);
  call.hangUp();
});

test('a call that ends leaves its turn, which ends in the smith’s history', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  const call = await Call.open(place, await ring(place, phone));
  call.ask('Write 40 words at 40 words per second');
  await call.begun();
  call.hangUp();
  await call.closed;
  const [run] = await runsOf(place);
  const settled = await smithOf(place.project, place.smithId).settled(run.id);
  assert.deepEqual([settled.status, wordsIn(settled.output.content)], ['completed', 40]);
});

test('a busy smith is waited for', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  const smith = smithOf(place.project, place.smithId);
  const busy = await smith.begin('Write 20 words at 40 words per second');
  const call = await Call.open(place, await ring(place, phone));
  call.ask('Write 2 words');
  assert.equal(wordsIn((await call.answers(1))[0]), 2);
  assert.equal((await smith.get(busy)).status, 'completed');
  call.hangUp();
});

test('keys that are pressed are told together', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  const call = await Call.open(place, await ring(place, phone));
  for (const digit of ['4', '2', '#']) call.send({ type: 'dtmf', digit });
  await call.answers(1);
  const [run] = await runsOf(place);
  assert.equal(run.input[0].content, '[Keys pressed: 4 2]');
  call.hangUp();
});

test('a turn that fails, or cannot begin, is one neutral sentence', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  const call = await Call.open(place, await ring(place, phone));
  call.ask('Fail with 400');
  const [failed] = await call.answers(1);
  assert.match(failed ?? '', /^Sorry, there is no answer/);
  assert.equal((await place.project.delete(`/v1/smiths/${place.smithId}`)).status, 204);
  call.ask('Write 2 words');
  const [, refused] = await call.answers(2);
  assert.equal(refused, failed);
  const [event] = await eventsOf(place);
  assert.equal(event.data.voicePrompt, 'Write 2 words');
  call.hangUp();
});

test('an agent has a smith for each caller; who shows no number, and whom nobody claims, is rejected', async () => {
  const place = await makePlace();
  const [own, other] = [newPhone(), newPhone()];
  await deploy(place, { address: own });
  assert.match(await ring(place, other), /<Response><Reject\/><\/Response>/);
  const [unbound] = await eventsOf(place);
  assert.deepEqual([unbound.type, unbound.subject, unbound.smith_id], ['unbound_message', other, null]);
  const agent = (await place.project.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' })).body;
  assert.equal((await place.project.post(`/v1/agents/${agent.id}/versions`, {})).status, 201);
  await deploy(place, { target: { type: 'agent', id: agent.id } });
  const call = await Call.open(place, await ring(place, other));
  call.ask('Write 2 words');
  await call.answers(1);
  const query = `external_id=${encodeURIComponent(`voice:${other}`)}`;
  assert.equal((await place.project.get(`/v1/smiths?${query}`)).body.data[0].agent_id, agent.id);
  for (const hidden of ['+266696687', 'anonymous', '']) assert.match(await ring(place, hidden), /<Reject\/>/);
  call.hangUp();
});

test('a hundred calls of a project are taken at once, and one more is told to call again', async () => {
  const place = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  const connect = () => Call.connect(place.project, place.number.auth_token);
  const calls = await Promise.all(Array.from({ length: 99 }, connect));
  const last = await Call.open(place, await ring(place, phone));
  last.ask('Write 2 words');
  await last.answers(1);
  const twiml = await ring(place, phone);
  assert.match(twiml, /<Response><Say>Sorry, [^<]+<\/Say><\/Response>/);
  const refused = await connect();
  assert.equal(await refused.closed, 1000);
  assert.match(refused.said[0] ?? '', /^Sorry, /);
  assert.equal(refused.ended, true);
  last.hangUp();
  await last.closed;
  await eventually(async () => ((await ring(place, phone)).includes('<Connect>') ? true : undefined), 'there is room');
  for (const call of calls) call.hangUp();
  await Promise.all(calls.map(({ closed }) => closed));
});

test('a call or a connection that the account has not signed is refused', async () => {
  const place = await makePlace();
  const other = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  await deploy(other, { address: phone });
  const path = `/v1/voice/webhook/${place.project.projectId}`;
  const fields = callFrom(place.number, phone);
  assertRefusal(await post(path, fields, {}), 401, 'missing_signature');
  const forged = signTwilio(other.number.auth_token, PUBLIC_URL + path, fields);
  assertRefusal(await post(path, fields, forged), 401, 'bad_signature');
  const upgrade = relayPath(place.project);
  const wss = `ws://127.0.0.1:8787${upgrade}`;
  const good = signTwilio(place.number.auth_token, wss, {})['x-twilio-signature'];
  const refused = [
    signTwilio(other.number.auth_token, wss, {}),
    signTwilio(place.number.auth_token, PUBLIC_URL + upgrade, {}),
    { 'x-twilio-signature': `${good}, ${good}` },
    { 'x-twilio-signature': good.slice(0, -1) },
  ];
  for (const headers of refused) {
    const socket = new WebSocket(platform.url.replace('http', 'ws') + upgrade, { headers });
    const [, response] = await once(socket, 'unexpected-response');
    assert.equal(response.statusCode, 401);
    socket.on('error', () => undefined).terminate();
  }
});

test('a connection that is no call of the project’s, or says nothing that is known, is closed', async () => {
  const place = await makePlace();
  const other = await makePlace();
  const phone = newPhone();
  await deploy(place, { address: phone });
  await deploy(other, { address: phone });
  const foreign = ticketOf(await ring(other, phone));
  const own = ticketOf(await ring(place, phone));
  const firsts: readonly [message: object | string, code: number][] = [
    [{ type: 'prompt', voicePrompt: 'Hello', last: true }, 1008],
    [{ type: 'setup' }, 1008],
    [{ type: 'setup', customParameters: { call: 'v1.x.y' } }, 1008],
    [{ type: 'setup', customParameters: { call: foreign } }, 1008],
    [{ type: 'setup', customParameters: { call: own.slice(0, -4) } }, 1008],
    ['no JSON', 1007],
    ['[]', 1007],
    ['{"type":7}', 1007],
    ['x'.repeat(65 * 1024), 1009],
  ];
  for (const [message, code] of firsts) {
    const call = await Call.connect(place.project, place.number.auth_token);
    call.send(message);
    assert.equal(await call.closed, code, JSON.stringify(message).slice(0, 80));
  }
  assert.deepEqual(await runsOf(place), []);
});
