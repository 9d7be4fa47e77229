/**
 * Callers that are slow on purpose, and those that are only slow. The clock by which connections are looked at is the tests'; Node's own
 * deadline for headers goes by the system's, so it is looked at in a service of its own, where it is short.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { after, describe, mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createCountedClock } from '../../../test/support/counted-clock.ts';
import { startSmallService } from '../../../test/support/small-service.ts';
import { runWithClock } from '../clock/clock.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { ByteContent } from './byte-content.ts';
import { EventStream, eventFrame } from './event-stream.ts';
import { operationsFor } from './operation.ts';
import { Type } from './type-builder.ts';
import { deadlinesFor, watchConnections } from './watch-connections.ts';

const { bodyMs, lingerMs, readerMs, sweepMs } = deadlinesFor();
const SHORT_STALL_MS = 300;
const LIMIT_BYTES = 4_000_000;
/** What a pipe on loopback never takes at once. */
const LARGE_BYTES = 64 * 1024 * 1024;
/** Between two looks. The windows of a reader have many of them: what the network holds by itself, some MB on loopback, is less than their sum. */
const PORTION_BYTES = 3 * 1024 * 1024;
const facts = { posture: 'public', summary: 'Take' } as const;
const Taken = Type.Object({ bytes: Type.Integer() });
const { read, change, raw, turn, upload, socket } = operationsFor<unknown>();

let releaseHandler = Promise.withResolvers<void>();
let openStreams = 0;
const metrics = createMetrics();

let nowMs = 0;
mock.timers.enable({ apis: ['setInterval'] });
mock.method(performance, 'now', () => nowMs);
/** So much later, after one look at the connections: what else ran has not been waited for. */
function holdUp(ms: number): void {
  nowMs += ms;
  mock.timers.tick(sweepMs);
}
/** So much later, with every look that falls into it, and a turn of the event loop after each. */
async function pass(ms: number): Promise<void> {
  for (const endMs = nowMs + ms; nowMs < endMs; ) {
    holdUp(sweepMs);
    await nextTurn();
  }
}

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
          await releaseHandler.promise;
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
  { bodyLimitBytes: LIMIT_BYTES, metrics },
);
const hasty = await startSmallService([], { stallMs: SHORT_STALL_MS });
after(async () => {
  mock.timers.reset();
  mock.restoreAll();
  await Promise.all([service.close(), hasty.close()]);
});

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

async function open(url = service.url): Promise<Conversation> {
  const { hostname, port } = new URL(url);
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

async function untilText({ text }: Conversation, wanted: string, count = 1): Promise<void> {
  while (text().split(wanted).length <= count) await nextTurn();
}

/** Sends a piece between two looks, until the server has ended the connection. Returns what it answered. */
async function drip(conversation: Conversation, piece: string | Buffer): Promise<string> {
  const { ended, socket, text } = conversation;
  let isEnded = false;
  void ended.then(() => {
    isEnded = true;
  });
  while (!isEnded) {
    if (socket.writable) socket.write(piece);
    await pass(sweepMs);
  }
  socket.destroy();
  return text();
}

async function dripAfter(head: string): Promise<string> {
  const conversation = await open();
  conversation.socket.write(head);
  return drip(conversation, 'x');
}

const closedFor = async (reason: string) =>
  Number(
    new RegExp(`^http_connections_closed_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(
      await metrics.render(),
    )?.[1] ?? 0,
  );

async function untilClosedFor(reason: string, before: number): Promise<void> {
  while ((await closedFor(reason)) === before) await pass(sweepMs);
}

describe('a body that drips is refused with 408, and its connection closed:', { timeout: 60_000 }, () => {
  for (const [what, head] of [
    ['JSON of a known length', `${post('/v1/things', JSON_TYPE, 'Content-Length: 900000')}{"text":"`],
    ['raw bytes', post('/v1/raw', 'Content-Length: 900000')],
    ['a form, before its file', `${post('/v1/files', FORM_TYPE, 'Content-Length: 900000')}--b\r\nContent-Disp`],
    ['the file of a form', `${post('/v1/files', FORM_TYPE, 'Content-Length: 900000')}${FILE_HEAD}`],
  ] as const) {
    test(what, async () => {
      const before = await closedFor('slow_sender');
      const answer = await dripAfter(head);
      assert.match(answer, /^HTTP\/1\.1 408 /);
      assert.match(answer, /\r\nconnection: close\r\n/);
      assert.match(answer, /"code":"invalid_request"/);
      assert.match(answer, /fewer than 1000 bytes a second/);
      for (const name of ['ratelimit', 'x-version', 'x-request-id']) assert.ok(answer.includes(`\r\n${name}: `), name);
      assert.equal(await closedFor('slow_sender'), before + 1);
    });
  }

  test('chunks of a byte each', async () => {
    const conversation = await open();
    conversation.socket.write(post('/v1/things', JSON_TYPE, 'Transfer-Encoding: chunked'));
    assert.match(await drip(conversation, '1\r\n \r\n'), /^HTTP\/1\.1 408 /);
  });

  test('silence', async () => {
    const conversation = await open();
    conversation.socket.write(post('/v1/things', JSON_TYPE, 'Content-Length: 100'));
    assert.match(await drip(conversation, ''), /^HTTP\/1\.1 408 /);
  });

  test('one that is just above the floor, but too slow in all', async () => {
    const conversation = await open();
    conversation.socket.write(post('/v1/raw', 'Content-Length: 900000'));
    const startedMs = nowMs;
    assert.match(await drip(conversation, Buffer.alloc(2 * sweepMs)), /^HTTP\/1\.1 408 /);
    assert.ok(nowMs - startedMs > 2 * bodyMs, 'above the floor it was taken at first');
  });
});

