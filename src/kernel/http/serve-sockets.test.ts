/** WebSockets as operations: what is checked before the upgrade, and what a connection may do after it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, describe, test } from 'node:test';
import { type ClientOptions, WebSocket } from 'ws';
import { sendRaw } from '../../../test/conformance/raw-http.ts';
import { type SmallCaller, startSmallService } from '../../../test/support/small-service.ts';
import { ApiError } from './errors.ts';
import { operationsFor } from './operation.ts';
import type { MessageSocket } from './socket.ts';
import { Type } from './type-builder.ts';

const MAX_MESSAGE_BYTES = 1_000;
const PING_MS = 250;
const TIMEOUT_MS = 60_000;
const { socket, change } = operationsFor<SmallCaller>();
const { socket: openSocket } = operationsFor<undefined>();
/** What sessions that ended had to say. */
const ended: string[] = [];

async function echo(connection: MessageSocket): Promise<void> {
  for await (const message of connection.messages) {
    if (message === 'bye') return;
    if (message === 'fail') throw new Error('secret');
    connection.send(message);
  }
  ended.push('echo');
}

/** Sends far more than the client reads at once. */
async function flood(connection: MessageSocket): Promise<void> {
  const piece = Buffer.alloc(64 * 1024);
  let pauses = 0;
  for (let sent = 0; sent < 400; sent += 1) {
    if (!connection.send(piece)) {
      pauses += 1;
      await connection.drained();
    }
  }
  connection.send(`paused ${pauses > 0}`);
}

const operations = [
  socket({
    id: 'echo.connect',
    path: '/v1/echo/{name}',
    posture: 'closed',
    summary: 'Echo',
    params: Type.Object({ name: Type.String() }),
    query: Type.Object({ count: Type.Optional(Type.Integer()) }),
    socket: { maxMessageBytes: MAX_MESSAGE_BYTES, protocols: ['echo.v2', 'echo.v1'] },
    async handler({ params, query, caller }) {
      if (params.name === 'nobody') throw new ApiError('not_found');
      return async (connection) => {
        connection.send(JSON.stringify({ ...params, ...query, by: caller.name, protocol: connection.protocol }));
        await echo(connection);
      };
    },
  }),
  openSocket({
    id: 'page.connect',
    path: '/v1/page',
    posture: 'public',
    summary: 'For one page',
    socket: { origins: ['https://shop.example'] },
    handler: async () => echo,
  }),
  socket({
    id: 'proved.connect',
    path: '/v1/proved',
    posture: 'public',
    summary: 'For whoever proves to be somebody',
    async verify({ url, headers }) {
      if (headers['x-proof'] !== url) throw new ApiError('unauthenticated');
      return { name: 'proved' };
    },
    handler:
      async ({ caller }) =>
      async (connection) =>
        void connection.send(caller.name),
  }),
  openSocket({
    id: 'flood.connect',
    path: '/v1/flood',
    posture: 'public',
    summary: 'Flood',
    handler: async () => flood,
  }),
  openSocket({
    id: 'idle.connect',
    path: '/v1/idle',
    posture: 'public',
    summary: 'Idle',
    socket: { idleTimeoutMs: 60 },
    handler: async () => echo,
  }),
  openSocket({
    id: 'pinged.connect',
    path: '/v1/pinged',
    posture: 'public',
    summary: 'Pinged',
    socket: { pingMs: PING_MS },
    handler: async () => echo,
  }),
  change({
    id: 'things.create',
    method: 'POST',
    path: '/v1/things',
    posture: 'open',
    summary: 'Create',
    body: Type.Object({ a: Type.Integer() }),
    reply: Type.Object({ a: Type.Integer() }),
    handler: async ({ body }) => body,
  }),
];

const service = await startSmallService(operations);
after(() => service.close());
const owner = { headers: { authorization: 'Bearer owner' } };

interface Connected {
  readonly client: WebSocket;
  readonly upgrade: Record<string, string | string[] | undefined>;
  next(): Promise<string>;
  /** Why it was closed. */
  closed(): Promise<number>;
}

async function open(path: string, options: ClientOptions = {}, protocols: string[] = []): Promise<Connected> {
  const client = new WebSocket(service.url.replace('http', 'ws') + path, protocols, options);
  const messages: string[] = [];
  client.on('message', (data: Buffer, isBinary) => messages.push(isBinary ? `bytes ${data.length}` : data.toString()));
  const closed = once(client, 'close').then(([code]) => code as number);
  closed.catch(() => undefined);
  const [response] = await once(client, 'upgrade');
  return {
    client,
    upgrade: response.headers,
    async next() {
      while (messages.length === 0) await once(client, 'message');
      return messages.shift() ?? '';
    },
    closed: () => closed,
  };
}

/** The answer to an upgrade, as HTTP has it. */
function askToUpgrade(path: string, headers: readonly string[] = []) {
  const own = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
  return sendRaw(service.url, [
    `GET ${path} HTTP/1.1`,
    ...own,
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    ...headers,
  ]);
}

