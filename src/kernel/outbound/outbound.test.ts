import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { createLogger } from '../log/log.ts';
import {
  createOutbound,
  type Lookup,
  type Outbound,
  OutboundError,
  type OutboundOptions,
  type OutboundPolicy,
  openBody,
  readCapped,
} from './outbound.ts';

/** A lookup out of a table; several lists for a name are answered one after the other, the last for ever. */
function lookupOf(table: Record<string, readonly string[][]>): Lookup & { asked: string[] } {
  const left = new Map(Object.entries(table).map(([name, answers]) => [name, [...answers]]));
  const asked: string[] = [];
  const lookup: Lookup = async (hostname) => {
    asked.push(hostname);
    const answers = left.get(hostname.replace(/\.$/, ''));
    const addresses = answers !== undefined && answers.length > 1 ? answers.shift() : answers?.[0];
    if (addresses === undefined) throw new Error('ENOTFOUND');
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return Object.assign(lookup, { asked });
}

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

function isRefusal(reason: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof OutboundError, String(error));
    assert.equal(error.reason, reason);
    return true;
  };
}

const PORT = 8080;
const NASTY: readonly [string, string][] = [
  [`http://127.0.0.1:${PORT}/`, 'address'],
  [`http://2130706433:${PORT}/`, 'address'],
  [`http://0x7f000001:${PORT}/`, 'address'],
  [`http://0177.0.0.1:${PORT}/`, 'address'],
  [`http://0x7f.1:${PORT}/`, 'address'],
  [`http://127.1:${PORT}/`, 'address'],
  [`http://１２７.０.０.１:${PORT}/`, 'address'],
  [`http://①②⑦.⓪.⓪.①:${PORT}/`, 'address'],
  [`http://127。0。0。1:${PORT}/`, 'address'],
  [`http://0:${PORT}/`, 'address'],
  [`http://0.0.0.0:${PORT}/`, 'address'],
  [`http://[::]:${PORT}/`, 'address'],
  [`http://[::1]:${PORT}/`, 'address'],
  [`http://[::ffff:127.0.0.1]:${PORT}/`, 'address'],
  [`http://[::ffff:7f00:1]:${PORT}/`, 'address'],
  [`http://[0:0:0:0:0:ffff:127.0.0.1]:${PORT}/`, 'address'],
  [`http://[64:ff9b::7f00:1]:${PORT}/`, 'address'],
  [`http://[2002:7f00:1::]:${PORT}/`, 'address'],
  ['http://169.254.169.254/latest/meta-data/', 'address'],
  ['http://[fd00:ec2::254]/latest/meta-data/', 'address'],
  ['http://[fe80::1]/', 'address'],
  ['http://10.0.0.1/', 'address'],
  ['http://100.64.0.1/', 'address'],
  ['http://198.18.0.1/', 'address'],
  ['http://224.0.0.1/', 'address'],
  ['http://255.255.255.255/', 'address'],
  [`http://localhost:${PORT}/`, 'address'],
  [`http://LOCALHOST.:${PORT}/`, 'address'],
  ['http://metadata.google.internal/', 'address'],
  ['http://rebind.example/', 'address'],
  ['http://mixed.example/', 'address'],
  ['http://mapped.example/', 'address'],
  ['http://unknown.example/', 'unresolvable'],
  ['http://public.example@127.0.0.1/', 'credentials'],
  ['http://user:pass@public.example/', 'credentials'],
  ['http://public.example\\@127.0.0.1/', 'unreachable'],
  ['file:///etc/passwd', 'scheme'],
  ['ftp://public.example/', 'scheme'],
  ['gopher://127.0.0.1:6379/_FLUSHALL', 'scheme'],
  ['data:text/plain,hello', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['//public.example/', 'malformed'],
  ['public.example', 'malformed'],
  ['', 'malformed'],
  ['http://[::1', 'malformed'],
  ['http://256.256.256.256/', 'malformed'],
];

const NASTY_NAMES = {
  localhost: [['127.0.0.1', '::1']],
  'metadata.google.internal': [['169.254.169.254']],
  'rebind.example': [['127.0.0.1']],
  'mixed.example': [['93.184.216.34', '10.0.0.1']],
  'mapped.example': [['::ffff:10.0.0.1']],
  'public.example': [['93.184.216.34']],
};

for (const [url, reason] of NASTY) {
  if (reason === 'unreachable') continue;
  test(`under the public policy ${url || '(empty)'} is refused (${reason}), registered or called`, async (t) => {
    const outbound = makeOutbound(t, { lookup: lookupOf(NASTY_NAMES) });
    await assert.rejects(outbound.checkUrl(url, { policy: 'public' }), isRefusal(reason));
    await assert.rejects(outbound.fetch('public')(url), isRefusal(reason));
  });
}

test('a backslash ends the host, so what follows is no trick', async (t) => {
  const outbound = makeOutbound(t, { lookup: lookupOf(NASTY_NAMES) });
  const url = await outbound.checkUrl('http://public.example\\@127.0.0.1/', { policy: 'public' });
  assert.equal(url.hostname, 'public.example');
});

const PRIVATE_POLICY: readonly [string, boolean][] = [
  ['http://127.0.0.1/', true],
  ['http://[::1]/', true],
  ['http://10.0.0.1/', true],
  ['http://100.64.0.1/', true],
  ['http://[fd12::1]/', true],
  ['http://8.8.8.8/', true],
  ['http://169.254.169.254/', false],
  ['http://[::ffff:169.254.169.254]/', false],
  ['http://[fd00:ec2::254]/', false],
  ['http://100.100.100.200/', false],
  ['http://[fe80::1]/', false],
  ['http://0.0.0.0/', false],
  ['http://[::]/', false],
  ['http://224.0.0.1/', false],
  ['http://255.255.255.255/', false],
];

for (const [url, admitted] of PRIVATE_POLICY) {
  test(`under the private policy ${url} is ${admitted ? 'admitted' : 'refused'}`, async (t) => {
    const checked = makeOutbound(t).checkUrl(url, { policy: 'private' });
    if (admitted) assert.equal((await checked).href, url);
    else await assert.rejects(checked, isRefusal('address'));
  });
}

test('where https is required http is refused, save for a host that the allow list names', async (t) => {
  const outbound = makeOutbound(t, { allow: ['127.0.0.1:9000', 'wiki'], lookup: lookupOf({ wiki: [['10.0.0.1']] }) });
  const rules = { policy: 'public', httpsOnly: true } as const;
  await assert.rejects(outbound.checkUrl('http://8.8.8.8/', rules), isRefusal('scheme'));
  await assert.rejects(outbound.fetch('public', { httpsOnly: true })('http://8.8.8.8/'), isRefusal('scheme'));
  await assert.rejects(outbound.checkUrl('http://127.0.0.1:9001/', rules), isRefusal('scheme'));
  for (const url of ['https://8.8.8.8/', 'http://127.0.0.1:9000/', 'http://wiki/']) await outbound.checkUrl(url, rules);
});

test('no allow list opens metadata or link-local addresses', async (t) => {
  const lookup = lookupOf({ 'meta.example': [['169.254.169.254']] });
  const outbound = makeOutbound(t, { allow: ['0.0.0.0/0', '::/0', 'meta.example'], lookup });
  for (const url of [
    'http://169.254.169.254/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/',
    'http://meta.example/',
  ]) {
    await assert.rejects(outbound.checkUrl(url, { policy: 'public' }), isRefusal('address'));
  }
  await outbound.checkUrl('http://10.0.0.1/', { policy: 'public' });
});

test('a refusal does not tell the address behind the name', async (t) => {
  const outbound = makeOutbound(t, { lookup: lookupOf({ 'a.example': [['10.11.12.13']] }) });
  await assert.rejects(outbound.checkUrl('http://a.example/', { policy: 'public' }), (error) => {
    return (
      error instanceof OutboundError && error.message.includes('a.example') && !error.message.includes('10.11.12.13')
    );
  });
});

test('a name that is public when registered and private when called is not connected to', async (t) => {
  let served = 0;
  const { port } = await serve(t, (_req, res) => {
    served += 1;
    res.end('reached');
  });
  const lookup = lookupOf({ 'rebind.example': [['93.184.216.34'], ['127.0.0.1']] });
  const outbound = makeOutbound(t, { lookup });
  const url = `http://rebind.example:${port}/`;
  await outbound.checkUrl(url, { policy: 'public' });
  await assert.rejects(outbound.fetch('public')(url), isRefusal('address'));
  assert.equal(served, 0);
  assert.equal(lookup.asked.length, 2);
});

test('the address that was checked is the one connected to: a name is resolved once a connection', async (t) => {
  const { port } = await serve(t, (req, res) => res.end(req.headers.host));
  const lookup = lookupOf({ 'once.example': [['127.0.0.1'], ['192.0.2.1']] });
  const outbound = makeOutbound(t, { allow: ['127.0.0.0/8'], lookup });
  const response = await outbound.fetch('public')(`http://once.example:${port}/`);
  assert.equal(await response.text(), `once.example:${port}`);
  assert.deepEqual(lookup.asked, ['once.example']);
});

test('an allowed host, network or address with its port is reached under the public policy', async (t) => {
  const { port, url } = await serve(t, (_req, res) => res.end('reached'));
  const lookup = lookupOf({ 'wiki.example': [['127.0.0.1']] });
  for (const [allow, target] of [
    ['127.0.0.0/8', url],
    [`127.0.0.1:${port}`, url],
    [`wiki.example:${port}`, `http://wiki.example:${port}/`],
  ] as const) {
    const response = await makeOutbound(t, { allow: [allow], lookup }).fetch('public')(target);
    assert.equal(await response.text(), 'reached');
  }
  await assert.rejects(
    makeOutbound(t, { allow: [`127.0.0.1:${port + 1}`] }).fetch('public')(url),
    isRefusal('address'),
  );
});

test('a socket goes to the address that was checked, or nowhere', async (t) => {
  const { port } = await serve(t, (_request, response) => response.end('there'));
  const lookup = lookupOf({ 'mail.example': [['127.0.0.1'], ['10.0.0.1']] });
  const closed = makeOutbound(t, { lookup: lookupOf({ 'mail.example': [['127.0.0.1']] }) });
  for (const host of ['mail.example', '127.0.0.1', '169.254.169.254', '::ffff:127.0.0.1']) {
    await assert.rejects(closed.openSocket(host, port, 'public'), isRefusal('address'), host);
  }
  await assert.rejects(closed.openSocket('other.example', port, 'public'), isRefusal('unresolvable'));
  const open = makeOutbound(t, { allow: [`mail.example:${port}`], lookup });
  const socket = await open.openSocket('mail.example', port, 'public');
  socket.end('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.match(await readText(socket), /there/);
  assert.deepEqual(lookup.asked, ['mail.example']);
});

test('one policy does not use the connections of the other', async (t) => {
  const { url } = await serve(t, (_req, res) => res.end('reached'));
  const outbound = makeOutbound(t);
  assert.equal(await (await outbound.fetch('private')(url)).text(), 'reached');
  await assert.rejects(outbound.fetch('public')(url), isRefusal('address'));
});

function redirectTo(location: string, status = 302): RequestListener {
  return (_req, res) => res.writeHead(status, { location }).end();
}

const BAD_HOPS: readonly [string, string][] = [
  ['http://127.0.0.1:9/', 'address'],
  ['http://169.254.169.254/', 'address'],
  ['http://inside.example/', 'address'],
  ['file:///etc/passwd', 'scheme'],
  ['http://user:pw@outside.example/', 'credentials'],
  ['http://[', 'redirect'],
];

for (const [location, reason] of BAD_HOPS) {
  test(`a redirect to ${location} is refused`, async (t) => {
    const { port } = await serve(t, redirectTo(location));
    const lookup = lookupOf({ 'outside.example': [['127.0.0.1']], 'inside.example': [['10.0.0.1']] });
    const outbound = makeOutbound(t, { allow: [`outside.example:${port}`], lookup });
    await assert.rejects(outbound.fetch('public')(`http://outside.example:${port}/`), isRefusal(reason));
  });
}

test('a redirect from https rules to http is refused', async (t) => {
  const { port } = await serve(t, redirectTo('http://8.8.8.8/'));
  const outbound = makeOutbound(t, { allow: [`127.0.0.1:${port}`] });
  await assert.rejects(outbound.fetch('public', { httpsOnly: true })(`http://127.0.0.1:${port}/`), isRefusal('scheme'));
});

test('five redirects are followed and a sixth is refused', async (t) => {
  const { url } = await serve(t, (req, res) => {
    const left = Number(req.url?.slice(1));
    if (left === 0) res.end('there');
    else res.writeHead(302, { location: `/${left - 1}` }).end();
  });
  const call = makeOutbound(t).fetch('private');
  const response = await call(`${url}/5`);
  assert.equal(await response.text(), 'there');
  assert.equal(response.url, `${url}/0`);
  assert.equal(response.redirected, true);
  await assert.rejects(call(`${url}/6`), isRefusal('redirect'));
  assert.equal((await call(`${url}/1`, { redirect: 'manual' })).status, 302);
  await assert.rejects(call(`${url}/1`, { redirect: 'error' }), isRefusal('redirect'));
});

for (const status of [300, 301, 302, 303, 304, 305, 307, 308, 399]) {
  test(`without redirects, an answer of status ${status} is refused, wherever it leads and if nowhere`, async (t) => {
    const visited: (string | undefined)[] = [];
    const { url } = await serve(t, (req, res) => {
      visited.push(req.url);
      res.writeHead(status, req.url === '/to' ? { location: '/next' } : {}).end();
    });
    const call = makeOutbound(t).fetch('private', { maxRedirects: 0 });
    await assert.rejects(call(`${url}/to`, { method: 'POST', body: 'x' }), isRefusal('redirect'));
    await assert.rejects(call(`${url}/nowhere`), isRefusal('redirect'));
    assert.deepEqual(visited, ['/to', '/nowhere']);
  });
}

const REFUSALS: readonly [url: string, says: RegExp][] = [
  ['http://127.0.0.1:11434/v1', /no public address; .*IRONCRAFT_OUTBOUND_ALLOW=127\.0\.0\.1:11434$/],
  ['http://[::1]/v1', /IRONCRAFT_OUTBOUND_ALLOW=\[::1\]:80$/],
  ['https://inside.example/v1', /does not resolve to public .*IRONCRAFT_OUTBOUND_ALLOW=inside\.example:443$/],
  ['http://metadata.example/', /IRONCRAFT_OUTBOUND_ALLOW=metadata\.example:80$/],
  ['http://169.254.169.254/', /169\.254\.169\.254 is never called, whatever the settings$/],
];

for (const [url, says] of REFUSALS) {
  test(`the refusal of ${url} says what opens it, and no address behind a name`, async (t) => {
    const lookup = lookupOf({ 'inside.example': [['10.0.0.1']], 'metadata.example': [['169.254.169.254']] });
    await assert.rejects(makeOutbound(t, { lookup }).checkUrl(url, { policy: 'public' }), (error) => {
      assert.ok(error instanceof OutboundError);
      assert.match(error.message, says);
      assert.equal(/example/.test(url) && /\d+\.\d+\.\d+/.test(error.message), false, error.message);
      return true;
    });
  });
}

test('another origin gets no credentials, the same origin does', async (t) => {
  const echo: RequestListener = (req, res) => res.end(JSON.stringify(req.headers));
  const other = await serve(t, echo);
  const first = await serve(t, (req, res) => {
    if (req.url === '/echo') echo(req, res);
    else redirectTo(req.url === '/same' ? '/echo' : other.url)(req, res);
  });
  const headers = {
    authorization: 'Bearer a',
    cookie: 'b=c',
    'x-api-key': 'd',
    'x-goog-api-key': 'e',
    'x-event-id': 'evt',
  };
  const call = makeOutbound(t).fetch('private');
  const away = (await (await call(`${first.url}/away`, { headers })).json()) as Record<string, string>;
  for (const name of ['authorization', 'cookie', 'x-api-key', 'x-goog-api-key']) assert.ok(!(name in away), name);
  assert.equal(away['x-event-id'], 'evt');
  const same = (await (await call(`${first.url}/same`, { headers })).json()) as Record<string, string>;
  for (const [name, value] of Object.entries(headers)) assert.equal(same[name], value);
});

test('a redirected POST becomes a GET, or stays one with its body, as the status says', async (t) => {
  const { url } = await serve(t, async (req, res) => {
    const status = Number(req.url?.slice(1));
    if (status > 0) res.writeHead(status, { location: '/' }).end();
    else res.end(`${req.method} ${req.headers['content-type'] ?? '-'} ${await readText(req)}`);
  });
  const call = makeOutbound(t).fetch('private');
  const post = async (status: number, body: string | ReadableStream) =>
    (
      await call(`${url}/${status}`, { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'text/x' } })
    ).text();
  for (const status of [301, 302, 303]) assert.equal(await post(status, 'hello'), 'GET - ');
  for (const status of [307, 308]) assert.equal(await post(status, 'hello'), 'POST text/x hello');
  await assert.rejects(post(307, new Blob(['hello']).stream()), isRefusal('redirect'));
});

/** Calls with one kind of body and answers what the server saw. */
async function echoBody(
  t: TestContext,
  input: (url: string) => [string | URL | Request, RequestInit?],
): Promise<string> {
  const { url } = await serve(t, async (req: IncomingMessage, res: ServerResponse) => {
    res.end(`${req.method} ${req.headers['content-type'] ?? '-'} ${await readText(req)}`);
  });
  const response = await makeOutbound(t).fetch('private')(...input(`${url}/`));
  return response.text();
}

test('every kind of body that fetch takes arrives', async (t) => {
  const send = (body: RequestInit['body']) =>
    echoBody(t, (url) => [url, { method: 'POST', body: body ?? null, duplex: 'half' }]);
  assert.equal(await send('text'), 'POST text/plain;charset=UTF-8 text');
  assert.equal(await send(Buffer.from('bytes')), 'POST - bytes');
  assert.equal(await send(new Uint8Array([65]).buffer), 'POST - A');
  assert.equal(
    await send(new URLSearchParams({ a: 'b c' })),
    'POST application/x-www-form-urlencoded;charset=UTF-8 a=b+c',
  );
  assert.equal(await send(new Blob(['blob'], { type: 'text/b' })), 'POST text/b blob');
  assert.equal(await send(new Blob(['stream']).stream()), 'POST - stream');
  assert.match(await send(makeForm()), /^POST multipart\/form-data; boundary=.*name="field".*value/s);
  assert.equal(
    await echoBody(t, (url) => [new Request(url, { method: 'PUT', body: 'request' })]),
    'PUT text/plain;charset=UTF-8 request',
  );
  assert.equal(await echoBody(t, (url) => [new URL(url)]), 'GET - ');
});

function makeForm(): FormData {
  const form = new FormData();
  form.set('field', 'value');
  return form;
}

test("the reply is the runtime's own Response and streams", async (t) => {
  const proceed = Promise.withResolvers<void>();
  const { url } = await serve(t, async (_req, res) => {
    res.writeHead(201, { 'x-a': 'b', 'set-cookie': ['a=1', 'b=2'] });
    res.write('first');
    await proceed.promise;
    res.end('second');
  });
  const response = await makeOutbound(t).fetch('private')(url);
  assert.ok(response instanceof Response);
  assert.deepEqual([response.status, response.statusText, response.headers.get('x-a')], [201, 'Created', 'b']);
  assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2']);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await reader?.read())?.value, 'first');
  proceed.resolve();
  assert.equal((await reader?.read())?.value, 'second');
});

for (const [size, bytes] of [
  ['small', 1_000],
  ['large', 5_000_000],
] as const) {
  test(`a ${size} body that breaks before it is read is told to its reader alone`, async (t) => {
    const broken = untilRequestsFail(t, 2);
    const { url } = await serve(t, async (_req, res) => {
      res.writeHead(200, { 'content-length': bytes });
      res.write('first', () => res.destroy());
    });
    const isBroken = (error: unknown) => error instanceof TypeError && error.message === 'terminated';
    const fetch = makeOutbound(t).fetch('private');
    const [response, stored] = await Promise.all([fetch(url), fetch(url)]);
    assert.ok(stored.body);
    const content = openBody(stored.body);
    // Whoever stores a file asks the database for a place first.
    await broken;
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(response.text(), isBroken);
    await assert.rejects(readText(content), isBroken);
  });
}

/** Resolves when so many requests of this process have failed. */
function untilRequestsFail(t: TestContext, count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let failed = 0;
  const note = (): void => {
    failed += 1;
    if (failed === count) resolve();
  };
  subscribe('undici:request:error', note);
  t.after(() => unsubscribe('undici:request:error', note));
  return promise;
}

test('a reply without a body is one', async (t) => {
  const { url } = await serve(t, (_req, res) => res.writeHead(204).end());
  const response = await makeOutbound(t).fetch('private')(url);
  assert.deepEqual([response.status, response.body], [204, null]);
});

for (const when of ['before the head', 'in the body'] as const) {
  test(`aborting ${when} closes the socket`, async (t) => {
    const closed = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const { url } = await serve(t, (req, res) => {
      req.socket.on('close', () => closed.resolve());
      if (when === 'in the body') res.write('x');
      arrived.resolve();
    });
    const abort = new AbortController();
    const pending = makeOutbound(t).fetch('private')(url, { signal: abort.signal });
    const response = when === 'in the body' ? await pending : undefined;
    await arrived.promise;
    abort.abort(new DOMException('stop', 'AbortError'));
    await assert.rejects(response === undefined ? pending : response.text(), { name: 'AbortError' });
    await closed.promise;
  });
}

test('a server that sends no head, or stops in the body, is given up', async (t) => {
  const { url } = await serve(t, (req, res) => {
    if (req.url === '/body') res.write('x');
  });
  const call = makeOutbound(t).fetch('private', { headersTimeoutMs: 100, bodyTimeoutMs: 100 });
  const causeOf = (name: string) => (error: unknown) =>
    error instanceof TypeError && error.cause instanceof Error && error.cause.name === name;
  await assert.rejects(call(url), causeOf('HeadersTimeoutError'));
  await assert.rejects((await call(`${url}/body`)).text(), causeOf('BodyTimeoutError'));
});

test('a resolver that does not answer is given up', async (t) => {
  const outbound = makeOutbound(t, { lookup: () => new Promise(() => {}), connectTimeoutMs: 50 });
  await assert.rejects(outbound.fetch('public')('http://slow.example/'), isRefusal('unresolvable'));
});

test('a refused connection is the TypeError of fetch, with its cause', async (t) => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  await assert.rejects(makeOutbound(t).fetch('private')(`http://127.0.0.1:${port}/`), (error) => {
    return error instanceof TypeError && error.message === 'fetch failed' && error.cause instanceof Error;
  });
});

