/** Callers that are slow on purpose, and those that are only slow, at a service whose deadlines are short. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { after, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startSmallService } from '../../../test/support/small-service.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { ByteContent } from './byte-content.ts';
import { EventStream, eventFrame } from './event-stream.ts';
import { operationsFor } from './operation.ts';
import { Type } from './type-builder.ts';
import { deadlinesFor } from './watch-connections.ts';

const STALL_MS = 300;
const LIMIT_BYTES = 1_000_000;
/** What a pipe on loopback never takes at once. */
const LARGE_BYTES = 64 * 1024 * 1024;
/** A sender hears of free space when a third of its buffer is free, 1.5 MB on loopback: what is less it may see too late. */
const PORTION_BYTES = 3 * 1024 * 1024;
const facts = { posture: 'public', summary: 'Take' } as const;
const Taken = Type.Object({ bytes: Type.Integer() });
const { read, change, raw, turn, upload, socket } = operationsFor<unknown>();

let releaseHandler = Promise.withResolvers<void>();
let openStreams = 0;
const metrics = createMetrics();
const service = await startSmallService(
  [
    change({
      ...facts,
      method: 'POST',
      id: 'things.create',
      path: '/v1/things',
      body: Type.Object({ text: Type.String() }),
      reply: Taken,
      handler: async ({ body }) => ({ bytes: body.text.length }),
    }),
    raw({
      ...facts,
      method: 'POST',
      id: 'things.take',
      path: '/v1/raw',
      reply: Taken,
      handler: async ({ body }) => ({ bytes: body.bytes.byteLength }),
    }),
    upload({
      ...facts,
      method: 'POST',
      id: 'things.upload',
      path: '/v1/files',
      fields: Type.Object({}),
      upload: {
        field: 'file',
        maxBytes: LIMIT_BYTES,
        async store(_caller, { bytes }) {
          let count = 0;
          for await (const chunk of bytes) count += chunk.byteLength;
          return { sha256: '', count };
        },
        discard: async () => undefined,
      },
      reply: Taken,
      handler: async ({ file }) => ({ bytes: file.count }),
    }),
    read({
      ...facts,
      method: 'GET',
      id: 'things.wait',
      path: '/v1/wait',
      reply: Taken,
      handler: async () => {
        await releaseHandler.promise;
        return { bytes: 0 };
      },
    }),
    read({
      ...facts,
      method: 'GET',
      id: 'things.large',
      path: '/v1/large',
      reply: Type.Object({ text: Type.String() }),
      handler: async () => ({ text: 'x'.repeat(LARGE_BYTES) }),
    }),
    read({
      ...facts,
      method: 'GET',
      id: 'things.bytes',
      path: '/v1/bytes',
      answers: 'bytes',
      handler: async () =>
        new ByteContent({
          totalBytes: LARGE_BYTES,
          mediaType: 'text/plain',
          etag: 'a',
          filename: 'a.txt',
          open: async () => {
            openStreams += 1;
            const stream = Readable.from(Array.from({ length: LARGE_BYTES / 65_536 }, () => Buffer.alloc(65_536)));
            stream.once('close', () => {
              openStreams -= 1;
            });
            return stream;
          },
        }),
    }),
    turn({
      ...facts,
      method: 'POST',
      id: 'things.stream',
      path: '/v1/stream',
      streams: 'only',
      reply: Taken,
      handler: async () =>
        new EventStream(async (sink, closed) => {
          openStreams += 1;
          while (!closed.aborted) {
            if (!sink.write(eventFrame(undefined, 'x'.repeat(65_536)))) await sink.drained();
          }
          openStreams -= 1;
        }),
    }),
    turn({
      ...facts,
      method: 'POST',
      id: 'things.quiet',
      path: '/v1/quiet',
      streams: 'only',
      reply: Taken,
      handler: async () =>
        new EventStream(async (sink) => {
          sink.write(eventFrame(undefined, '1'));
          await wait(4 * STALL_MS);
          sink.write(eventFrame(undefined, '2'));
        }),
    }),
    socket({
      ...facts,
      id: 'things.socket',
      path: '/v1/socket',
      handler: async () => async (session) => {
        for await (const message of session.messages) session.send(message);
      },
    }),
  ],
  { stallMs: STALL_MS, bodyLimitBytes: LIMIT_BYTES, metrics },
);
after(() => service.close());

