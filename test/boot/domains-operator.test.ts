/** The verbs of the domain service as an operator runs them: while a server holds the embedded database, and without one. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { storeTemplate } from '../../src/command-line/migrations.ts';
import { issueToken } from '../../src/domains/access/tokens.ts';
import { operateDomains } from '../../src/domains/operator/index.ts';
import { openWallet } from '../../src/domains/wallet/index.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import { systemClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { migrate } from '../../src/kernel/db/migrate.ts';
import { openDatabase } from '../../src/kernel/db/open-database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import { operatorSocketPath, startOperatorSocket } from '../../src/kernel/operator/index.ts';
import { openTestLogger } from '../support/test-log.ts';
import { runVerbInProcess } from './run-verb-in-process.ts';
import { makeFolder, openGivenStore, type Variables } from './server-process.ts';

const migrations = fileURLToPath(new URL('../../migrations/', import.meta.url));

/** A store with one workspace in it, in the data folder or on a server. */
async function makeStore(dataDir: string, url?: string): Promise<{ db: Database; workspaceId: string }> {
  const db = await openDatabase({ url, dataDir, poolSize: 1, template: storeTemplate });
  for (const service of ['platform', 'domains']) await migrate(db, { service, folder: join(migrations, service) });
  const workspaceId = mintId('wsp');
  await db.transaction(async (tx) => {
    await systemDb(tx).insertInto('workspaces').values({ id: workspaceId, name: 'Kim' }).execute();
    await openWallet(tx, workspaceId);
    await issueToken(tx, workspaceId, { userId: null, scope: 'write', name: 'first' });
  });
  return { db, workspaceId };
}

test('the verbs go through the server that holds the store, and find what they did when it has ended', async (t) => {
  const folder = await makeFolder(t);
  const variables = { IRONCRAFT_DATA_DIR: folder };
  const run = (...args: string[]) => runVerbInProcess(['domains', ...args], folder, variables);
  const { db, workspaceId } = await makeStore(folder);

  const throughServer = async (): Promise<void> => {
    const silent = await run('wallet', 'show');
    assert.equal(silent.code, 1);
    assert.match(silent.stderr, /^error: A running server holds the embedded database.*Stop it, run this again/);
    assert.match(silent.stderr, /no server answers on .*operator\.sock/);

    const logger = openTestLogger();
    const socket = await startOperatorSocket({
      path: operatorSocketPath(folder),
      logger,
      services: [operateDomains({ db, clock: systemClock })],
    });
    t.after(() => socket.close());
    const minted = await run('token', 'mint', '--name', 'ci', '--scope', 'read');
    assert.equal(minted.code, 0, minted.stderr);
    assert.match(minted.stdout, /^icd_live_[\w-]{43}\n$/);
    assert.match(minted.stderr, new RegExp(`^dtk_\\w+ for ${workspaceId} \\(Kim\\): read\n$`));
    const ofPlatform = await runVerbInProcess(['token', 'mint'], folder, variables);
    assert.equal(ofPlatform.code, 1);
    assert.match(
      ofPlatform.stderr,
      /^error: This command is for the service “platform”, .*serve --only.* Stop it, run this again/,
    );
    const nobody = await run('wallet', 'top-up', '--workspace', 'nobody@example.com', '--cents', '5');
    assert.deepEqual([nobody.code, nobody.stdout], [1, '']);
    assert.match(nobody.stderr, /^error: There is no workspace nobody@example\.com\./);
    const topped = await run('wallet', 'top-up', '--cents', '1234', '--note', 'by hand');
    assert.equal(topped.stdout, `12.34 EUR credited\n${workspaceId} (Kim): 12.34 EUR available, 0.00 EUR held\n`);
  };
  await throughServer().finally(() => db.close());

  const shown = await run('wallet', 'show', '--workspace', workspaceId, '--json');
  assert.equal(shown.code, 0, shown.stderr);
  const wallet = JSON.parse(shown.stdout);
  assert.deepEqual(
    [wallet.available_cents, wallet.bookings.length, wallet.bookings[0].description],
    [1_234, 1, 'by hand'],
  );
});

test('the verbs do without a server', async (t) => {
  const folder = await makeFolder(t);
  const variables: Variables = { IRONCRAFT_DATA_DIR: folder, ...(await openGivenStore(t)) };
  const run = (...args: string[]) => runVerbInProcess(['domains', ...args], folder, variables);
  const { db, workspaceId } = await makeStore(folder, variables.IRONCRAFT_DATABASE_URL);
  await db.close();

  assert.deepEqual((await run('name', 'missing')).stdout, 'No name is missing.\n');
  assert.deepEqual((await run('name', 'unassigned')).stdout, 'No name is unassigned.\n');
  assert.deepEqual((await run('message', 'list')).stdout, 'No message waits for you.\n');
  const dismissed = await run('message', 'dismiss', '7');
  assert.match(dismissed.stderr, /^error: There is no message 7\. See: domains message list\./);
  assert.deepEqual((await run('order', 'list')).stdout, 'No order needs attention.\n');
  const cancelled = await run('order', 'cancel', 'ord_none', '--reason', 'none');
  assert.match(cancelled.stderr, /^error: There is no order ord_none\./);
  const assigned = await run('name', 'assign', 'nowhere.com');
  assert.equal(assigned.code, 1);
  assert.match(assigned.stderr, /^error: nowhere\.com is not unassigned\./);
  const recovered = await run('name', 'recover', 'nowhere.com');
  assert.equal(recovered.code, 1);
  assert.match(recovered.stderr, /^error: nowhere\.com was retired from no portfolio\./);
  const minted = await run('token', 'mint', '--scope', 'read');
  assert.equal(minted.code, 0, minted.stderr);
  const revoked = await run('token', 'revoke', minted.stdout.trim());
  assert.match(revoked.stdout, new RegExp(`^dtk_\\w+ of ${workspaceId} is revoked since \\d{4}-`));
});

const WRONG: readonly [args: readonly string[], message: RegExp][] = [
  [['order', 'complete', 'ord_1'], /required option '--reason <text>'/],
  [['epp-server', '--registrar', 'x'], /Use id:password/],
  [
    [...'epp-server --key k --cert c --registrar demo:secret-1 --habits none.yaml'.split(' ')],
    /none\.yaml: cannot be read: ENOENT/,
  ],
  [['token', 'mint', '--scope', 'admin'], /Allowed choices are read, write/],
  [['wallet', 'top-up', '--cents', '1.5'], /whole number of cents from 1 to 100000000/],
];

for (const [args, message] of WRONG) {
  test(`domains ${args.join(' ')} is wrong usage`, async (t) => {
    const { code, stdout, stderr } = await runVerbInProcess(['domains', ...args], await makeFolder(t));
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.match(stderr, message);
  });
}
