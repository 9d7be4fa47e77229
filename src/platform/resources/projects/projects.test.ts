import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform } from '../../../../test/support/platform.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

const PATH = '/v1/organization/projects';
let made = 0;

function newName(): string {
  made += 1;
  return `project ${process.pid} ${made}`;
}

test('a created project has every field, and its organization reads it back', async () => {
  const name = newName();
  const created = await platform.organization.post(PATH, { name, metadata: { team: 'blue', size: 3 } });
  assert.equal(created.status, 201);
  const { id, organization, created_at, ...rest } = created.body;
  assert.match(id, /^proj_/);
  assert.match(organization, /^org_/);
  assert.ok(isLately(created_at));
  assert.deepEqual(rest, { name, metadata: { team: 'blue', size: 3 }, archived_at: null });

  const read = await platform.organization.get(`${PATH}/${id}`);
  assert.equal(read.status, 200);
  assert.deepEqual(read.body, created.body);
});

test('a name that exists answers 200 with the project as it was', async () => {
  const name = newName();
  const first = await platform.organization.post(PATH, { name, metadata: { kept: true } });
  const second = await platform.organization.post(PATH, { name, metadata: { kept: false } });
  assert.equal(second.status, 200);
  assert.deepEqual(second.body, first.body);
});

test('50 parallel creates of one name make one project', async () => {
  const name = newName();
  const answers = await Promise.all(Array.from({ length: 50 }, () => platform.organization.post(PATH, { name })));
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array.from({ length: 49 }, () => 200), 201]);
});

for (const [what, body, code, param] of [
  ['no name', {}, 'name_required', 'name'],
  ['an empty name', { name: '' }, 'invalid_name', 'name'],
  ['a name past 200 characters', { name: 'x'.repeat(201) }, 'invalid_name', 'name'],
  ['a name that is a number', { name: 7 }, 'invalid_name', 'name'],
  ['metadata that is no object', { name: 'x', metadata: [] }, 'invalid_request', 'metadata'],
  ['an unknown member', { name: 'x', colour: 'red' }, 'invalid_request', 'colour'],
] as const) {
  test(`creating a project with ${what} is refused as ${code}`, async () => {
    const { status, body: answer } = await platform.organization.post(PATH, body);
    assert.equal(status, 422);
    assert.equal(answer.error.code, code);
    assert.equal(answer.error.param, param);
  });
}

test('the list pages through live projects, newest first', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.push((await platform.organization.post(PATH, { name: newName() })).body.id);
  const first = await platform.organization.get(`${PATH}?limit=2`);
  assert.equal(first.status, 200);
  assert.equal(first.body.has_more, true);
  assert.deepEqual(
    first.body.data.map(({ id }: { id: string }) => id),
    [ids[2], ids[1]],
  );
  const second = await platform.organization.get(`${PATH}?limit=1&cursor=${first.body.next_cursor}`);
  assert.equal(second.body.data[0].id, ids[0]);

  await platform.organization.delete(`${PATH}/${ids[2]}`);
  const afterwards = await platform.organization.get(`${PATH}?limit=1`);
  assert.equal(afterwards.body.data[0].id, ids[1]);
});

test('the list refuses a cursor that it did not hand out and a limit out of range', async () => {
  const cursor = await platform.organization.get(`${PATH}?cursor=abc`);
  assert.deepEqual([cursor.status, cursor.body.error.code], [422, 'invalid_cursor']);
  for (const limit of ['0', '101', 'x']) {
    const { status, body } = await platform.organization.get(`${PATH}?limit=${limit}`);
    assert.deepEqual([status, body.error.code], [422, 'invalid_limit']);
  }
});

test('a deleted project is gone, its tokens are dead at once and its name is free', async () => {
  const name = newName();
  const { body: project } = await platform.organization.post(PATH, { name });
  const minted = await platform.organization.post(`${PATH}/${project.id}/tokens`, {});
  const client = platform.organization.as(minted.body.token);
  assert.equal((await client.get('/v1/tenant/tokens')).status, 200);

  const deleted = await platform.organization.delete(`${PATH}/${project.id}`);
  assert.equal(deleted.status, 204);
  assert.equal(deleted.text, '');

  const refused = await client.get('/v1/tenant/tokens');
  assert.deepEqual([refused.status, refused.body.error.code], [401, 'unauthenticated']);
  for (const answer of [
    await platform.organization.get(`${PATH}/${project.id}`),
    await platform.organization.delete(`${PATH}/${project.id}`),
    await platform.organization.post(`${PATH}/${project.id}/tokens`, {}),
  ]) {
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
  }
  const again = await platform.organization.post(PATH, { name });
  assert.equal(again.status, 201);
  assert.notEqual(again.body.id, project.id);
});

