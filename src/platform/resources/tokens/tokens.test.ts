import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

const PATH = '/v1/tenant/tokens';

async function newSmith() {
  const project = await platform.createProject();
  return { project, smithId: await project.createSmith() };
}

test('a smith token is bound to its smith, holds its permissions and is told of on the feed', async () => {
  const { project, smithId } = await newSmith();
  const minted = await project.post(PATH, {
    scope: 'smith',
    smith_id: smithId,
    permissions: ['runs:read', 'files:write', 'runs:read'],
    ttl_seconds: 600,
    name: 'phone',
  });
  assert.equal(minted.status, 201);
  const { id, token, expires_at, ...rest } = minted.body;
  assert.match(id, /^tok_/);
  assert.match(token, /^thp_live_/);
  assert.ok(isLately(expires_at, 600_000));
  const sub = `${project.projectId}:${smithId}`;
  assert.deepEqual(rest, { scope: 'smith', sub, scopes: ['runs:read', 'files:write'], name: 'phone' });

  const smith = project.as(token);
  assert.equal((await smith.get(`/v1/smiths/${smithId}`)).status, 200);
  const lacking = await smith.post(`/v1/smiths/${smithId}/runs`, { input: [] });
  assert.deepEqual([lacking.status, lacking.body.error.code], [403, 'insufficient_scope']);
  assert.deepEqual(lacking.body.error.details, { required_scope: 'runs:write' });
  assert.equal((await smith.get(PATH)).body.error.code, 'admin_required');

  const events = await project.get('/v1/events?type=token.created&limit=1');
  const [event] = events.body.data;
  assert.equal(event.smith_id, smithId);
  assert.equal(event.actor.kind, 'tenant');
  assert.equal(event.actor.id, project.projectId);
  assert.deepEqual(event.data, {
    token_id: id,
    scope: 'smith',
    sub,
    scopes: ['runs:read', 'files:write'],
    name: 'phone',
    expires_at,
  });
  assert.ok(!events.text.includes(token));
});

test('a smith token without a lifetime lives an hour, and a day is the most', async () => {
  const { project, smithId } = await newSmith();
  const request = { scope: 'smith', smith_id: smithId, permissions: ['runs:read'] };
  const usual = await project.post(PATH, request);
  assert.ok(isLately(usual.body.expires_at, 3_600_000));

  const day = await project.post(PATH, { ...request, ttl_seconds: 86_400 });
  assert.equal(day.status, 201);
  assert.ok(Date.parse(day.body.expires_at) <= Date.now() + 86_400_000);

  const longer = await project.post(PATH, { ...request, ttl_seconds: 86_401 });
  assert.equal(longer.status, 422);
  assert.equal(longer.body.error.code, 'invalid_request');
  assert.equal(longer.body.error.param, 'ttl_seconds');
  assert.match(longer.body.error.message, /86400/);
});

test('an admin token never expires unless a lifetime is asked for', async () => {
  const project = await platform.createProject();
  const forever = await project.post(PATH, { scope: 'admin' });
  assert.equal(forever.status, 201);
  assert.match(forever.body.token, /^tha_live_/);
  assert.deepEqual(
    [forever.body.sub, forever.body.scopes, forever.body.expires_at, forever.body.name],
    [project.projectId, ['tenant:*'], null, null],
  );
  assert.equal((await project.as(forever.body.token).get(PATH)).status, 200);

  const decade = await project.post(PATH, { scope: 'admin', ttl_seconds: 315_360_000 });
  assert.equal(decade.status, 201);
  assert.ok(isLately(decade.body.expires_at, 315_360_000_000));
});

