import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type FakeSlackApp, newSlackId, newTs, type SignedCall } from '../../../../test/fakes/slack-api.ts';
import { type Answer, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';

const platform = await startPlatform();
after(() => platform.close());
const { slack } = platform;

interface Place {
  readonly project: TestProject;
  readonly app: FakeSlackApp;
  readonly smithId: string;
}

async function makePlace(): Promise<Place> {
  const project = await platform.createProject();
  const app = slack.addApp();
  const saved = await project.put('/v1/tenant/slack', slack.bodyOf(app));
  assert.equal(saved.status, 200, saved.text);
  return { project, app, smithId: await project.createSmith() };
}

/** Somebody whom the smith answers. */
async function meet(place: Place): Promise<{ readonly user: string; readonly deploymentId: string }> {
  const user = newSlackId('U');
  const target = { type: 'smith', id: place.smithId };
  const address = `${place.app.teamId}:${user}`;
  const answer = await place.project.post('/v1/deployments', { target, kind: 'slack', address });
  assert.deepEqual([answer.status, answer.body.status, answer.body.address], [201, 'active', address], answer.text);
  return { user, deploymentId: answer.body.id };
}

async function post(projectId: string, { body, headers }: SignedCall): Promise<Answer> {
  const response = await fetch(`${platform.url}/v1/slack/webhook/${projectId}`, { method: 'POST', headers, body });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/** Somebody writes; in a channel where `channel` begins with C. */
async function write({ project, app }: Place, event: { user: string; channel: string; text: string } & object) {
  const channel_type = event.channel.startsWith('D') ? 'im' : 'channel';
  const call = slack.eventOf(app, { type: 'message', channel_type, ts: newTs(), ...event });
  const answer = await post(project.projectId, slack.sign(app, call));
  assert.deepEqual([answer.status, answer.text], [200, ''], answer.text);
  return call;
}

/** What is marked as a part of an answer: not what is shown before. */
async function said(channel: string, count = 1) {
  const whole = () => slack.messagesIn(channel).filter(({ sent }) => sent.metadata !== undefined);
  const texts = () => whole().map(({ text }) => text);
  return eventually(() => (texts().length >= count ? texts() : undefined), `${count} messages in ${channel}`);
}

async function events({ project }: Place) {
  return (await project.get('/v1/inbound_events?source=slack')).body.data;
}

test('a direct message is answered, and kept without what opens anything', async () => {
  const place = await makePlace();
  const { user } = await meet(place);
  const channel = newSlackId('D');
  await write(place, { user, channel, text: 'Write 3 words' });
  const [answer] = await said(channel);
  assert.equal(answer?.split(' ').length, 3);
  const [event] = await events(place);
  assert.deepEqual([event.type, event.smith_id, event.data.event.text], ['message', place.smithId, 'Write 3 words']);
  assert.ok(!JSON.stringify(event).includes('verification-token'));
});

test('a mention, the message that holds it and all their repetitions are answered once, in a thread', async () => {
  const place = await makePlace();
  const { user } = await meet(place);
  const channel = newSlackId('C');
  const ts = newTs();
  const text = `<@${place.app.botUserId}> Write 2 words`;
  const event = { user, channel, text, ts, channel_type: 'channel' };
  const calls = ['message', 'app_mention', 'message', 'app_mention'].map((type) =>
    slack.sign(place.app, slack.eventOf(place.app, { ...event, type })),
  );
  const answers = await Promise.all(
    calls.map(({ body, headers }) =>
      post(place.project.projectId, { body, headers: { ...headers, 'x-slack-retry-num': '1' } }),
    ),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  await said(channel);
  assert.deepEqual([(await events(place)).length, slack.messagesIn(channel)[0]?.thread], [1, ts]);

  await write(place, { user, channel, text: 'Not for the bot' });
  await write(place, { user, channel, text: 'Nor here', thread_ts: newTs() } as never);
  await write(place, { user, channel, text: 'Write 4 words', thread_ts: ts } as never);
  const [, second] = await said(channel, 2);
  assert.equal(second?.split(' ').length, 4);
  assert.equal((await events(place)).length, 2);
});

test('an answer is streamed while it is written, and goes when it is stopped', async () => {
  const place = await makePlace();
  const { user } = await meet(place);
  const [channel, ts] = [newSlackId('C'), newTs()];
  const mention = `<@${place.app.botUserId}>`;
  await write(place, { user, channel, ts, text: `${mention} Write 1000 words at 5 words per second` } as never);
  const words = () => slack.messagesIn(channel)[0]?.text.split(' ').length ?? 0;
  await eventually(() => (words() > 1 ? words() : undefined), 'a piece');
  await write(place, { user, channel, text: `${mention} /stop`, thread_ts: ts } as never);
  await said(channel);
  const texts = () => slack.messagesIn(channel).map(({ text }) => text);
  await eventually(() => (texts().length === 1 ? texts() : undefined), 'the stream to go');
  assert.deepEqual(texts(), ['Stopped.']);
});

test('bots are not answered', async () => {
  const place = await makePlace();
  const { user } = await meet(place);
  const channel = newSlackId('D');
  await write(place, { user, channel, text: 'Hi', bot_id: 'B0OTHER' } as never);
  await write(place, { user: place.app.botUserId, channel, text: 'Hi' });
  assert.deepEqual(await events(place), []);
});

test('/new and /stop are words, and commands; others say what stands behind them', async () => {
  const place = await makePlace();
  const { user } = await meet(place);
  const channel = newSlackId('D');
  const type = async (command: string, text: string, user_id = user) => {
    const fields = { team_id: place.app.teamId, user_id, channel_id: channel, command, text, trigger_id: newTs() };
    const response_url = 'https://hooks.slack.com/commands/secret';
    const form = new URLSearchParams({ ...fields, user_name: 'ada', response_url });
    return post(place.project.projectId, slack.sign(place.app, form));
  };
  assert.equal((await type('/new', '')).text, '');
  assert.match((await said(channel, 1))[0] ?? '', /begin anew/);
  await write(place, { user, channel, text: '/stop' });
  assert.match((await said(channel, 2))[1] ?? '', /nothing to stop/);
  await type('/ask', 'Write 2 words');
  assert.equal((await said(channel, 3))[2]?.split(' ').length, 2);
  assert.match((await type('/ask', 'Hi', 'U0STRANGER')).text, /not connected/);
  const { rows } = await platform.db.query<{ row: string }>({
    text: 'select e::text as row from inbound_events e where project_id = $1',
    values: [place.project.projectId],
  });
  assert.ok(!JSON.stringify(rows).includes('commands/secret'));
});

test('a button says what it holds', async () => {
  const place = await makePlace();
  const { user } = await meet(place);
  const channel = newSlackId('D');
  const payload = {
    type: 'block_actions',
    team: { id: place.app.teamId },
    user: { id: user },
    container: { channel_id: channel },
    actions: [{ action_id: 'reply:0', value: 'Write 2 words', action_ts: newTs() }],
  };
  const form = new URLSearchParams({ payload: JSON.stringify(payload) });
  for (let time = 0; time < 2; time += 1) await post(place.project.projectId, slack.sign(place.app, form));
  assert.equal((await said(channel))[0]?.split(' ').length, 2);
  assert.equal((await events(place)).length, 1);
});

test('everybody else is the agent’s, each with a smith of their own', async () => {
  const place = await makePlace();
  const agent = await place.project.post('/v1/agents', { name: 'Help', model: 'builtin/demo' });
  await place.project.post(`/v1/agents/${agent.body.id}/versions`, {});
  const target = { type: 'agent', id: agent.body.id };
  const deployed = await place.project.post('/v1/deployments', { target, kind: 'slack' });
  assert.equal(deployed.status, 201, deployed.text);
  assertRefusal(await place.project.post('/v1/deployments', { target, kind: 'slack' }), 409, 'catch_all_exists');
  const [user, channel] = [newSlackId('U'), newSlackId('D')];
  await write(place, { user, channel, text: 'Write 2 words' });
  await said(channel);
  const external = `slack:${place.app.teamId}:${user}`;
  const smiths = await place.project.get(`/v1/smiths?external_id=${encodeURIComponent(external)}`);
  assert.equal(smiths.body.data.length, 1, smiths.text);
});

test('a file that comes along is the turn’s', async () => {
  const place = await makePlace();
  const { user } = await meet(place);
  const channel = newSlackId('D');
  const file = { name: 'cat.png', mimetype: 'image/png', size: 5, url_private_download: slack.addFile('a cat') };
  const stolen = { ...file, name: 'metadata', url_private_download: 'http://169.254.169.254/latest' };
  await write(place, { user, channel, text: 'Look', subtype: 'file_share', files: [file, stolen] } as never);
  await said(channel);
  const [run] = (await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data;
  const [, image, missing] = run.input[0].content;
  assert.equal((await place.project.get(`/v1/files/${image.file_id}/content`)).text, 'a cat');
  assert.match(missing.text, /metadata is missing/);
});

test('a file of which the message tells its id alone is looked up', async () => {
  const place = await makePlace();
  const { user } = await meet(place);
  const channel = newSlackId('D');
  const address = slack.addFile('a cat');
  const file = slack.shareFile({ name: 'cat.png', mimetype: 'image/png', size: 5, url_private_download: address });
  const elsewhere = slack.shareFile({ name: 'plan', is_external: true });
  const unknown = { ...file, id: newSlackId('F') };
  const untold = slack.shareFile({ file_access: 'check_file_info' });
  slack.failNext(/files\.info/, { status: 500 });
  const files = [file, elsewhere, unknown, untold];
  await write(place, { user, channel, text: 'Look', subtype: 'file_share', files } as never);
  await said(channel);
  const [run] = (await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data;
  const [, image, ...missing] = run.input[0].content;
  assert.equal((await place.project.get(`/v1/files/${image.file_id}/content`)).text, 'a cat');
  assert.equal((await place.project.get(`/v1/files/${image.file_id}`)).body.filename, 'cat.png');
  assert.equal(missing.length, 3);
  for (const { text } of missing) assert.match(text, /is missing. A file cannot be had from Slack/);
});

test('calls that Slack has not signed are refused alike, whatever project they name', async () => {
  const place = await makePlace();
  const other = await makePlace();
  const { projectId } = place.project;
  const event = slack.eventOf(place.app, { type: 'message' });
  const good = slack.sign(place.app, event);
  const unknown = await post('proj_unknown', good);
  assertRefusal(unknown, 401, 'bad_signature');
  const forged = await post(projectId, slack.sign(other.app, event));
  assert.deepEqual(forged.body, unknown.body);
  assertRefusal(await post((await platform.createProject()).projectId, good), 401, 'bad_signature');
  assertRefusal(await post(projectId, { ...good, body: `${good.body} ` }), 401, 'bad_signature');
  assertRefusal(await post(projectId, slack.sign(place.app, event, '1531420618')), 401, 'bad_signature');
  assertRefusal(await post(projectId, slack.sign(place.app, event, 'now')), 401, 'bad_signature');
  assertRefusal(await post(projectId, { body: good.body, headers: {} }), 401, 'missing_signature');
  const large = slack.sign(place.app, { ...event, padding: 'x'.repeat(10 * 1024 * 1024) });
  assertRefusal(await post(projectId, large), 413, 'payload_too_large');
  const noJson = slack.sign(place.app, new URLSearchParams({ payload: '{' }));
  assertRefusal(await post(projectId, noJson), 422, 'bad_webhook');
});

test('Slack’s question for a challenge is answered before any secret is known', async () => {
  const question = { type: 'url_verification', challenge: 'a "challenge" <b>', token: 'x' };
  const { body } = slack.sign({ signingSecret: 'none' }, question);
  for (const projectId of [(await makePlace()).project.projectId, 'proj_unknown']) {
    const answer = await post(projectId, { body, headers: { 'content-type': 'application/json' } });
    assert.deepEqual([answer.status, answer.text], [200, question.challenge]);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
  }
  const long = JSON.stringify({ ...question, challenge: 'x'.repeat(5_000) });
  assertRefusal(await post('proj_unknown', { body: long, headers: {} }), 401, 'missing_signature');
});

test('a Slack deployment needs the project’s app', async () => {
  const project = await platform.createProject();
  const target = { type: 'smith', id: await project.createSmith() };
  const create = (more: object) => project.post('/v1/deployments', { target, kind: 'slack', ...more });
  assertRefusal(await create({ address: 'T01:U01' }), 422, 'slack_app_unconfigured');
  for (const address of ['T01', 'U01:T01', 't01:u01', '<!channel>']) {
    assertRefusal(await create({ address }), 422, 'invalid_address');
  }
  assertRefusal(await create({ setup: {} }), 422, 'display_name_required');
  assertRefusal(await create({ setup: { display_name: 'Ada' } }), 422, 'slack_factory_unconfigured');
});
