/** A server is ready no sooner than all its ports are open, and a signal drains it from then on. The soak ends starts at earlier moments. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  FREE_PORTS,
  type Launched,
  launch,
  makeFolder,
  openGivenStore,
  type Variables,
  waitFor,
} from './server-process.ts';

const PATIENCE_MS = 60_000;
const EARLY_MS = 30_000;

function launchServer(t: TestContext, folder: string, store: Variables): Launched {
  const server = launch(['serve'], folder, {
    ...store,
    ...FREE_PORTS,
    // The longest there is: one that has nothing in flight does not wait for it.
    IRONCRAFT_DRAIN_SECONDS: '60',
  });
  t.after(async () => {
    server.child.kill('SIGKILL');
    await server.ended;
  });
  return server;
}

test('a server is ready only when all its ports are open, and a signal ends it then, without waiting for its deadline', async (t) => {
  const folder = await makeFolder(t);
  const server = launchServer(t, folder, await openGivenStore(t));
  const addresses = await waitFor('two open ports', PATIENCE_MS, async () => {
    const found = [...server.stderr().matchAll(/Server listening at (http:\S+?)"/g)].map(([, address]) => address);
    return found.length === 2 ? found : undefined;
  });
  await waitFor('ready answers', PATIENCE_MS, async () => {
    const replies = await Promise.all(addresses.map((address) => fetch(`${address}/readyz`)));
    return replies.every(({ status }) => status === 200) || undefined;
  });
  server.child.kill('SIGTERM');
  const ended = await waitFor('end before the deadline', EARLY_MS, () =>
    Promise.race([server.ended, Promise.resolve(undefined)]),
  );
  assert.deepEqual(ended, { code: 0, signal: null });
  assert.match(server.stderr(), /"draining"/);
});