test('a project of another organization looks like one that never was', async () => {
  const { client: other } = await platform.createOrganization();
  const { body: project } = await other.post(PATH, { name: newName() });
  for (const [method, suffix] of [
    ['get', ''],
    ['delete', ''],
    ['post', '/tokens'],
  ] as const) {
    const foreign = await platform.organization[method](`${PATH}/${project.id}${suffix}`, {});
    const missing = await platform.organization[method](`${PATH}/proj_00000000000000000000000000${suffix}`, {});
    assert.equal(foreign.status, 404);
    assert.equal(foreign.text, missing.text);
  }
  assert.equal((await other.get(`${PATH}/${project.id}`)).status, 200);
  const { body: page } = await platform.organization.get(`${PATH}?limit=100`);
  assert.ok(page.data.every(({ id }: { id: string }) => id !== project.id));
});

test('two organizations may each have a project of one name', async () => {
  const { client: other } = await platform.createOrganization();
  const name = newName();
  const mine = await platform.organization.post(PATH, { name });
  const theirs = await other.post(PATH, { name });
  assert.deepEqual([mine.status, theirs.status], [201, 201]);
  assert.notEqual(mine.body.id, theirs.body.id);
});

test('a project token carries tenant:*, works, and is told of on the feed', async () => {
  const { body: project } = await platform.organization.post(PATH, { name: newName() });
  const minted = await platform.organization.post(`${PATH}/${project.id}/tokens`, { ttl_seconds: 3600, name: 'ci' });
  assert.equal(minted.status, 201);
  const { id, token, expires_at, ...rest } = minted.body;
  assert.match(id, /^tok_/);
  assert.match(token, /^tha_live_/);
  assert.ok(isLately(expires_at, 3_600_000));
  assert.deepEqual(rest, { scope: 'admin', sub: project.id, scopes: ['tenant:*'] });

  const events = await platform.organization.as(token).get('/v1/events?type=token.created');
  assert.equal(events.body.data.length, 1);
  const event = events.body.data[0];
  assert.equal(event.tenant_id, project.id);
  assert.equal(event.smith_id, null);
  assert.deepEqual([event.actor.kind, event.actor.id], ['tenant', project.organization]);
  assert.match(event.actor.token_id, /^tok_/);
  assert.deepEqual(event.data, {
    token_id: id,
    scope: 'admin',
    sub: project.id,
    scopes: ['tenant:*'],
    name: 'ci',
    expires_at,
  });
  assert.ok(!events.text.includes(token));
});

test('a project token asked for without a body never expires', async () => {
  const { body: project } = await platform.organization.post(PATH, { name: newName() });
  for (const body of [undefined, {}, { ttl_seconds: null, name: null }]) {
    const minted = await platform.organization.post(`${PATH}/${project.id}/tokens`, body);
    assert.equal(minted.status, 201);
    assert.equal(minted.body.expires_at, null);
  }
});

for (const [what, body, code] of [
  ['a lifetime of 0', { ttl_seconds: 0 }, 'invalid_request'],
  ['a negative lifetime', { ttl_seconds: -1 }, 'invalid_request'],
  ['a lifetime past ten years', { ttl_seconds: 315_360_001 }, 'invalid_request'],
  ['a lifetime that is no whole number', { ttl_seconds: 1.5 }, 'invalid_request'],
  ['an empty name', { name: '' }, 'invalid_name'],
  ['scopes', { scopes: ['runs:read'] }, 'invalid_request'],
] as const) {
  test(`minting a project token with ${what} is refused as ${code}`, async () => {
    const { body: project } = await platform.organization.post(PATH, { name: newName() });
    const { status, body: answer } = await platform.organization.post(`${PATH}/${project.id}/tokens`, body);
    assert.equal(status, 422);
    assert.equal(answer.error.code, code);
    assert.equal(answer.error.param, Object.keys(body)[0]);
  });
}

test('the longest lifetime is accepted', async () => {
  const { body: project } = await platform.organization.post(PATH, { name: newName() });
  const { status } = await platform.organization.post(`${PATH}/${project.id}/tokens`, { ttl_seconds: 315_360_000 });
  assert.equal(status, 201);
});

test('a create that is repeated with its Idempotency-Key answers with the first answer', async () => {
  const { body: project } = await platform.organization.post(PATH, { name: newName() });
  const headers = { 'idempotency-key': 'mint-1' };
  const first = await platform.organization.post(`${PATH}/${project.id}/tokens`, { name: 'a' }, headers);
  const second = await platform.organization.post(`${PATH}/${project.id}/tokens`, { name: 'a' }, headers);
  assert.equal(second.status, 201);
  assert.deepEqual(second.body, first.body);
  const other = await platform.organization.post(`${PATH}/${project.id}/tokens`, { name: 'b' }, headers);
  assert.deepEqual([other.status, other.body.error.code], [409, 'idempotency_key_reused']);
});
