import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import Fastify from 'fastify';
import { createLifecycle, type Resource, type Worker } from './service-lifecycle.ts';

function recorder() {
  const seen: string[] = [];
  const note = async (what: string): Promise<void> => void seen.push(what);
  const resource = (name: string): Resource => ({
    start: () => note(`start ${name}`),
    stop: () => note(`stop ${name}`),
  });
  const worker = (name: string): Worker => ({
    ...{ start: () => note(`start ${name}`), stop: () => note(`stop ${name}`) },
    drain: (timeoutMs) => note(`drain ${name} ${timeoutMs}`),
  });
  return { seen, note, resource, worker };
}

test('resources are there before the first worker and until after the last; the server ends after all', async () => {
  const { seen, note, resource, worker } = recorder();
  const app = Fastify();
  app.addHook('onClose', () => note('close'));
  const lifecycle = createLifecycle({
    app,
    resources: [resource('registry'), { stop: () => note('stop reader') }],
    workers: [worker('engine'), { start: () => note('start orders'), stop: () => note('stop orders') }],
  });
  await lifecycle.start();
  assert.deepEqual(seen.splice(0), ['start registry', 'start engine', 'start orders']);
  await lifecycle.drain(7);
  assert.deepEqual(seen.splice(0), ['drain engine 7', 'stop orders']);
  await lifecycle.stop();
  assert.deepEqual(seen, ['stop engine', 'stop orders', 'stop registry', 'stop reader', 'close']);
});

test('a connection whose client never reads on does not keep the server from stopping', async (t) => {
  const app = Fastify();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  app.get('/', () => {
    resolve();
    return new Promise(() => undefined);
  });
  const lifecycle = createLifecycle({ app, resources: [], workers: [] });
  await lifecycle.start();
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  assert.ok(address !== null && typeof address === 'object');
  const socket = connect(address.port, '127.0.0.1').on('error', () => undefined);
  t.after(() => socket.destroy());
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await asked;
  const closed = once(socket, 'close');
  await lifecycle.stop();
  await closed;
});
