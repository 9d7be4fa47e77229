import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text as readText } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { createOutbound, type Outbound, OutboundError, type OutboundOptions, type OutboundPost } from './outbound.ts';

function makeOutbound(t: TestContext, options: Partial<OutboundOptions> = {}): Outbound {
  const outbound = createOutbound({ allow: [], ...options });
  t.after(() => outbound.close());
  return outbound;
}

async function serve(t: TestContext, listener: RequestListener): Promise<{ url: string; port: number }> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port };
}

function request(url: string, signal = new AbortController().signal): OutboundPost {
  return { url, headers: { 'content-type': 'text/x' }, body: 'hello', signal };
}

function isRefusal(reason: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof OutboundError, String(error));
    assert.equal(error.reason, reason);
    return true;
  };
}

test('a body and headers arrive, and the reply comes with its status, headers and body', async (t) => {
  const { url } = await serve(t, async (req, res) => {
    res.writeHead(201, { 'X-A': 'b', 'set-cookie': ['a=1', 'b=2'] });
    res.end(`${req.method} ${req.url} ${req.headers['content-type']} ${await readText(req)}`);
  });
  const reply = await makeOutbound(t).post('private')(request(`${url}/path?a=b%20c`));
  assert.equal(await readText(reply.body), 'POST /path?a=b%20c text/x hello');
  assert.deepEqual([reply.status, reply.headers['x-a'], reply.headers['set-cookie']], [201, 'b', 'a=1, b=2']);
});

const REFUSED: readonly [url: string, reason: string][] = [
  ['http://127.0.0.1:8080/', 'address'],
  ['http://[::ffff:127.0.0.1]:8080/', 'address'],
  ['http://169.254.169.254/', 'address'],
  ['http://inside.example/', 'address'],
  ['http://unknown.example/', 'unresolvable'],
  ['http://user:pass@public.example/', 'credentials'],
  ['ftp://public.example/', 'scheme'],
  ['public.example', 'malformed'],
];

for (const [url, reason] of REFUSED) {
  test(`under the public policy a post to ${url} is refused (${reason})`, async (t) => {
    const lookup = async (name: string) => {
      if (name === 'inside.example') return [{ address: '10.0.0.1', family: 4 } as const];
      throw new Error('ENOTFOUND');
    };
    await assert.rejects(makeOutbound(t, { lookup }).post('public')(request(url)), isRefusal(reason));
  });
}

test('where https is required http is refused', async (t) => {
  const post = makeOutbound(t).post('public', { httpsOnly: true });
  await assert.rejects(post(request('http://8.8.8.8/')), isRefusal('scheme'));
});

test('the address that was checked is the one connected to, and a name that turns private is not', async (t) => {
  const { port } = await serve(t, (req, res) => res.end(req.headers.host));
  const answers = ['127.0.0.1', '127.0.0.1'];
  const lookup = async () => [{ address: answers.shift() ?? '192.0.2.1', family: 4 } as const];
  const allowed = makeOutbound(t, { allow: ['127.0.0.0/8'], lookup });
  const reply = await allowed.post('public')(request(`http://once.example:${port}/`));
  assert.equal(await readText(reply.body), `once.example:${port}`);
  await assert.rejects(
    makeOutbound(t, { lookup }).post('public')(request(`http://once.example:${port}/`)),
    isRefusal('address'),
  );
});

test('one policy does not use the connections of the other, nor a post those that are closed to it', async (t) => {
  const { url } = await serve(t, (_req, res) => res.end('reached'));
  const outbound = makeOutbound(t);
  assert.equal(await (await outbound.fetch('private')(url)).text(), 'reached');
  assert.equal(await readText((await outbound.post('private')(request(url))).body), 'reached');
  await assert.rejects(outbound.post('public')(request(url)), isRefusal('address'));
});

for (const status of [300, 301, 302, 303, 304, 307, 308, 399]) {
  test(`an answer of status ${status} is refused, wherever it leads, and its connection closed`, async (t) => {
    const visited: (string | undefined)[] = [];
    const { url } = await serve(t, (req, res) => {
      visited.push(req.url);
      res.writeHead(status, { location: '/next' }).end();
    });
    await assert.rejects(makeOutbound(t).post('private')(request(`${url}/to`)), isRefusal('redirect'));
    assert.deepEqual(visited, ['/to']);
  });
}