test('an endless body is cut off at the cap and its socket closed', async (t) => {
  const closed = Promise.withResolvers<void>();
  const { url } = await serve(t, (req, res) => {
    if (req.url === '/small') return void res.end('12345');
    req.socket.on('close', () => closed.resolve());
    const pour = () => {
      while (!res.destroyed && res.write(Buffer.alloc(10_000)));
    };
    res.on('drain', pour);
    pour();
  });
  const call = makeOutbound(t).fetch('private');
  await assert.rejects(readCapped(await call(url), 100_000), isRefusal('too_large'));
  await closed.promise;
  assert.equal(Buffer.from(await readCapped(await call(`${url}/small`), 5)).toString(), '12345');
  await assert.rejects(readCapped(await call(`${url}/small`), 4), isRefusal('too_large'));
});

test('an answer that has more bytes than are taken ends with an error, and its socket is closed', async (t) => {
  const closed = Promise.withResolvers<void>();
  const { url } = await serve(t, (req, res) => {
    if (req.url === '/fits') return void res.end('x'.repeat(1_000));
    if (req.url === '/told') res.setHeader('content-length', 2_000);
    res.write('x'.repeat(1_001));
    res.once('close', () => req.url === '/endless' && closed.resolve());
  });
  const fetch = makeOutbound(t).fetch('private', { maxBytes: 1_000 });
  assert.equal((await (await fetch(`${url}/fits`)).text()).length, 1_000);
  for (const path of ['/told', '/endless']) {
    await assert.rejects((await fetch(url + path)).text(), isRefusal('too_large'));
  }
  await closed.promise;
});

