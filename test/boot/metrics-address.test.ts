/** Metrics on an address of their own, with a token. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { makeFolder, openGivenStore, startServer } from './server-process.ts';

const TOKEN = 'a-token-of-the-operator';

test('metrics move to their own address, ask for their token, and are not found where clients are served', async (t) => {
  const port = await findFreePort();
  const server = await startServer(t, await makeFolder(t), {
    ...(await openGivenStore(t)),
    IRONCRAFT_METRICS_PORT: String(port),
    IRONCRAFT_METRICS_TOKEN: TOKEN,
  });
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(url, { headers });
    return { status: answer.status, text: await answer.text() };
  };
  const authorization = `Bearer ${TOKEN}`;
  assert.equal((await get(`${server.url}/metrics`, { authorization })).status, 404);
  assert.equal((await get(`${server.url}/readyz`)).status, 200);
  assert.equal((await get(`http://127.0.0.1:${port}/metrics/platform`)).status, 401);
  const platform = await get(`http://127.0.0.1:${port}/metrics/platform`, { authorization });
  assert.equal(platform.status, 200);
  assert.match(platform.text, /^runs_in_flight 0$/m);
  assert.match(platform.text, /^http_connections_open \d+$/m);
  const domains = await get(`http://127.0.0.1:${port}/metrics/domains`, { authorization });
  assert.match(domains.text, /^domains_ledger_findings /m);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
});

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