const post = (path: string, ...lines: string[]) => [`POST ${path} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n');
const JSON_TYPE = 'Content-Type: application/json';
const FORM_TYPE = 'Content-Type: multipart/form-data; boundary=b';
const FILE_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';

interface Conversation {
  readonly socket: Socket;
  /** What has come so far. */
  text(): string;
  /** Resolves when the server has ended the connection. */
  readonly ended: Promise<unknown>;
}

async function open(): Promise<Conversation> {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  const ended = new Promise<void>((resolve) => socket.once('end', resolve).once('close', () => resolve()));
  return { socket, text: () => text, ended };
}

/** Until so many bytes have come in all, or the server has ended the connection. */
async function readUntil({ socket, ended }: Conversation, totalBytes: number): Promise<void> {
  const end = ended.then(() => 'end');
  socket.resume();
  while (socket.bytesRead < totalBytes) if ((await Promise.race([once(socket, 'data'), end])) === 'end') break;
  socket.pause();
}

/** A byte every now and then, until the server has had enough. Returns what it answered. */
async function drip(head: string, everyMs = STALL_MS / 10): Promise<string> {
  const { socket, text, ended } = await open();
  socket.write(head);
  const timer = setInterval(() => socket.write('x'), everyMs);
  try {
    await ended;
    return text();
  } finally {
    clearInterval(timer);
    socket.destroy();
  }
}

const closedFor = async (reason: string) =>
  Number(
    new RegExp(`^http_connections_closed_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(
      await metrics.render(),
    )?.[1] ?? 0,
  );

describe('a body that drips is refused with 408, and its connection closed:', { timeout: 60_000 }, () => {
  for (const [what, head] of [
    ['JSON of a known length', `${post('/v1/things', JSON_TYPE, 'Content-Length: 900000')}{"text":"`],
    ['raw bytes', post('/v1/raw', 'Content-Length: 900000')],
    ['a form, before its file', `${post('/v1/files', FORM_TYPE, 'Content-Length: 900000')}--b\r\nContent-Disp`],
    ['the file of a form', `${post('/v1/files', FORM_TYPE, 'Content-Length: 900000')}${FILE_HEAD}`],
  ] as const) {
    test(what, async () => {
      const before = await closedFor('slow_sender');
      const answer = await drip(head);
      assert.match(answer, /^HTTP\/1\.1 408 /);
      assert.match(answer, /\r\nconnection: close\r\n/);
      assert.match(answer, /"code":"invalid_request"/);
      assert.match(answer, /fewer than 1000 bytes a second/);
      for (const name of ['ratelimit', 'x-version', 'x-request-id']) assert.ok(answer.includes(`\r\n${name}: `), name);
      assert.equal(await closedFor('slow_sender'), before + 1);
    });
  }

  test('chunks of a byte each', async () => {
    const { socket, text, ended } = await open();
    socket.write(post('/v1/things', JSON_TYPE, 'Transfer-Encoding: chunked'));
    const timer = setInterval(() => socket.write('1\r\n \r\n'), STALL_MS / 10);
    await ended;
    clearInterval(timer);
    socket.destroy();
    assert.match(text(), /^HTTP\/1\.1 408 /);
  });

  test('silence', async () => {
    const { socket, text, ended } = await open();
    socket.write(post('/v1/things', JSON_TYPE, 'Content-Length: 100'));
    await ended;
    socket.destroy();
    assert.match(text(), /^HTTP\/1\.1 408 /);
  });

  test('one that is just above the floor, but too slow in all', async () => {
    const { socket, text, ended } = await open();
    socket.write(post('/v1/raw', 'Content-Length: 900000'));
    const timer = setInterval(() => socket.write(Buffer.alloc(2 * (STALL_MS / 10))), STALL_MS / 10);
    await ended;
    clearInterval(timer);
    socket.destroy();
    assert.match(text(), /^HTTP\/1\.1 408 /);
  });
});

describe('a body that goes on after its answer ends the connection:', { timeout: 60_000 }, () => {
  for (const [what, path, status] of [
    ['of a page', '/', 404],
    ['of a document', '/docs/json', 404],
    ['of no route', '/nothing', 404],
  ] as const) {
    test(what, async () => {
      const before = await closedFor('lingering');
      const answer = await drip(post(path, JSON_TYPE, 'Content-Length: 900000'));
      // Whether the answer comes before the deadline of the body is a matter of its route.
      assert.match(answer, new RegExp(`^HTTP/1\\.1 (${status}|408) `));
      const isRefused = answer.startsWith('HTTP/1.1 408');
      assert.equal(await closedFor('lingering'), before + (isRefused ? 0 : 1));
    });
  }

  test('of a GET', async () => {
    const before = await closedFor('lingering');
    const answer = await drip(post('/healthz', 'Content-Length: 900000').replace('POST', 'GET'));
    assert.match(answer, /^HTTP\/1\.1 404 /);
    assert.equal(await closedFor('lingering'), before + 1);
  });
});