for (const when of ['before the head', 'in the body'] as const) {
  test(`aborting ${when} closes the socket, and the signal's reason is thrown`, async (t) => {
    const closed = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const { url } = await serve(t, (req, res) => {
      req.socket.on('close', () => closed.resolve());
      if (when === 'in the body') res.write('x');
      arrived.resolve();
    });
    const abort = new AbortController();
    const pending = makeOutbound(t).post('private')(request(url, abort.signal));
    const reply = when === 'in the body' ? await pending : undefined;
    await arrived.promise;
    abort.abort(new Error('enough'));
    await assert.rejects(reply === undefined ? pending : readText(reply.body), /enough/);
    await closed.promise;
  });
}

test('destroying the body closes the socket', async (t) => {
  const closed = Promise.withResolvers<void>();
  const { url } = await serve(t, (req, res) => {
    req.socket.on('close', () => closed.resolve());
    res.writeHead(200, { 'content-encoding': req.url === '/plain' ? 'identity' : 'gzip' });
    res.write(req.url === '/plain' ? 'x' : gzipSync('x'));
  });
  for (const path of ['/plain', '/coded']) {
    const { body } = await makeOutbound(t).post('private')(request(url + path));
    body.on('error', () => {});
    body.destroy();
    await closed.promise;
  }
});

test('a server that sends no head, or stops in the body, is given up', async (t) => {
  const { url } = await serve(t, (req, res) => {
    if (req.url === '/body') res.write('x');
  });
  const post = makeOutbound(t).post('private', { headersTimeoutMs: 100, bodyTimeoutMs: 100 });
  await assert.rejects(post(request(url)), { code: 'UND_ERR_HEADERS_TIMEOUT' });
  await assert.rejects(readText((await post(request(`${url}/body`))).body), { code: 'UND_ERR_BODY_TIMEOUT' });
});

test('a connection that is refused, or cut in the body, has its code', async (t) => {
  const { url } = await serve(t, (_req, res) => {
    res.write('half', () => res.destroy());
  });
  const post = makeOutbound(t).post('private');
  await assert.rejects(readText((await post(request(url))).body), { code: 'UND_ERR_SOCKET' });
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  await assert.rejects(post(request(`http://127.0.0.1:${port}/`)), { code: 'ECONNREFUSED' });
});

const CODED: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  identity: Buffer.from,
  'deflate, GZIP': (text) => gzipSync(deflateSync(text)),
};

for (const [coding, encode] of Object.entries(CODED)) {
  test(`a body in the coding ${coding}, which was not asked for, is decoded`, async (t) => {
    const { url } = await serve(t, (req, res) => {
      assert.equal(req.headers['accept-encoding'], 'identity');
      res.writeHead(200, { 'content-encoding': coding }).end(encode('Grüße '.repeat(1000)));
    });
    const { body } = await makeOutbound(t).post('private')(request(url));
    assert.equal(await readText(body), 'Grüße '.repeat(1000));
  });
}

test('each piece of a coded stream is given out as it comes', async (t) => {
  const proceed = Promise.withResolvers<void>();
  const { url } = await serve(t, async (_req, res) => {
    res.writeHead(200, { 'content-encoding': 'gzip' });
    const gzip = createGzip();
    gzip.pipe(res);
    gzip.write('first');
    gzip.flush();
    await proceed.promise;
    gzip.end('second');
  });
  const { body } = await makeOutbound(t).post('private')(request(url));
  const [piece] = await once(body, 'data');
  assert.equal(String(piece), 'first');
  proceed.resolve();
  assert.equal((await buffer(body)).toString(), 'second');
});

test('a body in an unknown coding is refused, and one that is not in its coding fails', async (t) => {
  const { url } = await serve(t, (req, res) => {
    res.writeHead(200, { 'content-encoding': req.url === '/gzip' ? 'gzip' : 'zebra' }).end('plain');
  });
  const post = makeOutbound(t).post('private');
  await assert.rejects(post(request(url)), isRefusal('bad_response'));
  await assert.rejects(readText((await post(request(`${url}/gzip`))).body), { code: 'Z_DATA_ERROR' });
});
