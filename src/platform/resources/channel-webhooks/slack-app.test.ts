import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { newSlackId, newTs } from '../../../../test/fakes/slack-api.ts';
import type { MadeSlackApp } from '../../../../test/fakes/slack-factory.ts';
import { createClient, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { appAtSlack, createFactoryProject, deploySlackApp } from '../../../../test/support/slack-apps.ts';
import { eventually } from '../../../../test/support/turns.ts';

const platform = await startPlatform();
after(() => platform.close());
const { slack } = platform;
const browser = createClient(platform.url, '');

interface Place {
  readonly project: TestProject;
  readonly app: MadeSlackApp;
  readonly deploymentId: string;
  readonly smithId: string;
  readonly link: string;
}

async function makePlace(setup: object = {}, project?: TestProject): Promise<Place> {
  const place = project === undefined ? await createFactoryProject(platform) : { project };
  const { status, body, text } = await deploySlackApp(place, { display_name: 'Ada', ...setup });
  assert.equal(status, 201, text);
  const app = appAtSlack(platform, body.slack_app_id);
  assert.ok(app);
  return { ...place, app, deploymentId: body.id, smithId: body.target.id, link: body.install_url };
}

/** Somebody installs it; answers what the browser is told. */
async function install({ link }: Place, teamId: string) {
  const back = slack.agree(link, { teamId });
  const response = await fetch(platform.url + back.pathname + back.search, { redirect: 'manual' });
  const text = await response.text();
  const body = response.headers.get('content-type')?.includes('json') === true ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, body };
}

function bring({ project, app, deploymentId }: Place, event: object, teamId: string, at = deploymentId) {
  const call = slack.sign(app, { ...slack.eventOf(app, event), team_id: teamId });
  return browser.post(`/v1/slack/webhook/${project.projectId}/${at}`, call.body, call.headers);
}

async function write(place: Place, teamId: string, user: string, text: string) {
  const channel = newSlackId('D');
  const event = { type: 'message', channel_type: 'im', user, channel, ts: newTs(), text };
  const answer = await bring(place, event, teamId);
  assert.equal(answer.status, 200, answer.text);
  return channel;
}

async function feed({ project }: Place, type: string) {
  return (await project.get(`/v1/events?type=${type}`)).body.data.map(({ data }: { data: object }) => data);
}

async function statusOf({ project, deploymentId }: Place): Promise<string> {
  return (await project.get(`/v1/deployments/${deploymentId}`)).body.status;
}

test('whoever is where it is installed speaks with its smith, and is answered by its bot', async () => {
  const place = await makePlace();
  const teamId = newSlackId('T');
  const back = await install(place, teamId);
  assert.deepEqual(
    [back.status, back.headers.get('location')],
    [302, `${slack.url}/app_redirect?app=${place.app.appId}&team=${teamId}`],
  );
  assert.equal(await statusOf(place), 'active');
  const [told] = await feed(place, 'slack.install');
  assert.deepEqual([told.channel_id, told.team_id], [place.deploymentId, teamId]);
  for (const user of [newSlackId('U'), newSlackId('U')]) {
    const channel = await write(place, teamId, user, 'Write 2 words');
    await eventually(() => slack.messagesIn(channel)[0], 'an answer');
  }
  const events = (await place.project.get('/v1/inbound_events?source=slack')).body.data;
  assert.deepEqual([...new Set(events.map(({ smith_id }: { smith_id: string }) => smith_id))], [place.smithId]);
  const posted = slack.calls.filter(({ url }) => url.pathname === '/api/chat.postMessage').at(-1);
  assert.notEqual(posted?.headers.authorization, `Bearer ${place.app.botToken}`, 'the installation’s token is used');
});

