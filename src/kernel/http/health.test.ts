import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { test } from 'node:test';
import Fastify from 'fastify';
import { createMetrics } from '../metrics/metrics.ts';
import { CHECK_TIMEOUT_MS, type HealthOptions, mountHealth } from './health.ts';

function serverWith(options: Partial<HealthOptions>) {
  const app = Fastify();
  mountHealth(app, {
    service: 'example',
    commit: 'abc',
    checks: { db: async () => undefined },
    metrics: createMetrics(),
    isServing: () => true,
    ...options,
  });
  return app;
}

test('a living process names its service and its source', async () => {
  const reply = await serverWith({}).inject('/healthz');
  assert.equal(reply.statusCode, 200);
  assert.deepEqual(reply.json(), { ok: true, service: 'example', commit: 'abc' });
});

test('a server whose checks pass is ready', async () => {
  const reply = await serverWith({}).inject('/readyz');
  assert.equal(reply.statusCode, 200);
  assert.deepEqual(reply.json(), { ok: true, service: 'example', checks: { db: 'ok' } });
});

test('one failed check makes the server unready, and the answer says which', async () => {
  const checks = { db: async () => undefined, disk: async () => Promise.reject(new Error('full')) };
  const reply = await serverWith({ checks }).inject('/readyz');
  assert.equal(reply.statusCode, 503);
  assert.deepEqual(reply.json(), { ok: false, service: 'example', checks: { db: 'ok', disk: 'failed' } });
});

test('a server that starts or drains lives but is not ready', async () => {
  const app = serverWith({ isServing: () => false });
  assert.equal((await app.inject('/readyz')).statusCode, 503);
  assert.equal((await app.inject('/healthz')).statusCode, 200);
});

test('a check that hangs fails after its time and is asked once by all who wait', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let calls = 0;
  const hang = () => {
    calls += 1;
    return new Promise<void>(() => undefined);
  };
  const app = serverWith({ checks: { db: hang } });
  await app.ready();
  const replies = [app.inject('/readyz'), app.inject('/readyz')];
  while (calls === 0) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(CHECK_TIMEOUT_MS);
  for (const reply of await Promise.all(replies)) {
    assert.equal(reply.statusCode, 503);
    assert.deepEqual(reply.json().checks, { db: 'failed' });
  }
  assert.equal(calls, 1);
});

test('a check is not late because the event loop was held up while its answer came', async () => {
  let isAsked = false;
  const check = async () => {
    isAsked = true;
    await stat('.');
  };
  const app = serverWith({ checks: { disk: check } });
  await app.ready();
  const reply = app.inject('/readyz');
  while (!isAsked) await new Promise((resolve) => setImmediate(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, CHECK_TIMEOUT_MS + 100);
  assert.deepEqual((await reply).json().checks, { disk: 'ok' });
});

test('a check that failed once is asked again', async () => {
  let works = false;
  const app = serverWith({ checks: { db: async () => (works ? undefined : Promise.reject(new Error('down'))) } });
  assert.equal((await app.inject('/readyz')).statusCode, 503);
  works = true;
  assert.equal((await app.inject('/readyz')).statusCode, 200);
});

test('metrics are Prometheus text', async () => {
  const metrics = createMetrics();
  metrics.counter('turns_total', 'Turns').inc();
  const reply = await serverWith({ metrics }).inject('/metrics');
  assert.match(String(reply.headers['content-type']), /^text\/plain; version=/);
  assert.match(reply.body, /^turns_total 1$/m);
});

test('metrics with a token are for whoever holds it', async () => {
  const app = serverWith({ metricsToken: 'a-token-of-the-operator' });
  assert.equal((await app.inject('/healthz')).statusCode, 200);
  for (const authorization of [undefined, '', 'Bearer', 'Bearer a-token-of-the-operato', 'a-token-of-the-operator']) {
    const headers = authorization === undefined ? {} : { authorization };
    const reply = await app.inject({ url: '/metrics', headers });
    assert.notEqual(reply.statusCode, 200, authorization);
    assert.doesNotMatch(reply.body, /process_cpu/);
  }
  const headers = { authorization: 'Bearer a-token-of-the-operator' };
  assert.equal((await app.inject({ url: '/metrics', headers })).statusCode, 200);
});

test('metrics that are served elsewhere are not found here', async () => {
  assert.equal((await serverWith({ metrics: undefined }).inject('/metrics')).statusCode, 404);
});