const TOKEN = 'Authorization: Bearer owner';

describe('an upgrade', () => {
  test('is answered with the headers that every answer has, and its handler has what was validated', async () => {
    const connected = await open('/v1/echo/ada?count=3', owner, ['echo.v0', 'echo.v1', 'echo.v2']);
    for (const name of ['ratelimit', 'ratelimit-policy', 'x-request-id', 'x-version', 'access-control-allow-origin']) {
      assert.ok(connected.upgrade[name], name);
    }
    assert.match(String(connected.upgrade['ratelimit-policy']), /^"project"/);
    const greeting = { name: 'ada', count: 3, by: 'owner', protocol: 'echo.v2' };
    assert.deepEqual(JSON.parse(await connected.next()), greeting);
    connected.client.close();
    assert.equal(await connected.closed(), 1005);
  });

  const refused: Readonly<Record<string, readonly [status: number, code: string, path: string, headers: string[]]>> = {
    'without a token': [401, 'unauthenticated', '/v1/echo/ada', []],
    'with another posture': [403, 'wrong_posture', '/v1/echo/ada', ['Authorization: Bearer guest']],
    'of another version': [400, 'unsupported_api_version', '/v1/echo/ada', [TOKEN, 'X-Version: 9']],
    'of a sender who proves nothing': [401, 'unauthenticated', '/v1/proved?a=1', ['X-Proof: /v1/proved']],
    'that does not validate': [422, 'invalid_request', '/v1/echo/ada?count=a', [TOKEN]],
    'that the handler refuses': [404, 'not_found', '/v1/echo/nobody', [TOKEN]],
    'of a route that does not exist': [404, 'not_found', '/v1/nothing', [TOKEN]],
    'of another page': [403, 'invalid_request', '/v1/page', ['Origin: https://evil.example']],
  };
  for (const [what, [status, code, path, headers]] of Object.entries(refused)) {
    test(`${what} is refused over HTTP, and the connection closed`, async () => {
      const answer = await askToUpgrade(path, headers);
      assert.equal(`${answer.status} ${answer.body?.error?.code}`, `${status} ${code}`);
      assert.equal(answer.headers.get('connection'), 'close');
      for (const name of ['ratelimit', 'x-request-id']) assert.notEqual(answer.headers.get(name), null, name);
    });
  }

  test('of a sender who proves to be somebody is theirs, and takes from their budget', async () => {
    const path = '/v1/proved?a=%20b';
    const connected = await open(path, { headers: { 'x-proof': path } });
    assert.equal(await connected.next(), 'proved');
    assert.match(String(connected.upgrade['ratelimit-policy']), /^"project"/);
    connected.client.close();
  });

  test('of its own page, and of a program, is accepted', async () => {
    for (const options of [{ origin: 'https://shop.example' }, {}]) {
      const connected = await open('/v1/page', options);
      connected.client.send('hello');
      assert.equal(await connected.next(), 'hello');
      connected.client.terminate();
    }
  });

  test('that is none, or of another version of the protocol, is told what is wanted', async () => {
    const plain = await sendRaw(service.url, ['GET /v1/echo/ada HTTP/1.1', TOKEN]);
    assert.deepEqual(
      [plain.status, plain.headers.get('upgrade'), plain.body.error.param],
      [426, 'websocket', 'Upgrade'],
    );
    const own = ['GET /v1/echo/ada HTTP/1.1', TOKEN, 'Connection: Upgrade', 'Upgrade: websocket'];
    const old = await sendRaw(service.url, [...own, 'Sec-WebSocket-Version: 8', 'Sec-WebSocket-Key: a']);
    assert.deepEqual([old.status, old.headers.get('sec-websocket-version')], [426, '13']);
    const keyless = await sendRaw(service.url, [...own, 'Sec-WebSocket-Version: 13']);
    assert.deepEqual([keyless.status, keyless.body.error.param], [400, 'Sec-WebSocket-Key']);
  });

  test('takes from the budget like any call', async () => {
    const limited = await startSmallService(operations, { addressRequestsPerMinute: 1 });
    try {
      const address = limited.url.replace('http', 'ws');
      const first = new WebSocket(`${address}/v1/page`);
      await once(first, 'open');
      const second = new WebSocket(`${address}/v1/page`);
      const [, response] = await once(second, 'unexpected-response');
      assert.equal(response.statusCode, 429);
      first.terminate();
    } finally {
      await limited.close();
    }
  });

  test('behind a request that is not answered yet costs its own connection, and nobody else’s', async () => {
    const ask = (path: string, ...lines: string[]) => `GET ${path} HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n`;
    const upgrade = ask('/v1/page', 'connection: upgrade\r\n', 'upgrade: websocket\r\n');
    for (const before of [ask('/openapi.json'), ask('/nowhere'), upgrade]) {
      const client = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => undefined);
      client.setTimeout(TIMEOUT_MS, () => client.destroy());
      client.write(before + upgrade);
      await once(client.resume(), 'close');
    }
    assert.equal((await fetch(`${service.url}/openapi.json`)).status, 200);
  });

  test('to anything else is ignored: the request is served as it is', async () => {
    const head = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQ', TOKEN];
    const answer = await sendRaw(
      service.url,
      ['POST /v1/things HTTP/1.1', ...head, 'Content-Type: application/json', 'Content-Length: 7'],
      '{"a":1}',
    );
    assert.deepEqual([answer.status, answer.body], [200, { a: 1 }]);
  });
});

