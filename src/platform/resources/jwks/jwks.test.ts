import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { startPlatform } from '../../../../test/support/platform.ts';

const platform = await startPlatform();
after(() => platform.close());

test('anyone may read the keys, and a token verifies against them', async () => {
  const project = await platform.createProject();
  const answer = await platform.organization.as('').get('/.well-known/jwks.json');
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('cache-control') ?? '', /^public, max-age=\d+$/);
  for (const key of answer.body.keys) {
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use']);
    assert.deepEqual([key.kty, key.alg, key.use], ['RSA', 'RS256', 'sig']);
  }
  const jwt = project.token.replace(/^tha_live_/, '');
  const { payload } = await jwtVerify(jwt, createLocalJWKSet(answer.body));
  assert.equal(payload.sub, project.projectId);
  assert.equal(payload.scope, 'tenant:*');
});
