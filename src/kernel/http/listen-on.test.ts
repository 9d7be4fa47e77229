import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify from 'fastify';
import { limitConnections } from './limit-connections.ts';
import { listenOn } from './listen-on.ts';

/** Two addresses of the machine, as `localhost` has where there is IPv6. */
const ADDRESSES = ['127.0.0.1', '127.0.0.2'];
const lookUp = async () => ADDRESSES.map((address) => ({ address }));

const CLIENTS = 64;

async function open(host: string | undefined, port: number): Promise<Socket> {
  const socket = connect({ host: host ?? '', port, localAddress: '127.0.0.1' });
  await once(socket, 'connect');
  return socket;
}

test('every address of a name answers, and the limits of connections hold for all of them together', async () => {
  const app = Fastify();
  app.get('/', async () => 'here');
  let refused = 0;
  limitConnections(app.server, {
    perAddress: 3,
    total: 10,
    trustProxy: false,
    refuse(socket) {
      refused += 1;
      socket.destroy();
    },
  });
  await app.ready();
  const stop = await listenOn(app, { host: 'localhost', port: 0 }, lookUp);
  const address = app.server.address();
  assert.ok(address !== null && typeof address === 'object');
  const { port } = address;
  for (const host of ADDRESSES) {
    const answer = await fetch(`http://${host}:${port}/`, { headers: { connection: 'close' } });
    assert.equal(await answer.text(), 'here');
  }
  const sockets = [await open(ADDRESSES[0], port), await open(ADDRESSES[1], port), await open(ADDRESSES[1], port)];
  const over = await open(ADDRESSES[1], port);
  over.on('error', () => undefined);
  await once(over, 'close');
  assert.equal(refused, 1);
  for (const socket of sockets) socket.destroy();
  stop();
  await app.close();
  await assert.rejects(open(ADDRESSES[1], port));
});

test('an address that the machine does not have is left out', async () => {
  const app = Fastify();
  const stop = await listenOn(app, { host: 'localhost', port: 0 }, async () => [
    { address: '127.0.0.1' },
    { address: '203.0.113.1' },
  ]);
  assert.equal(app.addresses().length, 1);
  stop();
  await app.close();
});

test('several connections are taken in one turn of the event loop', {
  skip: process.platform === 'linux' ? false : 'sockets share a port on Linux',
}, async () => {
  const app = Fastify();
  let taken = 0;
  app.server.on('connection', () => {
    taken += 1;
  });
  const stop = await listenOn(app, { host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  assert.ok(address !== null && typeof address === 'object');
  const clients = Array.from({ length: CLIENTS }, () => connect({ host: '127.0.0.1', port: address.port }));
  let turns = 0;
  for (; taken < CLIENTS; turns += 1) await nextTurn();
  assert.ok(turns < CLIENTS / 2, `${turns} turns for ${CLIENTS} connections`);
  for (const client of clients) client.destroy();
  stop();
  await app.close();
});
