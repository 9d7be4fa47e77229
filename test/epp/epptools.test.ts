/** Another EPP client that is not ours, EppTools' for Python, which agrees on whatever the greeting offers: the extensions of our server, as others read the RFCs. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openTestDatabase } from '../support/database.ts';
import { openTestEpp, PASSWORD, THEIR_PASSWORD, testTls } from '../support/epp.ts';
import { DAY_MS } from '../support/simulated-registry.ts';

const script = fileURLToPath(new URL('epptools_client.py', import.meta.url));
const missing = 'Python has no EppTools here: python3 -m pip install epptools==1.1.2';
/** Neither npm nor Debian has it, so it is for whoever changes the server to install. */
const hasEppTools = spawnSync('python3', ['-c', 'import epptools']).status === 0;

test('EppTools asks prices, registers at them with DNSSEC, changes, transfers, sets a long password, and restores', {
  skip: hasEppTools ? false : missing,
}, async (t) => {
  const database = await openTestDatabase();
  t.after(() => database.close());
  const epp = await openTestEpp(database.db, { delays: { createSeconds: 0, renewSeconds: 0 } });
  t.after(() => epp.close());
  const { clock, ours, theirs, server } = epp;
  const run = async (action: string) => {
    const place = [String(server.port), testTls.certificateFile];
    const accounts = [ours.registrarId, PASSWORD, theirs.registrarId, THEIR_PASSWORD];
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
    const { stdout } = await promisify(execFile)('python3', [script, action, ...place, ...accounts], {
      timeout: 60_000,
      env,
    });
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  assert.deepEqual(await run('register'), [
    ['check', [true, false]],
    ['prices', ['10.00', '20.00', '11.00']],
    ['contact', ['SDK-1', 'ada@example.net', 'London', false]],
    ['too cheap', 'EPP 2004: Parameter value range error'],
    ['create', [1000, { currency: 'EUR', fee: '20.00' }]],
    ['info', ['SDK-1', { admin: ['SDK-1'], tech: ['SDK-1'] }, ['ns1.sdk.example'], ['ok'], '2028-03-01T12:00:00.000Z']],
    ['signed', [{ alg: 13, digest: 'AB'.repeat(32), digestType: 2, keyTag: 12345 }]],
    ['changed', ['2029-03-01T12:00:00.000Z', false, ['clientDeleteProhibited']]],
    ['locked', 'EPP 2304: Object status prohibits operation'],
    ['transfer', 'pending'],
    ['told', [1301, 'back.com', 'pending']],
    ['answered', ['back.com', 'clientRejected']],
    ['empty', 1300],
    ['logout', [1500, 1500]],
    ['long password', 1500],
    ['wrong password', 'Login failed (EPP 2200): Authentication error'],
  ]);
  clock.advance(10 * DAY_MS);
  assert.deepEqual(await run('restore'), [
    ['delete', true],
    ['deleted', ['redemptionPeriod']],
    ['restore', 1000],
    ['restored', []],
  ]);
});
