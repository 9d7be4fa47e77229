import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  countOpenStreams,
  type EventSink,
  type EventSource,
  EventStream,
  eventFrame,
  KEEP_ALIVE_MS,
  MAX_BACKLOG_BYTES,
  serveEventStream,
} from './event-stream.ts';

const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
after(() => {
  server.close();
  server.closeAllConnections();
});

test('a frame has its id, its name and its data, each on a line', () => {
  assert.equal(eventFrame('run.started', '{"a":1}', 7), 'id: 7\nevent: run.started\ndata: {"a":1}\n\n');
  assert.equal(eventFrame(undefined, '[]'), 'data: []\n\n');
});

test('frames arrive as they are written, behind headers that keep proxies from holding them back', async () => {
  const turn = Promise.withResolvers<void>();
  const { reply, served } = await open(async (sink) => {
    sink.write(eventFrame('first', '1'));
    await turn.promise;
    sink.write(eventFrame('second', '2'));
  });
  assert.equal(reply.statusCode, 201);
  assert.equal(reply.headers['content-type'], 'text/event-stream; charset=utf-8');
  assert.match(reply.headers['cache-control'] ?? '', /no-cache.*no-transform/);
  assert.equal(reply.headers['x-accel-buffering'], 'no');
  assert.deepEqual([reply.headers['x-outer'], reply.headers['x-inner']], ['1', '2']);
  const [first] = (await once(reply, 'data')) as [Buffer];
  assert.equal(String(first), 'event: first\ndata: 1\n\n');
  turn.resolve();
  assert.equal(await readAll(reply), 'event: second\ndata: 2\n\n');
  await served;
});

test('headers are sent before the first frame, so that the reader knows that it is connected', async () => {
  const turn = Promise.withResolvers<void>();
  const { reply, served } = await open(() => turn.promise);
  assert.equal(reply.statusCode, 201);
  assert.equal(countOpenStreams(), 1);
  turn.resolve();
  await Promise.all([served, readAll(reply)]);
  assert.equal(countOpenStreams(), 0);
});

test('a slow reader is told of: no more is held for it than the backlog and one frame, and it gets every byte', async () => {
  const frame = eventFrame('delta', JSON.stringify('x'.repeat(16_384)));
  const total = 2_000;
  let waits = 0;
  let heldMost = 0;
  const { reply, served } = await open(async (sink, closed, held) => {
    for (let written = 0; written < total && !closed.aborted; written += 1) {
      const keepsUp = sink.write(frame);
      heldMost = Math.max(heldMost, held());
      assert.equal(keepsUp, !sink.behind);
      if (keepsUp) continue;
      waits += 1;
      await sink.drained();
      assert.equal(sink.behind, false);
    }
  });
  // Nothing is read until the source has run into the limit.
  while (waits === 0 && countOpenStreams() > 0) await nextTurn();
  const text = await readAll(reply);
  await served;
  assert.equal(text.length, total * frame.length);
  assert.ok(heldMost > MAX_BACKLOG_BYTES, 'the reader was never behind');
  assert.ok(heldMost <= MAX_BACKLOG_BYTES + frame.length + 100, `${heldMost} bytes were held`);
});

test('a reader that goes away ends the source, also one that waits for it to catch up', async () => {
  const behind = Promise.withResolvers<void>();
  let writesAfter = true;
  const { reply, served } = await open(async (sink, closed) => {
    while (!closed.aborted) {
      fillBacklog(sink);
      behind.resolve();
      await sink.drained();
    }
    writesAfter = sink.write(eventFrame('late', '1'));
  });
  await Promise.race([behind.promise, served]);
  reply.destroy();
  await served;
  assert.equal(writesAfter, false);
  assert.equal(countOpenStreams(), 0);
});

test('a reader that goes away is noticed while the source has nothing to write', async () => {
  const { reply, served } = await open((_sink, closed) => once(closed, 'abort').then(() => undefined));
  reply.destroy();
  await served;
});

test('an idle stream is kept alive, and one that is behind is left alone', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const idle = Promise.withResolvers<void>();
  const first = await open(() => idle.promise);
  context.mock.timers.tick(KEEP_ALIVE_MS);
  const [beat] = (await once(first.reply, 'data')) as [Buffer];
  assert.equal(String(beat), ': keep-alive\n\n');

  const full = Promise.withResolvers<number>();
  let held = () => 0;
  const second = await open(async (sink, closed, heldNow) => {
    held = heldNow;
    fillBacklog(sink);
    full.resolve(heldNow());
    await once(closed, 'abort');
  });
  await Promise.race([full.promise, second.served]);
  const before = await full.promise;
  context.mock.timers.tick(KEEP_ALIVE_MS);
  assert.ok(held() <= before);
  second.reply.destroy();
  idle.resolve();
  await Promise.all([first.served, second.served, readAll(first.reply)]);
});

test('a source that fails ends its stream, and the failure is the caller’s to log', async () => {
  const { reply, served } = await open(async (sink) => {
    sink.write(eventFrame('first', '1'));
    throw new Error('lost');
  });
  assert.equal(await readAll(reply), 'event: first\ndata: 1\n\n');
  await assert.rejects(served, /lost/);
  assert.equal(countOpenStreams(), 0);
});

type WatchedSource = (sink: EventSink, closed: AbortSignal, held: () => number) => Promise<void>;

/** Serves one stream of this source over HTTP; the reply is paused until it is read. `held`: bytes not yet handed on. */
async function open(source: WatchedSource): Promise<{ reply: IncomingMessage; served: Promise<void> }> {
  const served = Promise.withResolvers<void>();
  server.once('request', (_request, response) => {
    const watched: EventSource = (sink, closed) => source(sink, closed, () => response.writableLength);
    const stream = new EventStream(watched, 201, { 'x-inner': '2' });
    serveEventStream(response, stream, { 'x-outer': '1' }).then(served.resolve, served.reject);
  });
  // Whoever awaits it sees a failure all the same.
  served.promise.catch(() => undefined);
  const sent = request({ host: '127.0.0.1', port, agent: false });
  sent.end();
  sent.on('error', () => undefined);
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  reply.on('error', () => undefined);
  return { reply, served: served.promise };
}

/** Writes until the sink says that the reader is behind, or has gone. */
function fillBacklog(sink: EventSink): void {
  const most = 100;
  for (let written = 1; sink.write(eventFrame('delta', 'x'.repeat(65_536))); written += 1) {
    assert.ok(written < most, 'the sink never says that its reader is behind');
  }
}

async function readAll(reply: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of reply) text += String(chunk);
  return text;
}