for (const [what, body, status, code, param] of [
  ['no scope', {}, 422, 'invalid_token_scope', 'scope'],
  ['another scope', { scope: 'organization' }, 422, 'invalid_token_scope', 'scope'],
  ['a scope that is no string', { scope: 1 }, 422, 'invalid_token_scope', 'scope'],
  ['a null scope', { scope: null }, 422, 'invalid_token_scope', 'scope'],
  ['a lifetime of 0', { scope: 'admin', ttl_seconds: 0 }, 422, 'invalid_request', 'ttl_seconds'],
  ['a lifetime past ten years', { scope: 'admin', ttl_seconds: 315_360_001 }, 422, 'invalid_request', 'ttl_seconds'],
  ['a lifetime as text', { scope: 'admin', ttl_seconds: '60' }, 422, 'invalid_request', 'ttl_seconds'],
  ['an empty name', { scope: 'admin', name: '' }, 422, 'invalid_name', 'name'],
  ['an unknown member', { scope: 'admin', role: 'x' }, 422, 'invalid_request', 'role'],
  ['a narrowed admin scope', { scope: 'admin', permissions: ['runs:read'] }, 422, 'invalid_request', 'permissions'],
  ['a smith for an admin token', { scope: 'admin', smith_id: 'smt_x' }, 422, 'invalid_request', 'smith_id'],
  ['no permissions for a smith', { scope: 'smith', smith_id: 'smt_x' }, 422, 'permissions_required', 'permissions'],
  [
    'null permissions',
    { scope: 'smith', smith_id: 'smt_x', permissions: null },
    422,
    'permissions_required',
    'permissions',
  ],
  [
    'empty permissions',
    { scope: 'smith', smith_id: 'smt_x', permissions: [] },
    422,
    'permissions_required',
    'permissions',
  ],
  [
    'an unknown permission',
    { scope: 'smith', permissions: ['runs:read', 'runs:fly'] },
    400,
    'invalid_scope',
    'permissions.1',
  ],
  [
    'the tenant marker for a smith',
    { scope: 'smith', permissions: ['tenant:*'] },
    400,
    'invalid_scope',
    'permissions.0',
  ],
  ['no smith', { scope: 'smith', permissions: ['runs:read'] }, 422, 'smith_required', 'smith_id'],
  [
    'a smith that never was',
    { scope: 'smith', smith_id: 'smt_00000000000000000000000000', permissions: ['runs:read'] },
    404,
    'not_found',
    'smith_id',
  ],
] as const) {
  test(`minting with ${what} is refused as ${code}`, async () => {
    const project = await platform.createProject();
    const before = await project.get('/v1/events');
    const answer = await project.post(PATH, body);
    assert.equal(answer.status, status);
    assert.equal(answer.body.error.code, code);
    assert.equal(answer.body.error.param, param);
    assert.equal((await project.get('/v1/events')).text, before.text);
  });
}

test('a smith of another project, and one that is archived, answer as one that never was', async () => {
  const { smithId: foreignId } = await newSmith();
  const { project, smithId } = await newSmith();
  await project.delete(`/v1/smiths/${smithId}`);
  const ask = (smith_id: string) => project.post(PATH, { scope: 'smith', smith_id, permissions: ['runs:read'] });
  const missing = await ask('smt_00000000000000000000000000');
  assert.equal(missing.status, 404);
  assert.equal((await ask(foreignId)).text, missing.text);
  assert.equal((await ask(smithId)).text, missing.text);
});

test('the list shows every token of the project, newest first, and never a text', async () => {
  const { project, smithId } = await newSmith();
  const admin = await project.post(PATH, { scope: 'admin', name: 'server' });
  const smith = await project.post(PATH, { scope: 'smith', smith_id: smithId, permissions: ['files:read'] });
  await project.delete(`${PATH}/${admin.body.id}`);

  const first = await project.get(`${PATH}?limit=2`);
  assert.equal(first.status, 200);
  assert.equal(first.body.has_more, true);
  const [newest, older] = first.body.data;
  const { created_at, ...rest } = newest;
  assert.ok(isLately(created_at));
  assert.deepEqual(rest, {
    id: smith.body.id,
    scope: 'smith',
    sub: `${project.projectId}:${smithId}`,
    scopes: ['files:read'],
    name: null,
    expires_at: smith.body.expires_at,
    revoked_at: null,
  });
  assert.equal(older.id, admin.body.id);
  assert.equal(older.name, 'server');
  assert.ok(isLately(older.revoked_at));

  const second = await project.get(`${PATH}?limit=2&cursor=${first.body.next_cursor}`);
  assert.equal(second.body.has_more, false);
  assert.equal(second.body.next_cursor, null);
  assert.ok(!`${first.text}${second.text}`.includes('_live_'));
  assert.ok(!`${first.text}${second.text}`.includes('eyJ'));
});

