import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { createClient, startPlatform } from '../../../../test/support/platform.ts';
import { appAtSlack, createFactoryProject, deploySlackApp } from '../../../../test/support/slack-apps.ts';
import { eventually } from '../../../../test/support/turns.ts';

const platform = await startPlatform();
after(() => platform.close());
const { slack, db } = platform;

function untilGone(appId: string) {
  return eventually(() => (appAtSlack(platform, appId) === undefined ? true : undefined), `${appId} is gone at Slack`);
}

async function countRows(projectId: string): Promise<number> {
  const rows = await db.query({ text: 'select from slack_apps where project_id = $1', values: [projectId] });
  return rows.rows.length;
}

test('an app of a smith’s own is made from the manifest, and is told of', async () => {
  const place = await createFactoryProject(platform);
  const made = await deploySlackApp(place, { display_name: 'Ada’s Helper', owner_email: 'Ada@Example.com' });
  assert.equal(made.status, 201, made.text);
  const { id, slack_app_id: appId, install_url, state, status, address, secret_keys, start_token } = made.body;
  assert.deepEqual([status, address, start_token], ['pending', null, undefined]);
  assert.deepEqual(secret_keys, ['client_secret', 'signing_secret']);
  const app = appAtSlack(platform, appId);
  assert.ok(app);
  assert.ok(!made.text.includes(app.clientSecret) && !made.text.includes(app.signingSecret));
  const { manifest } = app;
  const webhook = `http://127.0.0.1:8787/v1/slack/webhook/${place.project.projectId}/${id}`;
  assert.deepEqual(
    [
      ...[manifest.display_information.name, manifest.features.bot_user.display_name],
      ...[manifest.settings.event_subscriptions.request_url, manifest.settings.interactivity.request_url],
    ],
    ['Ada’s Helper', 'Ada’s Helper', webhook, webhook],
  );
  const link = new URL(install_url).searchParams;
  assert.deepEqual([link.get('client_id'), link.get('state')], [app.clientId, state]);
  assert.deepEqual(link.get('scope')?.split(','), manifest.oauth_config.scopes.bot);
  assert.ok(manifest.oauth_config.scopes.bot.includes('users:read.email'));
  assert.equal(manifest.oauth_config.redirect_urls[0], link.get('redirect_uri'));
  const [event] = (await place.project.get('/v1/events?type=slack.app_provisioned')).body.data;
  assert.deepEqual(event.data, { channel_id: id, slack_app_id: appId, display_name: 'Ada’s Helper' });
  assert.equal(event.smith_id, made.body.target.id);
});

test('a request that is repeated, or sent twice at once, has one app', async () => {
  const place = await createFactoryProject(platform);
  const target = { type: 'smith', id: await place.project.createSmith() };
  const send = () =>
    place.project.post(
      '/v1/deployments',
      { target, kind: 'slack', setup: { display_name: 'Ada' } },
      { 'idempotency-key': 'once' },
    );
  const answers = await Promise.all([send(), send(), send()]);
  const made = answers.filter(({ status }) => status === 201);
  const ids = new Set(made.map(({ body }) => body.slack_app_id));
  assert.equal(ids.size, 1, JSON.stringify(answers.map(({ text }) => text)));
  assert.equal((await send()).body.slack_app_id, [...ids][0]);
  const isAlone = async () => ((await countRows(place.project.projectId)) === 1 ? true : undefined);
  await eventually(isAlone, 'the others are deleted');
  const own = slack.factory.apps.filter(({ manifest }) =>
    manifest.settings.interactivity.request_url.includes(`/${place.project.projectId}/`),
  );
  assert.deepEqual(
    own.map(({ appId }) => appId),
    [...ids],
  );
});

test('no more apps are made than may be, however many are asked for at once', async () => {
  const place = await createFactoryProject(platform, { app_limit: 2 });
  const answers = await Promise.all([1, 2, 3, 4].map(() => deploySlackApp(place)));
  const [first] = answers.filter(({ status }) => status === 201);
  const refused = answers.filter(({ status }) => status !== 201);
  assert.equal(refused.length, 2);
  for (const answer of refused) assertRefusal(answer, 409, 'slack_app_cap_reached');
  assert.equal((await place.project.delete(`/v1/deployments/${first?.body.id}`)).status, 204);
  assert.equal((await deploySlackApp(place)).status, 201);
});

test('what is wrong with a setup is told before anything is made', async () => {
  const place = await createFactoryProject(platform);
  const { project } = place;
  const calls = slack.calls.length;
  for (const display_name of ['x'.repeat(36), 'two\nlines']) {
    assertRefusal(await deploySlackApp(place, { display_name }), 422, 'invalid_setup', 'setup.display_name');
  }
  const owner = await deploySlackApp(place, { display_name: 'Ada', owner_email: 'nobody' });
  assertRefusal(owner, 422, 'invalid_setup', 'setup.owner_email');
  const body = { target: { type: 'smith', id: 'smt_unknown' }, kind: 'slack', setup: { display_name: 'Ada' } };
  assertRefusal(await project.post('/v1/deployments', body), 404, 'not_found', 'target.id');
  const target = { type: 'smith', id: await project.createSmith() };
  const metadata = await project.post('/v1/deployments', {
    ...body,
    target,
    provider_metadata: { slack_app_id: 'A1' },
  });
  assertRefusal(metadata, 422, 'invalid_request', 'provider_metadata.slack_app_id');
  const stranger = createClient(
    platform.url,
    await project.smithToken(await project.createSmith(), ['deployments:write']),
  );
  assertRefusal(await stranger.post('/v1/deployments', { ...body, target }), 403, 'forbidden_target', 'target.id');
  assert.equal(slack.calls.length, calls);
  assert.equal(await countRows(project.projectId), 0);
});

