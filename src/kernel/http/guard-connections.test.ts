/** A service on loopback, with the timers and the clock of the test. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import WebSocket from 'ws';
import { openTestDatabase } from '../../../test/support/database.ts';
import { describeSmallService, type SmallCaller } from '../../../test/support/small-service.ts';
import { followActivity, LINGER_MS, LOOK_MS } from '../event-loop/activity.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { mountHealth } from './health.ts';
import { SAMPLE_MS } from './lateness.ts';
import { operationsFor } from './operation.ts';
import { createService } from './service.ts';
import { Type } from './type-builder.ts';

const facts = { posture: 'public', summary: 'Wait' } as const;
const { read, socket } = operationsFor<unknown>();
/** Longer than a request counts as work. */
const LONG_MS = 60_000;

let nowMs = 0;
mock.timers.enable({ apis: ['setInterval'] });
mock.method(performance, 'now', () => nowMs);
mock.method(performance, 'eventLoopUtilization', () => ({ active: 0, idle: nowMs, utilization: 0 }));
/** Those that fire so often, and have not been cleared. */
const samplers = new Set<NodeJS.Timeout>();
const { setInterval: set, clearInterval: clear } = globalThis;
mock.method(globalThis, 'setInterval', (callback: () => void, ms: number) => {
  const timer = set(callback, ms);
  if (ms === SAMPLE_MS) samplers.add(timer);
  return timer;
});
mock.method(globalThis, 'clearInterval', (timer: NodeJS.Timeout) => {
  samplers.delete(timer);
  clear(timer);
});

function pass(ms: number): void {
  for (const endMs = nowMs + ms; nowMs < endMs; ) {
    nowMs += LOOK_MS;
    mock.timers.tick(LOOK_MS);
  }
}

let isActive = false;
const unfollow = followActivity({
  start: () => {
    isActive = true;
  },
  stop: () => {
    isActive = false;
  },
});

const entered = Promise.withResolvers<boolean>();
const release = Promise.withResolvers<void>();
const following = Promise.withResolvers<void>();
const received = Promise.withResolvers<boolean>();
const { db, close } = await openTestDatabase();
const app = await createService<SmallCaller>(
  describeSmallService(db, [
    read({
      ...facts,
      method: 'GET',
      id: 'things.wait',
      path: '/v1/wait',
      reply: Type.Object({}),
      async handler() {
        entered.resolve(isActive);
        await release.promise;
        return {};
      },
    }),
    read({
      ...facts,
      method: 'GET',
      id: 'things.follow',
      path: '/v1/follow',
      reply: Type.Object({}),
      async handler() {
        following.resolve();
        await new Promise(() => undefined);
        return {};
      },
    }),
    socket({
      ...facts,
      id: 'things.listen',
      path: '/v1/listen',
      // It answers no ping while the test moves the time.
      socket: { pingMs: 10 * LONG_MS },
      handler: async () => async (connection) => {
        for await (const _ of connection.messages) received.resolve(isActive);
      },
    }),
  ]),
);
mountHealth(app, {
  service: 'things',
  commit: 'abc',
  checks: {},
  metrics: createMetrics(),
  isServing: () => true,
});
let url = '';
before(async () => {
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});
after(async () => {
  unfollow();
  await app.close();
  await close();
  assert.equal(samplers.size, 0, 'the monitor of a closed service is stopped');
  mock.restoreAll();
  mock.timers.reset();
});

/** The state of an idle service that has been called before. */
function rest(): void {
  pass(LONG_MS);
  assert.equal(isActive, false);
  assert.equal(samplers.size, 0);
}

test('a request makes an idle process active before its handler runs, until it is answered', async () => {
  rest();
  const answer = fetch(`${url}/v1/wait`);
  assert.equal(await entered.promise, true);
  assert.equal(samplers.size, 1, 'the lateness monitor');
  pass(LINGER_MS + LOOK_MS);
  assert.equal(isActive, true);
  release.resolve();
  await (await answer).text();
  assert.equal(isActive, true);
  await nextTurn();
  rest();
});

test('a request that has been in progress for long no longer keeps the process active', async () => {
  rest();
  const stopping = new AbortController();
  const answer = fetch(`${url}/v1/follow`, { signal: stopping.signal });
  await following.promise;
  assert.equal(isActive, true);
  rest();
  stopping.abort();
  await assert.rejects(answer);
});

test('a probe leaves an idle process idle', async () => {
  rest();
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  assert.equal(isActive, false);
  assert.equal(samplers.size, 0);
});

test('a WebSocket keeps no process active, and each message makes it active', async () => {
  const client = new WebSocket(`${url.replace('http', 'ws')}/v1/listen`);
  await once(client, 'open');
  rest();
  client.send('hello');
  assert.equal(await received.promise, true);
  client.terminate();
});