test('with an owner it hears nobody else, whoever has installed it', async () => {
  const place = await makePlace({ owner_email: 'ada@example.com' });
  const teamId = newSlackId('T');
  assertRefusal(await install(place, teamId), 502, 'slack_api_error');
  assert.equal(await statusOf(place), 'pending');
  const owner = slack.addMember(teamId, 'ada@example.com');
  assert.equal((await install(place, teamId)).status, 302);
  const { body } = await place.project.get(`/v1/deployments/${place.deploymentId}`);
  assert.deepEqual([body.status, body.address], ['active', `${teamId}:${owner}`]);
  const bound = { kind: 'slack', channel_id: place.deploymentId, address: `${teamId}:${owner}` };
  assert.deepEqual(await feed(place, 'deployment.bound'), [bound]);
  await write(place, teamId, newSlackId('U'), 'Let me in');
  assert.deepEqual((await feed(place, 'unbound_message'))[0].text, 'Let me in');
  const channel = await write(place, teamId, owner, 'Write 2 words');
  await eventually(() => slack.messagesIn(channel)[0], 'an answer');
  assert.equal((await place.project.get(`/v1/smiths/${place.smithId}/runs`)).body.data.length, 1);
});

test('a workspace that takes it away is not reached; the project’s app there stays', async () => {
  const place = await makePlace();
  const [one, other] = [newSlackId('T'), newSlackId('T')];
  const target = { type: 'smith', id: place.smithId };
  const address = `${one}:${newSlackId('U')}`;
  const shared = await place.project.post('/v1/deployments', { target, kind: 'slack', address });
  for (const teamId of [one, other]) assert.equal((await install(place, teamId)).status, 302);
  for (const teamId of [one, one]) await bring(place, { type: 'app_uninstalled' }, teamId);
  assert.equal(await statusOf(place), 'active');
  await bring(place, { type: 'app_uninstalled' }, other);
  assert.equal(await statusOf(place), 'disconnected');
  const expected = [other, one].map((team_id) => ({ channel_id: place.deploymentId, team_id }));
  assert.deepEqual(await feed(place, 'slack.uninstalled'), expected);
  assert.equal(await statusOf({ ...place, deploymentId: shared.body.id }), 'active');
  assert.equal((await install(place, one)).status, 302);
  assert.equal(await statusOf(place), 'active');
});

test('calls that its own secret has not signed are refused alike, whatever they name', async () => {
  const place = await makePlace();
  const [sibling, stranger] = [await makePlace({}, place.project), await makePlace()];
  const event = { type: 'app_uninstalled' };
  const target = { type: 'smith', id: place.smithId };
  const shared = await place.project.post('/v1/deployments', { target, kind: 'slack', address: 'T01:U01' });
  const unknown = await bring(place, event, 'T01', 'dep_unknown');
  assertRefusal(unknown, 401, 'bad_signature');
  for (const at of [sibling.deploymentId, stranger.deploymentId, shared.body.id]) {
    assert.deepEqual((await bring(place, event, 'T01', at)).body, unknown.body);
  }
  const elsewhere = await bring({ ...stranger, deploymentId: place.deploymentId }, event, 'T01');
  assert.deepEqual(elsewhere.body, unknown.body);
  const toProject = slack.sign(place.app, slack.eventOf(place.app, event));
  const path = `/v1/slack/webhook/${place.project.projectId}`;
  assertRefusal(await browser.post(path, toProject.body, toProject.headers), 401, 'bad_signature');
  assertRefusal(await browser.post(`${path}/${place.deploymentId}`, toProject.body), 401, 'missing_signature');
  const question = { type: 'url_verification', challenge: 'still unknown', token: 'x' };
  assert.equal((await bring(place, event, 'T01')).status, 200);
  const asked = await browser.post(`${path}/dep_unknown`, question);
  assert.deepEqual([asked.status, asked.text], [200, 'still unknown']);
});

test('a state of another project’s app installs nothing', async () => {
  const [place, other] = [await makePlace(), await makePlace()];
  const back = slack.agree(place.link);
  back.pathname = `/v1/slack/oauth/${other.project.projectId}`;
  const answer = await fetch(platform.url + back.pathname + back.search, { redirect: 'manual' });
  assert.equal(answer.status, 409);
  assert.match(await answer.text(), /"invalid_state"/);
  assert.equal(await statusOf(place), 'pending');
});
