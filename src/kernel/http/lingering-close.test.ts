/** Bodies that are larger than allowed, of clients that write all of it before they read. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { startDomains } from '../../../test/support/domains.ts';
import { startPlatform } from '../../../test/support/platform.ts';
import { type LingerLimits, lingerBeforeClose } from './lingering-close.ts';

const MEGABYTE = 1024 * 1024;
const TOO_LARGE = 11 * MEGABYTE;

/** Sends the whole body, then reads until the connection is over. */
async function writeThenRead(url: string, head: readonly string[], body: Buffer): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  await once(socket, 'connect');
  socket.write(`${[head[0], `Host: ${host}`, ...head.slice(1)].join('\r\n')}\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.write(body, () => resolve());
  });
  return readAll(socket);
}

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

const chunked = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]);

const platform = await startPlatform();
const domains = await startDomains();
after(() => Promise.all([platform.close(), domains.close()]));
const SERVICES = [
  ['the platform', platform.url, '/v1/projects', '"payload_too_large"'],
  ['the domain service', domains.url, `${new URL(domains.url).pathname}/accounts`, '"payload_too_large"'],
] as const;

for (const [service, url, path, code] of SERVICES) {
  describe(`a body that is too large for ${service}`, () => {
    const head = [`POST ${path} HTTP/1.1`, 'Content-Type: application/json'];
    const body = Buffer.from(`"${'x'.repeat(TOO_LARGE - 2)}"`);
    for (const [how, length, bytes] of [
      ['with its length', `Content-Length: ${body.length}`, body],
      ['in chunks', 'Transfer-Encoding: chunked', chunked(body)],
    ] as const) {
      test(`${how} is answered with 413 to a client that reads only then, and the connection is closed`, async () => {
        const answer = await writeThenRead(url, [...head, length], bytes);
        assert.match(answer, /^HTTP\/1\.1 413 /);
        assert.match(answer, /^connection: close\r$/im);
        assert.ok(answer.includes(code), answer);
      });
    }
  });
}

describe('what is dropped', () => {
  /** A server that refuses every body at once, and reads on within these limits. */
  async function openRefusing(limits: LingerLimits) {
    const { promise: closed, resolve: tellClosed } = Promise.withResolvers<void>();
    const server = createServer((request, response) => {
      request.socket.once('close', () => tellClosed());
      lingerBeforeClose(request, limits);
      response.writeHead(413, { connection: 'close' }).end('no');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return { url: `http://127.0.0.1:${port}`, close, closed };
  }

  test('has an end in time: a client that stops sending is cut off', async (t) => {
    const { close, closed, url } = await openRefusing({ maxBytes: TOO_LARGE, timeoutMs: 50 });
    t.after(close);
    const { hostname, port, host } = new URL(url);
    // It keeps its side open after the server has ended its own.
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${TOO_LARGE}\r\n\r\nthe first`);
    assert.match(await readAll(socket), /^HTTP\/1\.1 413 /);
    await closed;
  });

  test('has an end in size: a client that never stops is cut off', async (t) => {
    const { close, url } = await openRefusing({ maxBytes: MEGABYTE, timeoutMs: 600_000 });
    t.after(close);
    const { hostname, port, host } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    let sent = 0;
    const isOver = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const send = (error?: Error | null) => {
      if (socket.destroyed || error != null) return;
      sent += MEGABYTE;
      socket.write(chunked(Buffer.alloc(MEGABYTE)).subarray(0, -5), (error) => setImmediate(send, error));
    };
    send();
    await isOver;
    assert.ok(sent < 64 * MEGABYTE, `${sent} bytes were taken`);
  });
});