describe('a connection', () => {
  test('carries text and bytes, both ways, from its first byte on', async () => {
    const { hostname, port } = new URL(service.url);
    const { client, next } = await open('/v1/page');
    client.send('text');
    client.send(Buffer.from([1, 2]));
    assert.deepEqual([await next(), await next()], ['text', 'bytes 2']);
    client.terminate();
    // A frame in the same packet as the request: FIN and text, masked with zeros.
    const raw = connect({ host: hostname, port: Number(port) });
    const head = ['GET /v1/page HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket'];
    const key = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', '', ''];
    const frame = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]);
    raw.write(Buffer.concat([Buffer.from([...head, ...key].join('\r\n')), frame]));
    let received = '';
    for await (const chunk of raw) {
      received += (chunk as Buffer).toString('latin1');
      if (received.endsWith('\x81\x02hi')) break;
    }
    raw.destroy();
  });

  test('with a message that is too long is closed with 1009', async () => {
    const connected = await open('/v1/echo/ada', owner);
    connected.client.send('a'.repeat(MAX_MESSAGE_BYTES));
    await connected.next();
    assert.equal((await connected.next()).length, MAX_MESSAGE_BYTES);
    connected.client.send('a'.repeat(MAX_MESSAGE_BYTES + 1));
    assert.equal(await connected.closed(), 1009);
  });

  test('whose session ends is closed, and one whose session fails says no more than that', async () => {
    for (const [message, code] of [
      ['bye', 1000],
      ['fail', 1011],
    ] as const) {
      const connected = await open('/v1/page');
      connected.client.send(message);
      assert.equal(await connected.closed(), code);
    }
  });

  test('whose client leaves ends its session', async () => {
    const before = ended.length;
    const connected = await open('/v1/page');
    connected.client.terminate();
    await connected.closed();
    await untilTrue(() => ended.length > before);
  });

  test('whose client reads slowly makes its session wait', async () => {
    const connected = await open('/v1/flood');
    connected.client.pause();
    await new Promise((resolve) => setImmediate(resolve));
    connected.client.resume();
    let text = '';
    while (!text.startsWith('paused')) text = await connected.next();
    assert.equal(text, 'paused true');
    assert.equal(await connected.closed(), 1000);
  });

  test('that sends faster than its session reads loses nothing', async () => {
    const connected = await open('/v1/page');
    for (let sent = 0; sent < 500; sent += 1) connected.client.send(String(sent));
    for (let expected = 0; expected < 500; expected += 1) assert.equal(await connected.next(), String(expected));
    connected.client.terminate();
  });

  test('on which nothing is said is closed with 1001', async () => {
    assert.equal(await (await open('/v1/idle')).closed(), 1001);
  });

  test('a connection stays while its client answers pings, and is cut off when it does not', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const connected = await open('/v1/pinged');
    for (let pings = 0; pings < 3; pings += 1) {
      const pinged = once(connected.client, 'ping');
      t.mock.timers.tick(PING_MS);
      await pinged;
      // What this is answered by comes once the server has read the answer to its own ping.
      const answered = once(connected.client, 'pong');
      connected.client.ping();
      await answered;
    }
    assert.equal(connected.client.readyState, WebSocket.OPEN);
    connected.client.terminate();
    await connected.closed();
    const silent = await open('/v1/pinged', { autoPong: false });
    t.mock.timers.tick(PING_MS);
    t.mock.timers.tick(PING_MS);
    assert.equal(await silent.closed(), 1006);
  });

  test('is closed with 1001 when the server closes, also where its client does not answer', async () => {
    const closing = await startSmallService(operations);
    const address = `${closing.url.replace('http', 'ws')}/v1/page`;
    const polite = new WebSocket(address);
    await once(polite, 'open');
    const deaf = new WebSocket(address);
    await once(deaf, 'open');
    deaf.pause();
    const closed = once(polite, 'close');
    await closing.close();
    assert.equal((await closed)[0], 1001);
    deaf.terminate();
  });
});

test('the document says that it is a WebSocket', async () => {
  const document = (await fetch(`${service.url}/openapi.json`).then((answer) => answer.json())) as {
    paths: Record<string, { get: { operationId: string; responses: Record<string, unknown> } }>;
  };
  const described = document.paths['/v1/echo/{name}']?.get;
  assert.equal(described?.operationId, 'echo.connect');
  assert.ok(described?.responses['101']);
});

async function untilTrue(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!holds()) {
    assert.ok(performance.now() < deadline, 'it did not come');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
