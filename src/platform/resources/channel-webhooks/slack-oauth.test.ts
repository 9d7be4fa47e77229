import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { type FakeSlackApp, newSlackId, newTs } from '../../../../test/fakes/slack-api.ts';
import { createClient, startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually } from '../../../../test/support/turns.ts';

const platform = await startPlatform();
after(() => platform.close());
const { slack } = platform;
const browser = createClient(platform.url, '');

interface Place {
  readonly project: TestProject;
  readonly app: FakeSlackApp;
}

/** An app that is installed nowhere. */
async function makePlace(): Promise<Place> {
  const project = await platform.createProject();
  const app = slack.addApp();
  const saved = await project.put('/v1/tenant/slack', { ...slack.bodyOf(app), bot_token: undefined });
  assert.equal(saved.status, 200, saved.text);
  return { project, app };
}

async function deploy({ project }: Place, address: string) {
  const target = { type: 'smith', id: await project.createSmith() };
  const answer = await project.post('/v1/deployments', { target, kind: 'slack', address });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

/** What the browser is told when it comes back. */
async function comeBack(url: URL) {
  const response = await fetch(platform.url + url.pathname + url.search, { redirect: 'manual' });
  const text = await response.text();
  const body = response.headers.get('content-type')?.includes('json') === true ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, body };
}

async function bring({ project, app }: Place, event: object, teamId: string) {
  const call = slack.sign(app, { ...slack.eventOf(app, event), team_id: teamId });
  const answer = await browser.post(`/v1/slack/webhook/${project.projectId}`, call.body, call.headers);
  assert.equal(answer.status, 200, answer.text);
}

async function feed({ project }: Place, type: string) {
  return (await project.get(`/v1/events?type=${type}`)).body.data;
}

test('an installation brings the bot’s token, by which answers go out', async () => {
  const place = await makePlace();
  const [teamId, user, channel] = [newSlackId('T'), newSlackId('U'), newSlackId('D')];
  const deployment = await deploy(place, `${teamId}:${user}`);
  const link = new URL(deployment.install_url);
  assert.equal(link.origin + link.pathname, `${slack.url}/oauth/v2/authorize`);
  assert.deepEqual(
    [link.searchParams.get('client_id'), link.searchParams.get('state'), link.searchParams.get('redirect_uri')],
    [place.app.clientId, deployment.state, `http://127.0.0.1:8787/v1/slack/oauth/${place.project.projectId}`],
  );
  const back = await comeBack(slack.agree(link.href, { teamId, userId: user }));
  assert.deepEqual(
    [back.status, back.headers.get('location')],
    [302, `${slack.url}/app_redirect?app=A012ABCD0&team=${teamId}`],
    back.text,
  );
  const [event] = await feed(place, 'slack.install');
  assert.deepEqual(event.data, {
    channel_id: deployment.id,
    team_id: teamId,
    slack_user_id: user,
    scopes: link.searchParams.get('scope')?.split(','),
    user_scopes: [],
  });
  assert.equal(event.smith_id, deployment.target.id);
  const message = { type: 'message', channel_type: 'im', user, channel, ts: newTs(), text: 'Write 2 words' };
  await bring(place, message, teamId);
  await eventually(() => slack.messagesIn(channel)[0], 'an answer');
  assert.equal((await deploy(place, `${teamId}:${newSlackId('U')}`)).install_url, undefined);
});

test('a workspace that takes the app away is not reached until it brings it back', async () => {
  const place = await makePlace();
  const [teamId, user] = [newSlackId('T'), newSlackId('U')];
  const deployment = await deploy(place, `${teamId}:${user}`);
  const status = async () => (await place.project.get(`/v1/deployments/${deployment.id}`)).body.status;
  await comeBack(slack.agree(deployment.install_url, { teamId }));
  for (const event of [{ type: 'app_uninstalled' }, { type: 'tokens_revoked', tokens: { bot: ['U0BOT'] } }]) {
    await bring(place, event, teamId);
  }
  const told = await feed(place, 'slack.uninstalled');
  assert.deepEqual(
    told.map(({ data }: { data: object }) => data),
    [{ channel_id: deployment.id, team_id: teamId }],
  );
  assert.equal(await status(), 'disconnected');
  assert.equal((await comeBack(slack.agree(deployment.install_url, { teamId }))).status, 302);
  assert.equal(await status(), 'active');
});

test('the token that an app was saved with goes with its workspace', async () => {
  const project = await platform.createProject();
  const app = slack.addApp();
  await project.put('/v1/tenant/slack', slack.bodyOf(app));
  const place = { project, app };
  await bring(place, { type: 'app_uninstalled' }, newSlackId('T'));
  assert.deepEqual(await feed(place, 'slack.uninstalled'), []);
  await bring(place, { type: 'app_uninstalled' }, app.teamId);
  const { body } = await project.get('/v1/tenant/slack');
  assert.deepEqual([body.team_id, body.secret_keys], [null, ['client_secret', 'signing_secret']]);
  const [{ data }] = await feed(place, 'slack.uninstalled');
  assert.deepEqual(data, { channel_id: '', team_id: app.teamId });
});

test('a state that is unknown, or of another project, installs nothing', async () => {
  const [place, other] = [await makePlace(), await makePlace()];
  const deployment = await deploy(place, `${newSlackId('T')}:${newSlackId('U')}`);
  const good = slack.agree(deployment.install_url);
  const elsewhere = new URL(good);
  elsewhere.pathname = `/v1/slack/oauth/${other.project.projectId}`;
  const nobody = new URL(good);
  nobody.pathname = '/v1/slack/oauth/proj_unknown';
  const [unknown, without, twice] = [new URL(good), new URL(good), new URL(good)];
  unknown.searchParams.set('state', 'guessed');
  without.searchParams.delete('state');
  twice.searchParams.append('state', deployment.state);
  for (const url of [elsewhere, nobody, unknown, without]) assertRefusal(await comeBack(url), 409, 'invalid_state');
  assertRefusal(await comeBack(twice), 422, 'invalid_request');
  assert.equal((await comeBack(good)).status, 302);
  assert.match(
    (await comeBack(slack.agree(deployment.install_url, { more: { app_id: undefined } }))).text,
    /installed/,
  );
  assert.equal((await place.project.delete(`/v1/deployments/${deployment.id}`)).status, 204);
  assertRefusal(await comeBack(slack.agree(deployment.install_url)), 409, 'invalid_state');
});

test('what Slack refuses, and what would not work, says so', async () => {
  const place = await makePlace();
  const { install_url: link } = await deploy(place, `${newSlackId('T')}:${newSlackId('U')}`);
  const declined = slack.agree(link);
  declined.searchParams.delete('code');
  declined.searchParams.set('error', 'access_denied');
  const spent = slack.agree(link);
  await comeBack(spent);
  for (const url of [
    declined,
    spent,
    slack.agree(link, { more: { is_enterprise_install: true } }),
    slack.agree(link, { more: { expires_in: 43_200, refresh_token: 'xoxe-1' } }),
    slack.agree(link, { more: { bot_user_id: undefined } }),
  ]) {
    assertRefusal(await comeBack(url), 502, 'slack_api_error');
  }
  assert.equal((await feed(place, 'slack.install')).length, 1);
  const late = slack.agree(link);
  assert.equal((await place.project.delete('/v1/tenant/slack')).status, 204);
  assertRefusal(await comeBack(late), 422, 'slack_oauth_unconfigured');
  const { rows } = await platform.db.query({
    text: 'select from slack_installs where project_id = $1',
    values: [place.project.projectId],
  });
  assert.equal(rows.length, 0);
});
