/** A server is ready no sooner than all its ports are open, and a signal drains it from then on. The soak ends starts at earlier moments. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FREE_PORTS, type Launched, launch, makeFolder, waitFor } from './server-process.ts';

const PATIENCE_MS = 60_000;

function launchServer(t: TestContext, folder: string): Launched {
  const server = launch(['serve'], folder, FREE_PORTS);
  t.after(async () => {
    server.child.kill('SIGKILL');
    await server.ended;
  });
  return server;
}

test('a server is ready only when all its ports are open, and a signal drains it then', async (t) => {
  const folder = await makeFolder(t);
  const server = launchServer(t, folder);
  const addresses = await waitFor('two open ports', PATIENCE_MS, async () => {
    const found = [...server.stderr().matchAll(/Server listening at (http:\S+?)"/g)].map(([, address]) => address);
    return found.length === 2 ? found : undefined;
  });
  await waitFor('ready answers', PATIENCE_MS, async () => {
    const replies = await Promise.all(addresses.map((address) => fetch(`${address}/readyz`)));
    return replies.every(({ status }) => status === 200) || undefined;
  });
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.ended, { code: 0, signal: null });
  assert.match(server.stderr(), /"draining"/);
});
