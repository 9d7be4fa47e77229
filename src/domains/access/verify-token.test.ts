import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { noteStatements } from '../../../test/support/noted-database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { systemDb } from '../workspace-scope.ts';
import type { TokenScope } from './caller.ts';
import { issueToken, revokeToken } from './tokens.ts';
import { createTokenVerifier } from './verify-token.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

async function issue(scope: TokenScope = 'read') {
  const workspaceId = mintId('wsp');
  await systemDb(database.db).insertInto('workspaces').values({ id: workspaceId, name: 'Test' }).execute();
  const { id, token } = await issueToken(database.db, workspaceId, { userId: null, scope, name: 'test' });
  const revoke = () => revokeToken(database.db, workspaceId, id, new Date());
  return { token, revoke, caller: { workspaceId, tokenId: id, scope } };
}

test('a token is its workspace, until it is revoked: from then on every replica that has seen it refuses it', async () => {
  const replicas = [createTokenVerifier(database.db), createTokenVerifier(database.db)];
  for (const scope of ['read', 'write'] as const) {
    const { token, caller, revoke } = await issue(scope);
    for (const verify of replicas) assert.deepEqual(await verify(token), caller);
    assert.equal(await revoke(), true);
    for (const verify of replicas) await assert.rejects(verify(token), { code: 'revoked_token' });
  }
});

test('calls that come together ask once, and each has its own answer', async () => {
  const { db, seen } = noteStatements(database.db);
  const verify = createTokenVerifier(db);
  const live = await Promise.all(Array.from({ length: 5 }, () => issue()));
  const dead = await issue();
  await dead.revoke();
  const unknown = `${live[0]?.token.slice(0, -1)}-`;
  const all = [
    ...live.map(({ token }) => token),
    dead.token,
    unknown,
    'sk_live_other',
    ...live.map(({ token }) => token),
  ];
  seen.length = 0;
  const answers = await Promise.allSettled(all.map(verify));
  assert.equal(seen.length, 1);
  const told = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value.tokenId : answer.reason.code));
  const ids = live.map(({ caller }) => caller.tokenId);
  assert.deepEqual(told, [...ids, 'revoked_token', 'invalid_token', 'invalid_token', ...ids]);
});

test('a question that is under way answers nobody who comes after a revocation', async () => {
  const read = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const slow = Object.create(database.db, {
    query: {
      value: async (...[statement]: Parameters<typeof database.db.query>) => {
        const rows = await database.db.query(statement);
        read.resolve();
        await answer.promise;
        return rows;
      },
    },
  });
  const { token, caller, revoke } = await issue();
  const verify = createTokenVerifier(slow);
  const first = verify(token);
  await read.promise;
  await revoke();
  const second = verify(token);
  answer.resolve();
  assert.deepEqual(await first, caller);
  await assert.rejects(second, { code: 'revoked_token' });
});

test('a store that does not answer is no fault of the token’s, and the next call asks again', async () => {
  let isDown = true;
  const failing = Object.create(database.db, {
    query: {
      value: (...[statement]: Parameters<typeof database.db.query>) =>
        isDown ? Promise.reject(new Error('the store is down')) : database.db.query(statement),
    },
  });
  const { token, caller } = await issue();
  const verify = createTokenVerifier(failing);
  await assert.rejects(verify(token), /the store is down/);
  isDown = false;
  assert.deepEqual(await verify(token), caller);
});
