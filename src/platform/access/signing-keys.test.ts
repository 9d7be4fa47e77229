import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { openAccessBench, type Replica } from '../../../test/support/access.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { createVault } from '../../kernel/vault/vault.ts';
import { TenantTransaction } from '../store/tenant-db.ts';
import { addSigningKey, createSigningKeys } from './signing-keys.ts';

const bench = await openAccessBench();
after(() => bench.close());
const { db, vault } = bench;
const projectId = await bench.createProject();

function issue(replica: Replica) {
  return db.transaction((tx) =>
    replica.issuer.issueProjectToken(new TenantTransaction(tx, projectId), { actor: null }),
  );
}

const kidOf = (token: string) => decodeProtectedHeader(token.replace(/^tha_live_/, '')).kid;

// First in the file: no key has been made yet.
test('a key that is made by a transaction which rolls back signs nothing afterwards', async () => {
  const replica = bench.startReplica();
  const attempt = db.transaction(async (tx) => {
    await replica.issuer.issueProjectToken(new TenantTransaction(tx, projectId), { actor: null });
    await replica.issuer.issueProjectToken(new TenantTransaction(tx, projectId), { actor: null });
    throw new Error('rolled back');
  });
  await assert.rejects(attempt, /rolled back/);
  assert.deepEqual(await replica.keys.publicKeys(), []);
  const { token } = await issue(replica);
  await bench.startReplica().verify(token);
  assert.equal((await replica.keys.publicKeys()).length, 1);
});

test('tokens of two keys that were made at once both verify everywhere', async () => {
  await db.query({ text: 'update signing_keys set retired_at = now()' });
  const [a, b] = [bench.startReplica(), bench.startReplica()];
  const [one, two] = await Promise.all([issue(a), issue(b)]);
  for (const replica of [a, b]) for (const { token } of [one, two]) await replica.verify(token);
});

test('a rotation changes the signing key and breaks no live token', async () => {
  const replica = bench.startReplica();
  const before = await issue(replica);
  const { kid } = await addSigningKey(db, vault);
  const fresh = bench.startReplica();
  const afterwards = await issue(fresh);
  assert.notEqual(kidOf(before.token), kid);
  assert.equal(kidOf(afterwards.token), kid);
  for (const { token } of [before, afterwards]) {
    await fresh.verify(token);
    await replica.verify(token);
  }
  const published = (await fresh.keys.publicKeys()).map((key) => key.kid);
  assert.ok(published.includes(kid) && published.includes(kidOf(before.token) ?? ''));
});

test('the tokens of a retired key end at once on a replica that has seen them', async () => {
  const replica = bench.startReplica();
  const { token } = await issue(replica);
  await replica.verify(token);
  await addSigningKey(db, vault);
  await db.query({ text: 'update signing_keys set retired_at = now() where kid = $1', values: [kidOf(token)] });
  await assert.rejects(replica.verify(token), (error) => error instanceof ApiError && error.code === 'unauthenticated');
  assert.ok((await replica.keys.publicKeys()).every(({ kid }) => kid !== kidOf(token)));
});

test('private halves rest sealed', async () => {
  await addSigningKey(db, vault);
  const { rows } = await db.query<{ row: string }>({ text: 'select row_to_json(k)::text as row from signing_keys k' });
  for (const { row } of rows) {
    assert.doesNotMatch(row, /"(d|p|q|dp|dq|qi)":/);
    assert.match(row, /"sealed_private_jwk":"v1\./);
  }
});

test('minting is unavailable while the signing key does not open', async () => {
  const stranger = createSigningKeys(db, createVault([createSecretKey(randomBytes(32))]));
  await addSigningKey(db, vault);
  await assert.rejects(
    db.transaction((tx) => stranger.signer(tx)),
    (error) => error instanceof ApiError && error.code === 'minting_unavailable',
  );
});
