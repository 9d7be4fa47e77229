import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';
import { startMetricsServer } from './serve-metrics.ts';

const TOKEN = 'a-token-of-the-operator';

test('each service has a page, and nothing else is there', async () => {
  const [platform, domains] = [createMetrics(), createMetrics()];
  platform.counter('turns_total', 'Turns').inc();
  const pages = { platform, domains };
  const server = await startMetricsServer({ host: '127.0.0.1', port: 0, token: undefined, pages });
  const get = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${server.port}${path}`, init);
  try {
    const page = await get('/metrics/platform');
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-type') ?? '', /^text\/plain; version=/);
    assert.match(await page.text(), /^turns_total 1$/m);
    assert.doesNotMatch(await (await get('/metrics/domains')).text(), /turns_total/);
    const missing = await get('/metrics');
    assert.deepEqual([missing.status, await missing.text()], [404, '/metrics/platform\n/metrics/domains\n']);
    assert.equal((await get('/metrics/platform', { method: 'POST' })).status, 405);
  } finally {
    await server.close();
  }
});

test('with a token, nobody without it gets anything', async () => {
  const server = await startMetricsServer({
    host: '127.0.0.1',
    port: 0,
    token: TOKEN,
    pages: { platform: createMetrics() },
  });
  try {
    const statuses = [];
    for (const authorization of ['', TOKEN, `Bearer ${TOKEN}x`, `bearer ${TOKEN}`, `Bearer ${TOKEN}`]) {
      const answer = await fetch(`http://127.0.0.1:${server.port}/metrics/platform`, { headers: { authorization } });
      await answer.text();
      statuses.push(answer.status);
    }
    assert.deepEqual(statuses, [401, 401, 401, 401, 200]);
  } finally {
    await server.close();
  }
});
