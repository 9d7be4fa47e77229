/** A signal ends a server cleanly at every moment of its start, and leaves nothing that the next start stumbles over. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { call, FREE_PORTS, type Launched, launch, makeFolder, startServer, waitFor } from './server-process.ts';

const PATIENCE_MS = 60_000;

/** The moments of a start, the first one of a new folder; each is seen in what the process writes. */
const moments: Readonly<Record<string, (server: Launched) => boolean>> = {
  'while it makes its database': ({ stdout }) => stdout().includes('making a new database'),
  'at the first byte of its output': ({ stdout }) => stdout().length > 0,
  'while it opens its database': ({ stdout }) => /(?:opening the|making a new) database/.test(stdout()),
  'while it starts its services': ({ stdout }) => stdout().includes('starting the'),
  'when its first port is open': ({ stderr }) => stderr().includes('Server listening'),
  'when it says that it is ready': ({ stdout }) => stdout().includes('is ready at'),
};

function launchServer(t: TestContext, folder: string): Launched {
  const server = launch(['serve'], folder, FREE_PORTS);
  t.after(async () => {
    server.child.kill('SIGKILL');
    await server.ended;
  });
  return server;
}

test('a signal ends a starting server cleanly at each moment, and the next start finds its folder in order', async (t) => {
  const folder = await makeFolder(t);
  for (const [moment, isMoment] of Object.entries(moments)) {
    const signal = moment === 'while it opens its database' ? 'SIGINT' : 'SIGTERM';
    const server = launchServer(t, folder);
    await waitFor(moment, PATIENCE_MS, async () => {
      assert.equal(server.child.exitCode, null, server.stderr());
      return isMoment(server) || undefined;
    });
    server.child.kill(signal);
    assert.deepEqual(await server.ended, { code: 0, signal: null }, `${moment}: ${server.stderr()}`);
    assert.doesNotMatch(server.stderr(), /"level":"(?:error|fatal)"/, moment);
    const left = await readdir(join(folder, '.ironcraft', 'database')).catch(() => []);
    assert.deepEqual(
      left.filter((name) => name.includes('partial')),
      [],
      moment,
    );
  }
  const server = await startServer(t, folder);
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
  const { tenant_token } = server.credentials;
  assert.equal((await call(server.url, tenant_token, '/v1/customers')).status, 200);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
});
