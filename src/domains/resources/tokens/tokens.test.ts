import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startDomains } from '../../../../test/support/domains.ts';
import { refusal } from '../../../../test/support/orders.ts';

const service = await startDomains();
after(() => service.close());

test('a token is minted with the scope that is asked for, and its text is shown once', async () => {
  const workspace = await service.createWorkspace();
  const { status, body } = await workspace.post('/tokens', { scope: 'read', name: 'monitoring' });
  assert.deepEqual([status, body.scope, body.name], [201, 'read', 'monitoring']);
  const reader = service.anybody.as(body.token);
  const listed = await reader.get('/tokens');
  const [newest, ...others] = listed.body.tokens;
  const { token, ...shown } = body;
  assert.deepEqual({ ...newest, created_at: '' }, { ...shown, created_at: '', revoked_at: null, is_current: true });
  assert.equal(others.length, 2);
  assert.ok(!listed.text.includes(token.slice('icd_live_'.length)));
  assert.deepEqual(refusal(await reader.post('/tokens', { scope: 'write', name: 'more' })), [
    403,
    'insufficient_scope',
  ]);
});

describe('a revoked token', () => {
  test('is refused from the answer on, and stays revoked', async () => {
    const workspace = await service.createWorkspace();
    const { body } = await workspace.post('/tokens', { scope: 'write', name: 'lost' });
    const lost = service.anybody.as(body.token);
    assert.equal((await lost.get('/domains')).status, 200);
    const revoked = await workspace.open('DELETE', `/tokens/${body.id}`);
    assert.equal(revoked.status, 200);
    const first = (await revoked.json()) as { revoked_at: string };
    assert.deepEqual(refusal(await lost.get('/domains')), [401, 'revoked_token']);
    const again = (await (await workspace.open('DELETE', `/tokens/${body.id}`)).json()) as object;
    assert.deepEqual(again, first);
  });

  test('may be the one of the call itself', async () => {
    const workspace = await service.createWorkspace();
    const { tokens } = (await workspace.get('/tokens')).body;
    const { id } = tokens.find((one: { is_current: boolean }) => one.is_current);
    assert.equal((await workspace.open('DELETE', `/tokens/${id}`)).status, 200);
    assert.deepEqual(refusal(await workspace.get('/tokens')), [401, 'revoked_token']);
  });
});

test('not_found: a token of another workspace is as one that never was, and stays', async () => {
  const [one, other] = [await service.createWorkspace(), await service.createWorkspace()];
  const { body } = await one.post('/tokens', { scope: 'read', name: 'mine' });
  const foreign = await other.open('DELETE', `/tokens/${body.id}`);
  const never = await other.open('DELETE', '/tokens/dtk_0');
  assert.deepEqual([foreign.status, await foreign.text()], [404, await never.text()]);
  assert.equal((await service.anybody.as(body.token).get('/domains')).status, 200);
  assert.equal((await other.get('/tokens')).body.tokens.length, 2);
});

test('bad_request: a scope that is none, no name, and more tokens than a workspace may have', async () => {
  const workspace = await service.createWorkspace();
  for (const body of [{}, { scope: 'admin', name: 'x' }, { scope: 'read', name: ' ' }, { scope: 'read' }]) {
    assert.deepEqual(refusal(await workspace.post('/tokens', body)), [400, 'bad_request'], JSON.stringify(body));
  }
  await service.db.query({
    text: `insert into domains.tokens (workspace_id, id, hash, scope)
      select $1, 'dtk_' || n || $1, sha256(($1 || n)::bytea), 'read' from generate_series(1, 98) as n`,
    values: [workspace.workspaceId],
  });
  assert.deepEqual(refusal(await workspace.post('/tokens', { scope: 'read', name: 'one more' })), [400, 'bad_request']);
});
