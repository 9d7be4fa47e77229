import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import { createVault } from '../../kernel/vault/vault.ts';
import { createTokenIssuer } from '../access/issue-token.ts';
import { createTokenSigner } from '../access/sign-token.ts';
import { createSigningKeys } from '../access/signing-keys.ts';
import { createTokenVerifier } from '../access/verify-token.ts';
import { credentialsPath } from './credentials-file.ts';
import { bootFirst } from './first-boot.ts';

const baseUrl = 'http://127.0.0.1:8787';

let store: TestDatabase;
let dataDir = '';

beforeEach(async () => {
  store = await openTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'ironcraft-first-boot-'));
});

afterEach(async () => {
  await store.close();
  await rm(dataDir, { recursive: true, force: true });
});

/** One process: its own keys in memory, the vault of all. */
const vault = createVault([createSecretKey(randomBytes(32))]);
function boot(folder = dataDir) {
  const signer = createTokenSigner(createSigningKeys(store.db, vault), baseUrl);
  const issuer = createTokenIssuer({ signer, clock: systemClock });
  return bootFirst({ db: store.db, issuer, dataDir: folder, baseUrl });
}

async function count(table: 'organizations' | 'projects' | 'organization_keys' | 'tokens'): Promise<number> {
  const { rows } = await store.db.query<{ n: number }>({ text: `select count(*)::int as n from ${table}`, values: [] });
  return rows[0]?.n ?? 0;
}

async function readCredentials(path = credentialsPath(dataDir)) {
  return JSON.parse(await readFile(path, 'utf8'));
}

test('an empty database gets an organization, a project and a credential of each, which verify', async () => {
  assert.deepEqual(await boot(), { created: true, hasCredentials: true, keptAs: undefined });
  const credentials = await readCredentials();
  const verifier = createTokenVerifier(store.db, createSigningKeys(store.db, vault), systemClock);
  const tenant = await verifier.verify(credentials.tenant_token);
  assert.deepEqual([tenant.kind, 'projectId' in tenant && tenant.projectId], ['tenant', credentials.project_id]);
  assert.equal((await verifier.verify(credentials.organization_key)).kind, 'organization');
  assert.equal(credentials.base_url, baseUrl);
  assert.equal((await stat(credentialsPath(dataDir))).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(dataDir), ['credentials.json'], 'no draft is left');
});

test('later starts make nothing and leave the file alone', async () => {
  await boot();
  const before = await readFile(credentialsPath(dataDir), 'utf8');
  assert.deepEqual(await boot(), { created: false, hasCredentials: true, keptAs: undefined });
  assert.equal(await readFile(credentialsPath(dataDir), 'utf8'), before);
  assert.equal(await count('organizations'), 1);
});

test('a database that was set up from another folder gets no second set of credentials', async () => {
  await boot();
  const other = join(dataDir, 'other');
  assert.deepEqual(await boot(other), { created: false, hasCredentials: false, keptAs: undefined });
  assert.deepEqual([await count('organization_keys'), await count('tokens')], [1, 1]);
});

test('of many first starts at once, one makes everything', async () => {
  const outcomes = await Promise.all(Array.from({ length: 8 }, (_, n) => boot(join(dataDir, String(n)))));
  assert.equal(outcomes.filter(({ created }) => created).length, 1);
  assert.equal(outcomes.filter(({ hasCredentials }) => hasCredentials).length, 1);
  for (const table of ['organizations', 'projects', 'organization_keys', 'tokens'] as const) {
    assert.equal(await count(table), 1, table);
  }
});

test('credentials of another database are kept beside the new ones', async () => {
  await writeFile(credentialsPath(dataDir), '{"other":"database"}', { mode: 0o644 });
  const written = new Date('2026-01-02T03:04:05.678Z');
  await utimes(credentialsPath(dataDir), written, written);
  const { keptAs } = await boot();
  assert.equal(keptAs, join(dataDir, 'credentials-2026-01-02T03-04-05-678Z.json'));
  assert.deepEqual(await readCredentials(keptAs), { other: 'database' });
  assert.equal((await stat(keptAs)).mode & 0o777, 0o600);
  assert.match((await readCredentials()).tenant_token, /^tha_live_/);
});

test('where the credentials cannot be written, nothing is made, so that the next start can do it', async () => {
  const file = join(dataDir, 'not-a-folder');
  await writeFile(file, '');
  await assert.rejects(boot(file));
  assert.deepEqual([await count('organizations'), await count('tokens')], [0, 0]);
  assert.equal((await boot()).created, true);
});
