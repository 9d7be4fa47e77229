/** Bodies that are on their way, at a service whose callers open many and finish none. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { startSmallService } from '../../../test/support/small-service.ts';
import { createBodyBudget } from './body-budget.ts';
import { ApiError } from './errors.ts';
import { operationsFor } from './operation.ts';
import { Type } from './type-builder.ts';

const LIMIT = 1_000_000;
const MIB = 1024 * 1024;

function requestOf(headers: Record<string, string>): IncomingMessage {
  return Object.assign(new PassThrough(), { headers }) as unknown as IncomingMessage;
}

function refuses(admit: () => void, message: RegExp): void {
  assert.throws(admit, (error) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, 'service_overloaded');
    assert.equal(error.detail.retryAfterSeconds, 1);
    assert.match(error.message, message);
    return true;
  });
}

test('each caller has a quarter of the room, all have the whole, and what ends makes room', async () => {
  const budget = createBodyBudget(1024, 4 * MIB);
  const open = (owner: string, bytes = MIB) => {
    const request = requestOf({ 'content-length': String(bytes) });
    budget.admit(request, owner, 16 * MIB);
    return request;
  };
  const first = open('a');
  refuses(() => open('a', 64 * 1024), /of one caller are more than 1048576 bytes together/);
  for (const owner of ['b', 'c', 'd']) open(owner);
  refuses(() => open('e', 64 * 1024), /are more than 4194304 bytes together/);
  open('a', 64 * 1024 - 1);
  first.destroy();
  await once(first, 'close');
  open('a');
});

test('a body that does not say how long it is takes as much as it may have', () => {
  const budget = createBodyBudget(1024, 4 * MIB);
  const chunked = () => budget.admit(requestOf({ 'transfer-encoding': 'chunked' }), 'a', MIB);
  chunked();
  refuses(chunked, /more than/);
});

test('no body and one that is too long take nothing', () => {
  const budget = createBodyBudget(1024, 4 * MIB);
  for (let at = 0; at < 10; at += 1) {
    budget.admit(requestOf({}), 'a', MIB);
    budget.admit(requestOf({ 'content-length': String(8 * MIB) }), 'a', MIB);
  }
});

test('there is room for several bodies, however large they may be', () => {
  const budget = createBodyBudget(1024 * MIB);
  const open = () => budget.admit(requestOf({ 'content-length': String(1024 * MIB) }), 'a', 1024 * MIB);
  open();
  open();
  refuses(open, /more than 2147483648/);
});

test('a request that has left takes nothing', () => {
  const budget = createBodyBudget(1024, 4 * MIB);
  const request = requestOf({ 'content-length': String(MIB) });
  request.destroy();
  for (let at = 0; at < 10; at += 1) budget.admit(request, 'a', MIB);
});

test('callers that open more bodies than there is room for are told so, others are served', {
  timeout: 60_000,
}, async () => {
  const { change } = operationsFor<unknown>();
  const service = await startSmallService(
    [
      change({
        id: 'things.create',
        method: 'POST',
        path: '/v1/things',
        posture: 'open',
        summary: 'Create',
        body: Type.Object({ text: Type.String() }),
        reply: Type.Object({ length: Type.Integer() }),
        handler: async ({ body }) => ({ length: body.text.length }),
      }),
    ],
    { bodyLimitBytes: LIMIT },
  );
  const sockets: Socket[] = [];
  try {
    const { hostname, port } = new URL(service.url);
    let answer = '';
    // A quarter of 256 MiB has room for 67 of them.
    for (let at = 0; at < 68; at += 1) {
      const socket = connect({ host: hostname, port: Number(port) });
      sockets.push(socket);
      socket
        .on('error', () => undefined)
        .on('data', (chunk) => {
          answer += chunk.toString();
        });
      socket.write(
        `POST /v1/things HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer greedy\r\nContent-Type: application/json\r\nContent-Length: ${LIMIT}\r\n\r\n{`,
      );
    }
    while (!answer.includes('"code"')) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.match(answer, /^HTTP\/1\.1 503 [\s\S]*"code":"service_overloaded"/);
    const post = async (name: string, length: number) => {
      const response = await fetch(`${service.url}/v1/things`, {
        method: 'POST',
        headers: { authorization: `Bearer ${name}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text: 'x'.repeat(length) }),
      });
      await response.text();
      return response.status;
    };
    assert.equal(await post('modest', LIMIT - 100), 200);
    assert.equal(await post('greedy', 1_000), 200);
    for (const socket of sockets) socket.destroy();
    while ((await post('greedy', LIMIT - 100)) !== 200);
  } finally {
    for (const socket of sockets) socket.destroy();
    await service.close();
  }
});
