/** Several processes on one PostgreSQL server. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import { testServerUrl } from '../support/database.ts';
import { runVerbInProcess } from './run-verb-in-process.ts';
import {
  call,
  FREE_PORTS,
  makeFolder,
  openGivenStore,
  runVerb,
  startServer,
  type Variables,
} from './server-process.ts';

const serverUrl = testServerUrl();
const skip = serverUrl === undefined && 'set IRONCRAFT_TEST_DATABASE_URL to test on a PostgreSQL server';

interface Cleanup {
  after(work: () => Promise<void>): void;
}

/** An empty database, gone with the test. */
async function makeDatabase(t: Cleanup): Promise<string> {
  const name = `ironcraft_boot_${randomBytes(6).toString('hex')}`;
  const admin = await connectServer({ url: serverUrl ?? '', poolSize: 1 });
  t.after(async () => {
    await admin.query({ text: `drop database if exists ${name} with (force)`, values: [] });
    await admin.close();
  });
  await admin.query({ text: `create database ${name}`, values: [] });
  const url = new URL(serverUrl ?? '');
  url.pathname = `/${name}`;
  return url.href;
}

test('two processes that start at once on an empty database make one organization, and both serve it', {
  skip,
}, async (t) => {
  const shared: Variables = {
    IRONCRAFT_DATABASE_URL: await makeDatabase(t),
    IRONCRAFT_MASTER_KEY: randomBytes(32).toString('base64'),
  };
  const folders = [await makeFolder(t), await makeFolder(t)];
  const servers = await Promise.all(folders.map((folder) => startServer(t, folder, shared, { only: 'platform' })));
  const [owner, ...others] = servers.filter(({ credentials }) => credentials.tenant_token !== '');
  assert.ok(owner !== undefined && others.length === 0, 'one of them wrote credentials');
  for (const { url } of servers) {
    const reply = await call(url, owner.credentials.organization_key, '/v1/organization/projects');
    assert.equal(((await reply.json()) as { data: unknown[] }).data.length, 1);
  }
  const [other] = servers.filter((server) => server !== owner);
  assert.match(other?.stdout() ?? '', /There is no .*credentials\.json[\s\S]*token mint/);

  // The command line works beside them; what it mints is good everywhere at once.
  const folder = await makeFolder(t);
  const minted = await runVerbInProcess(['token', 'mint', '--name', 'beside'], folder, shared);
  assert.equal(minted.code, 0, minted.stderr);
  for (const { url } of servers) assert.equal((await call(url, minted.stdout.trim(), '/v1/customers')).status, 200);

  // Rotation breaks nothing; retiring ends what the earlier key signed, and nothing that came after.
  assert.equal((await runVerbInProcess(['keys', 'rotate'], folder, shared)).code, 0);
  const second = await runVerbInProcess(['token', 'mint', '--json'], folder, shared);
  const secondToken: string = JSON.parse(second.stdout).token;
  assert.notEqual(keyOf(secondToken), keyOf(minted.stdout));
  for (const token of [minted.stdout.trim(), secondToken]) {
    assert.equal((await call(owner.url, token, '/v1/customers')).status, 200);
  }
  const retired = await runVerbInProcess(['keys', 'rotate', '--retire-earlier'], folder, shared);
  assert.match(retired.stdout, /^retired +2 earlier key/m);
  for (const token of [minted.stdout.trim(), secondToken, owner.credentials.tenant_token]) {
    assert.equal((await call(owner.url, token, '/v1/customers')).status, 401);
  }
  const third = await runVerbInProcess(['token', 'mint'], folder, shared);
  for (const { url } of servers) assert.equal((await call(url, third.stdout.trim(), '/v1/customers')).status, 200);

  const doctor = await runVerbInProcess(['doctor'], folder, { ...shared, IRONCRAFT_PORT: new URL(owner.url).port });
  assert.equal(doctor.code, 0, doctor.stdout);
  for (const check of ['server', 'database', 'pgvector', 'writing', 'migrations', 'clock', 'signing keys']) {
    assert.match(doctor.stdout, new RegExp(`^ok +${check} `, 'm'));
  }
  for (const server of servers) assert.deepEqual(await server.stop(), { code: 0, signal: null });
});

test('a replica without the master key of the others is refused, and makes none of its own', { skip }, async (t) => {
  const store = await openGivenStore(t);
  const first = await startServer(t, await makeFolder(t), store, { only: 'platform' });
  const stranger = await makeFolder(t);
  const refused = await runVerb(['serve'], stranger, { ...FREE_PORTS, ...store });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^error: The database holds sealed secrets and there is no master key/m);
  const doctor = await runVerbInProcess(['doctor'], stranger, { ...store, IRONCRAFT_PORT: '0' });
  assert.equal(doctor.code, 1);
  assert.match(doctor.stdout, /^FAILED +signing keys +there is no master key/m);
  await first.stop();
});

/** The header of a JWT names the key that signed it. */
function keyOf(token: string): string {
  const header =
    token
      .trim()
      .replace(/^[a-z]+_live_/, '')
      .split('.')[0] ?? '';
  return JSON.parse(Buffer.from(header, 'base64url').toString()).kid;
}
