import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { openAccessBench } from '../../../test/support/access.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { TenantTransaction, tenantDb } from '../store/tenant-db.ts';
import type { Actor } from '../tables.ts';
import { DEFAULT_SMITH_TTL_SECONDS, MAX_SMITH_TTL_SECONDS, MAX_TTL_SECONDS } from './issue-token.ts';
import { revokeToken } from './revoke-token.ts';

const bench = await openAccessBench();
after(() => bench.close());
const { db, clock } = bench;
const { issuer } = bench.startReplica();
const projectId = await bench.createProject();
const smithId = await bench.createSmith(projectId);
const actor: Actor = { kind: 'tenant', id: projectId, token_id: 'tok_actor', email: '' };
// The bench's clock stands at 12:00:00.700; a JWT knows whole seconds.
const issuedAtSeconds = Math.floor(clock.now().getTime() / 1000);

const claimsOf = (token: string) => decodeJwt(token.replace(/^th._live_/, ''));

test('a project token says who it is for, who made it, and when', async () => {
  const issued = await db.transaction((tx) =>
    issuer.issueProjectToken(new TenantTransaction(tx, projectId), { name: 'ci', ttlSeconds: 90, actor }),
  );
  assert.deepEqual(claimsOf(issued.token), {
    iss: bench.issuerName,
    sub: projectId,
    jti: issued.id,
    scope: 'tenant:*',
    iat: issuedAtSeconds,
    exp: issuedAtSeconds + 90,
  });
  const header = decodeProtectedHeader(issued.token.replace(/^tha_live_/, ''));
  assert.deepEqual([header.alg, header.typ, typeof header.kid], ['RS256', 'JWT', 'string']);
  assert.deepEqual(issued.expiresAt, new Date((issuedAtSeconds + 90) * 1000));
  const row = await tenantDb(db, projectId)
    .selectFrom('tokens')
    .selectAll()
    .where('id', '=', issued.id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(row, {
    project_id: projectId,
    id: issued.id,
    scope: 'admin',
    smith_id: null,
    scopes: ['tenant:*'],
    name: 'ci',
    expires_at: issued.expiresAt,
    created_at: clock.now(),
    revoked_at: null,
    client_id: null,
    app_id: null,
    deployment_id: null,
  });
});

test('a project token may carry a subset of scopes', async () => {
  const scopes = ['runs:read', 'files:write'];
  const issued = await db.transaction((tx) =>
    issuer.issueProjectToken(new TenantTransaction(tx, projectId), { scopes, actor }),
  );
  assert.equal(claimsOf(issued.token).scope, 'runs:read files:write');
  assert.equal(claimsOf(issued.token).exp, undefined);
  assert.deepEqual([issued.scopes, issued.expiresAt], [scopes, null]);
});

test('a smith token names its project and its smith', async () => {
  const issued = await db.transaction((tx) =>
    issuer.issueSmithToken(new TenantTransaction(tx, projectId), {
      smithId,
      permissions: ['runs:read', 'runs:read'],
      actor,
    }),
  );
  const { sub, scope, exp } = claimsOf(issued.token);
  assert.deepEqual(
    [sub, scope, exp],
    [`${projectId}:${smithId}`, 'runs:read', issuedAtSeconds + DEFAULT_SMITH_TTL_SECONDS],
  );
});

for (const [kind, max] of [
  ['project', MAX_TTL_SECONDS],
  ['smith', MAX_SMITH_TTL_SECONDS],
] as const) {
  const issue = (ttlSeconds: number) =>
    db.transaction((tx) =>
      kind === 'project'
        ? issuer.issueProjectToken(new TenantTransaction(tx, projectId), { ttlSeconds, actor })
        : issuer.issueSmithToken(new TenantTransaction(tx, projectId), {
            smithId,
            permissions: ['runs:read'],
            ttlSeconds,
            actor,
          }),
    );
  test(`a ${kind} token lives 1 to ${max} seconds`, async () => {
    for (const seconds of [1, max]) {
      const { expiresAt } = await issue(seconds);
      assert.equal(expiresAt?.getTime(), (issuedAtSeconds + seconds) * 1000);
    }
    for (const seconds of [0, -1, 1.5, Number.NaN, max + 1, Number.POSITIVE_INFINITY]) {
      await assert.rejects(
        issue(seconds),
        (error) =>
          error instanceof ApiError && error.code === 'invalid_request' && error.detail.param === 'ttl_seconds',
      );
    }
  });
}

test('issuing and revoking tell the feed, in the same transaction', async () => {
  const events = () =>
    tenantDb(db, projectId)
      .selectFrom('events')
      .select(['type', 'smith_id', 'actor', 'data'])
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
  const issued = await db.transaction((tx) =>
    issuer.issueSmithToken(new TenantTransaction(tx, projectId), {
      smithId,
      permissions: ['files:read'],
      name: 'tablet',
      actor,
    }),
  );
  const sub = `${projectId}:${smithId}`;
  assert.deepEqual(await events(), {
    type: 'token.created',
    smith_id: smithId,
    actor,
    data: {
      token_id: issued.id,
      scope: 'smith',
      sub,
      scopes: ['files:read'],
      name: 'tablet',
      expires_at: issued.expiresAt?.toISOString(),
    },
  });
  await db.transaction((tx) => revokeToken(new TenantTransaction(tx, projectId), { tokenId: issued.id, actor }));
  const revoked = {
    type: 'token.revoked',
    smith_id: smithId,
    actor,
    data: { token_id: issued.id, sub, name: 'tablet' },
  };
  assert.deepEqual(await events(), revoked);

  const failing = db.transaction(async (tx) => {
    await issuer.issueProjectToken(new TenantTransaction(tx, projectId), { name: 'lost', actor });
    throw new Error('rolled back');
  });
  await assert.rejects(failing, /rolled back/);
  assert.deepEqual(await events(), revoked);
  const lost = tenantDb(db, projectId).selectFrom('tokens').select('id').where('name', '=', 'lost');
  assert.deepEqual(await lost.execute(), []);
});