test('a proxy in the environment is not used', async (t) => {
  const { url } = await serve(t, (_req, res) => res.end('direct'));
  const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY'];
  for (const name of names) process.env[name] = 'http://127.0.0.1:9';
  t.after(() => {
    for (const name of names) delete process.env[name];
  });
  assert.equal(await (await makeOutbound(t).fetch('private')(url)).text(), 'direct');
});

test('each policy is a fetch as libraries expect it', (t) => {
  const policies: OutboundPolicy[] = ['public', 'private'];
  for (const policy of policies) {
    const call: typeof globalThis.fetch = makeOutbound(t).fetch(policy);
    assert.equal(typeof call, 'function');
  }
});

test('the operator sees each address that was refused, also one that stands in the URL itself', async (t) => {
  const lines: string[] = [];
  const logger = createLogger({ logLevel: 'warn' }, { write: (line: string) => void lines.push(line) });
  const outbound = makeOutbound(t, { logger, lookup: lookupOf({ 'inside.example': [['10.0.0.7']] }) });
  for (const url of ['http://127.0.0.1:11434/v1', 'http://[::1]:11434/v1', 'http://inside.example:11434/v1']) {
    await assert.rejects(outbound.fetch('public')(url), isRefusal('address'));
  }
  const seen = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    seen.map(({ msg, host, address, port }) => [msg, host, address, port]),
    [
      ['outbound address refused', '127.0.0.1', '127.0.0.1', 11_434],
      ['outbound address refused', '::1', '::1', 11_434],
      ['outbound address refused', 'inside.example', '10.0.0.7', 11_434],
    ],
  );
});
