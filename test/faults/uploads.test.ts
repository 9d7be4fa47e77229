/**
 * Uploads that are larger than any memory they may take, that break off, or that meet the end of their server. The server
 * is a process of its own: its memory is told from the sender's.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { makeFolder, type ServerProcess, startServer } from '../boot/server-process.ts';
import { type Client, createClient } from '../support/platform.ts';

const MIB = 1024 * 1024;
const FILE_LIMIT = 300 * MIB;
const STORED = 256 * MIB;
const FAR_TOO_LARGE = 2048 * MIB;
/** The first start of an embedded database on a busy machine, and a few uploads. */
const BEFORE = { timeout: 400_000 };
/**
 * Half of the file. Up to 64 MiB of buffers that nobody holds any more, beside its young objects, V8 lets gather before it looks
 * for garbage, and more while its threads get no processor; that is the same for a file of any size.
 */
const MAX_GROWTH = STORED / 2;
const MAX_WARM_UPS = 25;
const CHUNK = Buffer.alloc(256 * 1024, 'x');
const HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n';
const TAIL = '\r\n--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nevals\r\n--b--\r\n';
/** The folder store keeps unfinished uploads here. */
const UNFINISHED = 'uploads';

const cleanups: (() => Promise<void>)[] = [];
let server: ServerProcess;
let tenant: Client;
/** The most that the server took for small files. */
let warmBytes = 0;
before(async () => {
  const suite = { after: (work: () => Promise<void>) => void cleanups.unshift(work) };
  const variables = { IRONCRAFT_FILE_LIMIT_BYTES: String(FILE_LIMIT) };
  server = await startServer(suite, await makeFolder(suite), variables, { only: 'platform' });
  tenant = createClient(server.url, server.credentials.tenant_token);
  // What the first requests load stays: it is no growth of an upload.
  await warmUp();
}, BEFORE);
after(async () => {
  for (const work of cleanups) await work();
});

describe('the memory of the server stays where it was', { skip: process.platform !== 'linux' }, () => {
  test('while it stores a file of 256 MiB, and gives it back', { timeout: 120_000 }, async () => {
    const watch = watchMemory(server.pid);
    const { status, body } = await sendFile(STORED, 'announced');
    assert.deepEqual([status, body.bytes, body.purpose], [200, STORED, 'evals'], JSON.stringify(body));
    const response = await tenant.open('GET', `/v1/files/${body.id}/content`);
    let received = 0;
    for await (const chunk of response.body ?? []) received += (chunk as Uint8Array).byteLength;
    assert.equal(received, STORED);
    assertBounded(watch.stop());
    assert.equal((await tenant.delete(`/v1/files/${body.id}`)).status, 200);
  });

  for (const length of ['announced', 'unannounced'] as const) {
    test(`while it refuses one of 2 GiB whose length is ${length}`, { timeout: 120_000 }, async () => {
      const watch = watchMemory(server.pid);
      const { status, body, sentBytes } = await sendFile(FAR_TOO_LARGE, length);
      assert.deepEqual([status, body.error.code, body.error.param], [413, 'payload_too_large', 'file']);
      assert.ok(sentBytes < FAR_TOO_LARGE, 'the refusal came before the end');
      assertBounded(watch.stop());
      await assertNothingLeft();
    });
  }

  test('while a reader who reads nothing holds a download open', { timeout: 120_000 }, async () => {
    const { body } = await sendFile(100 * MIB, 'announced');
    const watch = watchMemory(server.pid);
    const sockets = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const socket = await open();
        socket.write(`GET /v1/files/${body.id}/content HTTP/1.1\r\n${rest()}\r\n`);
        await once(socket, 'readable');
        return socket;
      }),
    );
    await wait(500);
    assertBounded(watch.stop());
    for (const socket of sockets) socket.destroy();
    assert.equal((await tenant.delete(`/v1/files/${body.id}`)).status, 200);
  });
});

describe('an upload that breaks off leaves nothing', () => {
  test('when its sender goes away', { timeout: 60_000 }, async () => {
    const socket = await open();
    socket.write(`${requestHead(`Content-Length: ${STORED}`)}${HEAD}`);
    await sendUntil(socket, 8 * MIB, 'announced');
    await until(() => unfinished().length === 1);
    socket.destroy();
    await until(() => unfinished().length === 0);
    await assertNothingLeft();
  });

  test('when its form ends without its last boundary', { timeout: 60_000 }, async () => {
    const content = `${HEAD}${'x'.repeat(1000)}`;
    const response = await fetch(`${server.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'multipart/form-data; boundary=b' },
      body: content,
    });
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.deepEqual([response.status, error.code], [422, 'invalid_request']);
    assert.match(error.message, /broke off/);
    await assertNothingLeft();
  });

  test('when the whole upload is NUL bytes in the place of a form', async () => {
    const response = await fetch(`${server.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'multipart/form-data; boundary=b' },
      body: Buffer.alloc(MIB),
    });
    const { error } = (await response.json()) as { error: { code: string } };
    assert.deepEqual([response.status, error.code], [422, 'invalid_request']);
    await assertNothingLeft();
  });
});