test('a revoked token is refused from the next request on, and the feed tells of it once', async () => {
  const { project, smithId } = await newSmith();
  const { body: minted } = await project.post(PATH, {
    scope: 'smith',
    smith_id: smithId,
    permissions: ['runs:read'],
    name: 'tablet',
  });
  const smith = project.as(minted.token);
  assert.equal((await smith.get(`/v1/smiths/${smithId}`)).status, 200);

  const revoked = await project.delete(`${PATH}/${minted.id}`);
  assert.equal(revoked.status, 204);
  const refused = await smith.get(`/v1/smiths/${smithId}`);
  assert.equal(refused.status, 401);
  assert.equal(refused.body.error.code, 'unauthenticated');
  assert.match(refused.body.error.message, /Mint a new one/);

  assert.equal((await project.delete(`${PATH}/${minted.id}`)).status, 204);
  const { body: events } = await project.get('/v1/events?type=token.revoked');
  assert.equal(events.data.length, 1);
  assert.equal(events.data[0].smith_id, smithId);
  assert.deepEqual(events.data[0].data, {
    token_id: minted.id,
    sub: `${project.projectId}:${smithId}`,
    name: 'tablet',
  });
});

test('20 parallel revocations of one token write one event', async () => {
  const project = await platform.createProject();
  const { body: minted } = await project.post(PATH, { scope: 'admin' });
  const answers = await Promise.all(Array.from({ length: 20 }, () => project.delete(`${PATH}/${minted.id}`)));
  assert.ok(answers.every(({ status }) => status === 204));
  const { body: events } = await project.get('/v1/events?type=token.revoked');
  assert.equal(events.data.length, 1);
});

test('a token may revoke itself', async () => {
  const project = await platform.createProject();
  const { body: minted } = await project.post(PATH, { scope: 'admin' });
  const self = project.as(minted.token);
  assert.equal((await self.delete(`${PATH}/${minted.id}`)).status, 204);
  assert.equal((await self.get(PATH)).status, 401);
});

test('an unknown token id and one of another project answer alike', async () => {
  const project = await platform.createProject();
  const other = await platform.createProject();
  const { body: foreign } = await other.post(PATH, { scope: 'admin' });
  const unknown = await project.delete(`${PATH}/tok_00000000000000000000000000`);
  assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'not_found']);
  assert.equal((await project.delete(`${PATH}/${foreign.id}`)).text, unknown.text);
  assert.equal((await other.as(foreign.token).get(PATH)).status, 200);
});

test('a mint that is repeated with its Idempotency-Key hands out the same token', async () => {
  const project = await platform.createProject();
  const headers = { 'idempotency-key': 'mint' };
  const first = await project.post(PATH, { scope: 'admin' }, headers);
  const second = await project.post(PATH, { scope: 'admin' }, headers);
  assert.equal(second.status, 201);
  assert.deepEqual(second.body, first.body);
});

test('a revocation on one server holds at once on another that has served the token', async () => {
  const second = await startPlatform({ sharing: platform });
  try {
    const project = await platform.createProject();
    const { body: minted } = await project.post(PATH, { scope: 'admin' });
    const there = second.organization.as(minted.token);
    assert.equal((await there.get(PATH)).status, 200);
    assert.equal((await project.delete(`${PATH}/${minted.id}`)).status, 204);
    assert.equal((await there.get(PATH)).status, 401);
  } finally {
    await second.close();
  }
});

test('a token is refused once its lifetime is over, and the answer says to mint another', async () => {
  const clock = createManualClock(new Date());
  const timed = await startPlatform({ sharing: platform, clock });
  try {
    const admin = await platform.createProject();
    const { body: minted } = await timed.organization.as(admin.token).post(PATH, { scope: 'admin', ttl_seconds: 60 });
    const client = timed.organization.as(minted.token);
    assert.equal((await client.get(PATH)).status, 200);
    clock.advance(60_000);
    const refused = await client.get(PATH);
    assert.equal(refused.status, 401);
    assert.equal(refused.body.error.code, 'unauthenticated');
    assert.match(refused.body.error.message, /expired/);
    assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer/);
  } finally {
    await timed.close();
  }
});

for (const [what, name] of [
  ['a null character', 'a\u0000b'],
  ['a lone surrogate', 'a\ud800b'],
  ['200 emoji', '🦾'.repeat(200)],
  ['SQL', `'); drop table tokens; --`],
  ['a prototype’s name', '__proto__'],
] as const) {
  test(`a name with ${what} is kept as far as it can be`, async () => {
    const project = await platform.createProject();
    const minted = await project.post(PATH, { scope: 'admin', name });
    assert.equal(minted.status, 201);
    const kept = name.replace('\u0000', '\ufffd').replace('\ud800', '\ufffd');
    const { body: list } = await project.get(`${PATH}?limit=1`);
    assert.equal(list.data[0].name, kept);
    const { body: events } = await project.get('/v1/events?type=token.created&limit=1');
    assert.equal(events.data[0].data.name, kept);
    assert.equal((await project.delete(`${PATH}/${minted.body.id}`)).status, 204);
  });
}