test('a Slack that does not make the app, or tells half of it, leaves nothing behind', async () => {
  const place = await createFactoryProject(platform);
  const { projectId } = place.project;
  const create = /apps\.manifest\.create/;
  slack.failNext(create, { status: 429, headers: { 'retry-after': '60' } });
  const busy = await deploySlackApp(place);
  assertRefusal(busy, 502, 'slack_api_error');
  assert.equal(busy.headers.get('retry-after'), '60');
  const half = { ok: true, app_id: 'A0HALF', credentials: { client_id: '1.2' } };
  slack.failNext(create, { status: 500 }, 'garbage', 'cut', { status: 200, body: { ok: true } });
  for (let fault = 0; fault < 4; fault += 1) assertRefusal(await deploySlackApp(place), 502, 'slack_api_error');
  assert.equal(await countRows(projectId), 0);
  slack.failNext(create, { status: 200, body: half });
  assertRefusal(await deploySlackApp(place), 502, 'slack_api_error');
  const { rows } = await db.query({
    text: 'select app_id, state from slack_apps where project_id = $1',
    values: [projectId],
  });
  assert.deepEqual(rows, [{ app_id: 'A0HALF', state: 'unwanted' }]);
});

test('an app whose deployment never came is deleted', async () => {
  const place = await createFactoryProject(platform);
  const [lost, other] = [await deploySlackApp(place), await deploySlackApp(place)];
  // As a server that dies between the two leaves it.
  await db.query({ text: 'delete from deployments where id = $1', values: [lost.body.id] });
  await db.query({
    text: `update slack_apps set state = 'making', next_attempt_at = now() - interval '1 second' where deployment_id = $1`,
    values: [lost.body.id],
  });
  assert.equal((await place.project.delete(`/v1/deployments/${other.body.id}`)).status, 204);
  await untilGone(other.body.slack_app_id);
  await untilGone(lost.body.slack_app_id);
});

test('a deployment takes its app along, as soon as Slack lets it', async () => {
  const place = await createFactoryProject(platform);
  const { body } = await deploySlackApp(place);
  const back = slack.agree(body.install_url);
  assert.equal((await fetch(platform.url + back.pathname + back.search, { redirect: 'manual' })).status, 302);
  slack.failNext(/apps\.manifest\.delete/, { status: 500 });
  assert.equal((await place.project.delete(`/v1/deployments/${body.id}`)).status, 204);
  const installs = await db.query({
    text: 'select from slack_installs where account_id = $1',
    values: [body.slack_app_id],
  });
  assert.equal(installs.rows.length, 0);
  // Once what deletes it is saved again it is tried again; else in a while.
  const isTried = () => slack.calls.find(({ body: args }) => args?.app_id === body.slack_app_id);
  await eventually(isTried, 'Slack is asked');
  const again = await place.project.put('/v1/tenant/slack', { ...place.saved, ...place.tokens });
  assert.equal(again.status, 200, again.text);
  await untilGone(body.slack_app_id);
  await eventually(
    async () => ((await countRows(place.project.projectId)) === 0 ? true : undefined),
    'its row is gone',
  );
});

test('an app of its own is renamed at Slack too, another is not', async () => {
  const place = await createFactoryProject(platform);
  const { project } = place;
  const { body } = await deploySlackApp(place, { display_name: 'Ada', owner_email: 'ada@example.com' });
  const path = `/v1/deployments/${body.id}`;
  const renamed = await project.patch(path, { display_name: 'Grace', owner_email: 'grace@example.com' });
  assert.deepEqual(
    [renamed.status, renamed.body.provider_metadata.display_name, renamed.body.provider_metadata.owner_email],
    [200, 'Grace', 'grace@example.com'],
    renamed.text,
  );
  const nameOf = () => appAtSlack(platform, body.slack_app_id)?.manifest.display_information.name;
  assert.equal(nameOf(), 'Grace');
  assertRefusal(await project.patch(path, { display_name: 'x'.repeat(36) }), 422, 'invalid_request', 'display_name');
  slack.failNext(/apps\.manifest\.update/, { status: 500 });
  assertRefusal(await project.patch(path, { display_name: 'Edith' }), 502, 'slack_api_error');
  assert.deepEqual([nameOf(), (await project.get(path)).body.provider_metadata.display_name], ['Grace', 'Grace']);
  const forAll = (await deploySlackApp(place)).body;
  const owned = await project.patch(`/v1/deployments/${forAll.id}`, { owner_email: 'ada@example.com' });
  assertRefusal(owned, 422, 'nothing_to_update', 'owner_email');
  const shared = await project.post('/v1/deployments', { target: body.target, kind: 'slack', address: 'T01:U01' });
  const unnamed = await project.patch(`/v1/deployments/${shared.body.id}`, { display_name: 'Edith' });
  assertRefusal(unnamed, 422, 'rename_unsupported', 'display_name');
});