test('NUL bytes are content like any other, and none of a name', async () => {
  const form = new FormData();
  form.set('file', new Blob([Buffer.alloc(1000)]), 'a\0b.txt');
  const created = await tenant.post('/v1/files', form);
  assert.deepEqual([created.status, created.body.bytes, created.body.filename], [200, 1000, 'ab.txt'], created.text);
  const got = await tenant.open('GET', `/v1/files/${created.body.id}/content`);
  assert.deepEqual(Buffer.from(await got.arrayBuffer()), Buffer.alloc(1000));
  await tenant.delete(`/v1/files/${created.body.id}`);
});

interface Sent {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into bodies of every shape.
  readonly body: any;
  readonly sentBytes: number;
}

/** Sends a file of this size until the answer comes, and on no longer. */
async function sendFile(bytes: number, length: 'announced' | 'unannounced'): Promise<Sent> {
  const socket = await open();
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  const total = HEAD.length + bytes + TAIL.length;
  socket.write(requestHead(length === 'announced' ? `Content-Length: ${total}` : 'Transfer-Encoding: chunked'));
  write(socket, HEAD, length);
  const sentBytes = await sendUntil(socket, bytes, length, () => received !== '');
  if (sentBytes === bytes) {
    write(socket, TAIL, length);
    if (length === 'unannounced') socket.write('0\r\n\r\n');
  }
  await until(() => wholeBody(received) !== undefined);
  socket.destroy();
  const status = Number(received.split(' ')[1]);
  return { status, body: JSON.parse(wholeBody(received) ?? 'null'), sentBytes };
}

async function sendUntil(socket: Socket, bytes: number, length: string, stop = () => false): Promise<number> {
  let sent = 0;
  while (sent < bytes && !stop()) {
    const part = CHUNK.subarray(0, Math.min(CHUNK.length, bytes - sent));
    sent += part.length;
    if (!write(socket, part, length)) await drainedOrAnswered(socket);
    else await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}

async function drainedOrAnswered(socket: Socket): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(socket, 'drain', { signal }), once(socket, 'data', { signal })]);
  settled.abort();
}

function write(socket: Socket, part: string | Buffer, length: string): boolean {
  if (length === 'announced') return socket.write(part);
  socket.write(`${part.length.toString(16)}\r\n`);
  socket.write(part);
  return socket.write('\r\n');
}

function wholeBody(received: string): string | undefined {
  const end = received.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(received)?.[1];
  if (end < 0 || length === undefined) return undefined;
  const body = received.slice(end + 4);
  return body.length >= Number(length) ? body : undefined;
}

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

function requestHead(length: string): string {
  return `POST /v1/files HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\n${length}\r\n${rest()}\r\n`;
}

function rest(): string {
  return `Host: localhost\r\nAuthorization: Bearer ${tenant.token}\r\n`;
}

function blobFiles(): string[] {
  const root = join(server.dataDir, 'files');
  const isFile = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true;
  return existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isFile) : [];
}

function unfinished(): string[] {
  return blobFiles().filter((path) => path.startsWith(UNFINISHED));
}

/** The uploads of `before` are still there; nothing else is. */
async function assertNothingLeft(): Promise<void> {
  const { data } = (await tenant.get('/v1/files?limit=100')).body;
  await until(() => blobFiles().length === data.length);
  assert.equal(unfinished().length, 0);
}

/** Small files until the server's memory has stopped growing: what first requests, and first rounds of its workers, load. */
async function warmUp(): Promise<void> {
  for (let [round, settled] = [0, 0]; round < MAX_WARM_UPS && settled < 4; round += 1) {
    const { body } = await sendFile(20 * MIB, 'announced');
    await (await tenant.open('GET', `/v1/files/${body.id}/content`)).arrayBuffer();
    await tenant.delete(`/v1/files/${body.id}`);
    const resident = process.platform === 'linux' ? readResidentBytes(server.pid) : 0;
    settled = resident <= warmBytes ? settled + 1 : 0;
    warmBytes = Math.max(warmBytes, resident);
  }
}

function readResidentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** Samples resident memory; answers with where it began and its highest. */
function watchMemory(pid: number): { stop(): { readonly first: number; readonly highest: number } } {
  const read = () => readResidentBytes(pid);
  // What small files take has been given back in part.
  const first = Math.max(warmBytes, read());
  let highest = first;
  const timer = setInterval(() => {
    highest = Math.max(highest, read());
  }, 10);
  return {
    stop() {
      clearInterval(timer);
      return { first, highest: Math.max(highest, read()) };
    },
  };
}

function assertBounded({ first, highest }: { readonly first: number; readonly highest: number }): void {
  const grown = highest - first;
  assert.ok(grown < MAX_GROWTH, `grew by ${Math.round(grown / MIB)} MiB`);
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await wait(5);
}