test('a body that drips to where nothing takes it is refused once it is too slow', { timeout: 60_000 }, async () => {
  for (const path of ['/', '/docs/json', '/nothing']) {
    const before = await closedFor('slow_sender');
    assert.match(await dripAfter(post(path, JSON_TYPE, 'Content-Length: 900000')), /^HTTP\/1\.1 408 /, path);
    assert.equal(await closedFor('slow_sender'), before + 1, path);
  }
});

test('a body that goes on after its answer ends the connection', { timeout: 60_000 }, async () => {
  const before = await closedFor('lingering');
  const conversation = await open();
  conversation.socket.write(post('/healthz', 'Content-Length: 900000').replace('POST', 'GET'));
  await untilText(conversation, 'not_found');
  const answeredAtMs = nowMs;
  assert.match(await drip(conversation, 'x'), /^HTTP\/1\.1 404 /);
  assert.ok(nowMs - answeredAtMs >= lingerMs);
  assert.equal(await closedFor('lingering'), before + 1);
});

describe('headers that do not come end the connection:', { timeout: 60_000 }, () => {
  /** A byte every now and then, by the clock of the system. */
  async function dripHeaders(head: string): Promise<string> {
    const { ended, socket, text } = await open(hasty.url);
    socket.write(head);
    const timer = setTimeout(() => {
      if (socket.writable) socket.write('x');
      timer.refresh();
    }, SHORT_STALL_MS / 10);
    await ended;
    clearTimeout(timer);
    socket.destroy();
    return text();
  }

  test('nothing at all', async () => {
    const { socket, ended } = await open(hasty.url);
    await ended;
    socket.destroy();
  });

  test('a header that drips', async () => {
    const answer = await dripHeaders('GET /v1/wait HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    assert.match(answer, /^HTTP\/1\.1 408 /);
    assert.match(answer, /"code":"invalid_request"/);
  });

  test('a second request that drips', async () => {
    const answer = await dripHeaders(`GET /nothing HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nX: `);
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
      await untilClosedFor('slow_reader', before);
      while (openStreams > 0) await nextTurn();
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
    while ((await closedFor('slow_reader')) === before) {
      if (socket.writable) socket.write(frame);
      await pass(sweepMs);
    }
    socket.destroy();
  });
});

describe('who is only slow is served:', { timeout: 60_000 }, () => {
  /** Ten thousand bytes a second for several of the deadlines. */
  const PIECE_BYTES = 10 * sweepMs;
  const content = Buffer.alloc(5 * 10 * bodyMs, 'x');

  async function sendSlowly(head: string, tail: string): Promise<string> {
    const conversation = await open();
    const { socket, text } = conversation;
    socket.write(head);
    for (let sent = 0; sent < content.byteLength; sent += PIECE_BYTES) {
      await write(socket, content.subarray(sent, sent + PIECE_BYTES));
      await pass(sweepMs);
    }
    socket.write(tail);
    await untilText(conversation, '"bytes":');
    socket.destroy();
    return text();
  }

  test('an upload of 10,000 bytes a second', async () => {
    const tail = '\r\n--b--\r\n';
    const length = FILE_HEAD.length + content.byteLength + tail.length;
    const head = post('/v1/files', FORM_TYPE, `Content-Length: ${length}`) + FILE_HEAD;
    assert.match(await sendSlowly(head, tail), new RegExp(`"bytes":${content.byteLength}\\}$`));
  });

  test('JSON of 10,000 bytes a second', async () => {
    const length = '{"text":""}'.length + content.byteLength;
    const head = `${post('/v1/things', JSON_TYPE, `Content-Length: ${length}`)}{"text":"`;
    assert.match(await sendSlowly(head, '"}'), new RegExp(`"bytes":${content.byteLength}\\}$`));
  });

  test('who waits for a handler that takes long', async () => {
    releaseHandler = Promise.withResolvers();
    const conversation = await open();
    conversation.socket.write('GET /v1/wait HTTP/1.1\r\nHost: a\r\n\r\n');
    await pass(4 * bodyMs);
    releaseHandler.resolve();
    await untilText(conversation, '"bytes":');
    assert.match(conversation.text(), /^HTTP\/1\.1 200 /);
    conversation.socket.destroy();
  });

  test('who listens to a stream that says nothing for long', async () => {
    releaseHandler = Promise.withResolvers();
    const conversation = await open();
    conversation.socket.write(post('/v1/quiet'));
    await untilText(conversation, 'data: 1');
    await pass(4 * readerMs);
    releaseHandler.resolve();
    await untilText(conversation, 'data: 2');
    conversation.socket.destroy();
  });

  test('who keeps an idle connection for its next request', async () => {
    const conversation = await open();
    const line = 'GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n';
    conversation.socket.write(line);
    await untilText(conversation, 'not_found');
    await pass(4 * readerMs);
    conversation.socket.write(line);
    await untilText(conversation, 'not_found', 2);
    conversation.socket.destroy();
  });

  test('who reads a large answer slowly', async () => {
    const before = await closedFor('slow_reader');
    const reader = await open();
    const { socket } = reader;
    socket.pause();
    socket.write('GET /v1/large HTTP/1.1\r\nHost: a\r\n\r\n');
    const startedMs = nowMs;
    for (let turn = 1; turn * PORTION_BYTES < LARGE_BYTES; turn += 1) {
      await readUntil(reader, turn * PORTION_BYTES);
      await pass(sweepMs);
    }
    assert.ok(nowMs - startedMs > readerMs + sweepMs);
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
    await pass(sweepMs);
    holdUp(3 * readerMs);
    await readUntil(reader, LARGE_BYTES);
    assert.equal(await closedFor('slow_reader'), before);
    socket.destroy();
  });
});

/** Resolves when the network has taken it. */
function write(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => void socket.write(bytes, () => resolve()));
}

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

test('the watch has a timer only while there are connections, from its start to its stop', () => {
  const clock = createCountedClock();
  const watch = runWithClock(clock, () => watchConnections(deadlinesFor(), () => undefined));
  const open = () => {
    const connection = new Socket();
    const request = new IncomingMessage(connection);
    watch.watch(request, new ServerResponse(request));
    return connection;
  };
  const early = open();
  assert.equal(clock.countTimers(), 0);
  watch.start();
  assert.equal(clock.countTimers(), 1);
  early.emit('close');
  assert.equal(clock.countTimers(), 0);
  const [one, other] = [open(), open()];
  assert.equal(clock.countTimers(), 1);
  one.emit('close');
  assert.equal(clock.countTimers(), 1);
  other.emit('close');
  assert.equal(clock.countTimers(), 0);
  open();
  watch.stop();
  assert.equal(clock.countTimers(), 0);
  open();
  assert.equal(clock.countTimers(), 0);
});