describe('headers that do not come end the connection:', { timeout: 60_000 }, () => {
  test('nothing at all', async () => {
    const { socket, ended } = await open();
    await ended;
    socket.destroy();
  });

  test('a header that drips', async () => {
    const answer = await drip('GET /v1/wait HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    assert.match(answer, /^HTTP\/1\.1 408 /);
    assert.match(answer, /"code":"invalid_request"/);
  });

  test('a second request that drips', async () => {
    const answer = await drip(`GET /nothing HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nX: `);
    assert.match(answer, /^HTTP\/1\.1 404 [\s\S]*HTTP\/1\.1 408 /);
  });
});

describe('an answer that nobody reads ends the connection:', { timeout: 60_000 }, () => {
  for (const [what, head] of [
    ['a large one in one piece', post('/v1/large').replace('POST', 'GET')],
    ['the bytes of a file', post('/v1/bytes').replace('POST', 'GET')],
    ['a stream of events', post('/v1/stream')],
  ] as const) {
    test(what, async () => {
      const before = await closedFor('slow_reader');
      const { socket } = await open();
      socket.pause();
      socket.write(head);
      while ((await closedFor('slow_reader')) === before) await wait(20);
      while (openStreams > 0) await wait(20);
      socket.destroy();
    });
  }

  test('a socket whose echoes pile up', async () => {
    const before = await closedFor('slow_reader');
    const { socket } = await open();
    const key = 'dGhlIHNhbXBsZSBub25jZQ==';
    socket.write(
      `GET /v1/socket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    );
    await once(socket, 'data');
    socket.pause();
    // A masked frame of 64 KiB, its mask zero.
    const frame = Buffer.concat([Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), Buffer.alloc(65_536)]);
    const timer = setInterval(() => socket.write(frame), 1);
    while ((await closedFor('slow_reader')) === before) await wait(20);
    clearInterval(timer);
    socket.destroy();
  });
});

describe('who is only slow is served:', { timeout: 60_000 }, () => {
  /** Ten thousand bytes a second for several of the deadlines. */
  async function sendSlowly(head: string, content: Buffer, tail: string): Promise<string> {
    const { socket, text } = await open();
    socket.write(head);
    const startedMs = performance.now();
    for (let sent = 0; sent < content.byteLength; ) {
      await wait(STALL_MS / 10);
      const due = Math.min(content.byteLength, Math.floor((performance.now() - startedMs) * 10));
      socket.write(content.subarray(sent, due));
      sent = due;
    }
    socket.write(tail);
    while (!text().includes('"bytes":')) await wait(10);
    socket.destroy();
    return text();
  }
  const content = Buffer.alloc(10 * 5 * STALL_MS, 'x');

  test('an upload of 10,000 bytes a second', async () => {
    const tail = '\r\n--b--\r\n';
    const length = FILE_HEAD.length + content.byteLength + tail.length;
    const head = post('/v1/files', FORM_TYPE, `Content-Length: ${length}`) + FILE_HEAD;
    assert.match(await sendSlowly(head, content, tail), new RegExp(`"bytes":${content.byteLength}\\}$`));
  });

  test('JSON of 10,000 bytes a second', async () => {
    const length = '{"text":""}'.length + content.byteLength;
    const head = `${post('/v1/things', JSON_TYPE, `Content-Length: ${length}`)}{"text":"`;
    assert.match(await sendSlowly(head, content, '"}'), new RegExp(`"bytes":${content.byteLength}\\}$`));
  });

  test('who waits for a handler that takes long', async () => {
    releaseHandler = Promise.withResolvers();
    const { socket, text } = await open();
    socket.write('GET /v1/wait HTTP/1.1\r\nHost: a\r\n\r\n');
    await wait(4 * STALL_MS);
    releaseHandler.resolve();
    while (!text().includes('"bytes":')) await wait(10);
    assert.match(text(), /^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('who listens to a stream that says nothing for long', async () => {
    const { socket, text } = await open();
    socket.write(post('/v1/quiet'));
    while (!text().includes('data: 2')) await wait(10);
    socket.destroy();
  });

  test('who keeps an idle connection for its next request', async () => {
    const { socket, text } = await open();
    const line = 'GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n';
    socket.write(line);
    while (!text().includes('not_found')) await wait(10);
    await wait(4 * STALL_MS);
    socket.write(line);
    while (text().split('not_found').length < 3) await wait(10);
    socket.destroy();
  });

  test('who reads a large answer slowly', async () => {
    const before = await closedFor('slow_reader');
    const reader = await open();
    const { socket } = reader;
    socket.pause();
    socket.write('GET /v1/large HTTP/1.1\r\nHost: a\r\n\r\n');
    for (let turn = 1; turn <= 20; turn += 1) {
      await wait(STALL_MS / 3);
      await readUntil(reader, turn * PORTION_BYTES);
    }
    assert.equal(await closedFor('slow_reader'), before);
    socket.destroy();
  });

  test('who reads nothing while the server itself is held up', async () => {
    const before = await closedFor('slow_reader');
    const reader = await open();
    const { socket } = reader;
    socket.write('GET /v1/large HTTP/1.1\r\nHost: a\r\n\r\n');
    await readUntil(reader, 1);
    // The first look at the answer begins its window, the next comes after the loop was held up for longer than that.
    await wait(STALL_MS / 3);
    const untilMs = performance.now() + 3 * STALL_MS;
    while (performance.now() < untilMs);
    await readUntil(reader, LARGE_BYTES);
    assert.equal(await closedFor('slow_reader'), before);
    socket.destroy();
  });
});

test('deadlines follow from the time that a caller may stall', () => {
  assert.deepEqual(deadlinesFor(), {
    headersMs: 30_000,
    bodyMs: 30_000,
    readerMs: 60_000,
    lingerMs: 10_000,
    keepAliveMs: 72_000,
    sweepMs: 5_000,
  });
});
