/** Connections of one address and in all, at a service with low limits, and at one behind a proxy. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { startSmallService } from '../../../test/support/small-service.ts';
import { createMetrics } from '../metrics/metrics.ts';
import type { ConnectionLimits } from './limit-connections.ts';
import { createPeerCheck } from './trusted-peer.ts';

const LIMITS: ConnectionLimits = { perAddress: 3, total: 5 };

/** A connection from an address of loopback; what it is told without having asked, if anything. */
async function open(url: string, localAddress = '127.0.0.1'): Promise<{ socket: Socket; told: () => string }> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
  });
  await once(socket, 'connect');
  return { socket, told: () => text };
}

/** The answer to a request on the connection. */
async function ask({ socket, told }: Awaited<ReturnType<typeof open>>): Promise<string> {
  if (socket.writable) socket.write('GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n');
  while (!told().includes('"code":') && !socket.destroyed) await new Promise((resolve) => setTimeout(resolve, 5));
  return told();
}

test('one connection more than an address may have is told so and closed, others are not, and one that ends makes room', async () => {
  const metrics = createMetrics();
  const service = await startSmallService([], { connections: LIMITS, metrics });
  try {
    const mine = [];
    for (let at = 0; at < LIMITS.perAddress; at += 1) mine.push(await open(service.url));
    for (const one of mine) assert.match(await ask(one), /^HTTP\/1\.1 404 /);
    const over = await open(service.url);
    await once(over.socket, 'close');
    assert.match(over.told(), /^HTTP\/1\.1 503 /);
    assert.match(over.told(), /\r\nRetry-After: 5\r\n/);
    assert.match(over.told(), /"code":"service_overloaded"/);
    assert.match(over.told(), /3 connections of one address are open, which is the limit/);
    for (const name of ['ratelimit', 'X-Version', 'X-Request-Id', 'Connection: close']) {
      assert.ok(over.told().includes(`\r\n${name}`), name);
    }
    assert.match(await ask(await open(service.url, '127.0.0.2')), /^HTTP\/1\.1 404 /);
    assert.match(await metrics.render(), /^http_connections_closed_total\{reason="too_many_of_address"\} 1$/m);
    assert.match(await metrics.render(), /^http_connections_open 4$/m);

    mine[0]?.socket.destroy();
    for (;;) {
      if ((await ask(await open(service.url))).startsWith('HTTP/1.1 404')) break;
    }
  } finally {
    await service.close();
  }
});

test('one connection more than there may be in all is told so, whoever opens it', async () => {
  const service = await startSmallService([], { connections: LIMITS });
  try {
    for (const address of ['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.2', '127.0.0.2']) {
      assert.match(await ask(await open(service.url, address)), /^HTTP\/1\.1 404 /);
    }
    const over = await open(service.url, '127.0.0.3');
    await once(over.socket, 'close');
    assert.match(over.told(), /^HTTP\/1\.1 503 [\s\S]*"message":"5 connections are open, which is the limit/);
  } finally {
    await service.close();
  }
});

test('a trusted proxy is held to the total alone', async () => {
  const service = await startSmallService([], { connections: LIMITS, trustProxy: ['127.0.0.9'] });
  try {
    for (let at = 0; at < LIMITS.total; at += 1) {
      assert.match(await ask(await open(service.url, '127.0.0.9')), /^HTTP\/1\.1 404 /);
    }
    const over = await open(service.url, '127.0.0.9');
    await once(over.socket, 'close');
    assert.match(over.told(), /^HTTP\/1\.1 503 /);
  } finally {
    await service.close();
  }
});

test('who is refused and never hangs up is cut off', { timeout: 60_000 }, async () => {
  const service = await startSmallService([], { connections: { perAddress: 1, total: 1 } });
  try {
    const first = await open(service.url);
    const { hostname, port } = new URL(service.url);
    const over = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    over.on('error', () => undefined).resume();
    await once(over, 'end');
    // The server's side is closed; writing into it is answered by a reset.
    while (!over.destroyed) {
      over.write('x');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    first.socket.destroy();
  } finally {
    await service.close();
  }
});

test('who is trusted as a proxy', () => {
  const cases: readonly (readonly [trust: Parameters<typeof createPeerCheck>[0], address: string, trusted: boolean])[] =
    [
      [false, '127.0.0.1', false],
      [['loopback'], '127.0.0.1', true],
      [['loopback'], '::1', true],
      [['loopback'], '::ffff:127.0.0.1', true],
      [['loopback'], '10.0.0.1', false],
      [['uniquelocal'], '10.1.2.3', true],
      [['uniquelocal'], 'fd00::1', true],
      [['linklocal'], 'fe80::1', true],
      [['10.0.0.0/8'], '::ffff:10.9.9.9', true],
      [['192.0.2.1', '2001:db8::/32'], '2001:db8:5::1', true],
      [['192.0.2.1'], '192.0.2.2', false],
      [['192.0.2.1'], '', false],
      [(_address, hop) => hop < 1, '198.51.100.1', true],
    ];
  for (const [trust, address, trusted] of cases) {
    assert.equal(createPeerCheck(trust)(address), trusted, `${String(trust)} ${address}`);
  }
});
