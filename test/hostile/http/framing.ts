/** Messages whose framing, headers or target is not what HTTP allows, or is at its edge. */
import { randomBytes } from 'node:crypto';
import type { HttpAbuse } from '../cases.ts';
import { jsonRequest, open, outcomeOf, readAnswers, request, sending } from './raw-exchange.ts';

/** Where the next request would begin is not known: whoever sent this is told, and cut off. */
const BROKEN = { status: 400, code: 'invalid_request', closed: true } as const;
const CUSTOMER = '{"name":"Ada"}';
const CREATED = { status: 201 } as const;
const MEBIBYTE = 1_048_576;
/** Counts against its own budget, and not against that of the probe beside it. */
const FROM = '127.0.0.78';

const chunked = (chunks: string, ...lines: readonly string[]) =>
  [`Transfer-Encoding: chunked`, 'Content-Type: application/json', ...lines].join('\r\n').concat('\r\n\r\n', chunks);

/** A customer in chunks. */
function sendChunks(name: string, chunks: string, answer: HttpAbuse['answer'], ...lines: readonly string[]): HttpAbuse {
  return sending(
    name,
    (target) => request(target, 'POST /v1/customers HTTP/1.1').slice(0, -2) + chunked(chunks, ...lines),
    answer,
  );
}

/** A request with no body and these headers. */
function sendHeaders(name: string, lines: readonly string[], answer: HttpAbuse['answer']): HttpAbuse {
  return sending(name, (target) => request(target, 'GET /v1/customers HTTP/1.1', ...lines), answer);
}

function sendTarget(name: string, first: string, answer: HttpAbuse['answer']): HttpAbuse {
  return sending(name, (target) => request(target, first), answer, { from: FROM });
}

const hex = (text: string) => text.length.toString(16);

export const framingAbuses: readonly HttpAbuse[] = [
  sending(
    'a length and chunks at once',
    (target) =>
      request(target, 'POST /v1/customers HTTP/1.1', 'Content-Length: 5', 'Transfer-Encoding: chunked') +
      '0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n',
    BROKEN,
  ),
  sendHeaders('two lengths', ['Content-Length: 5', 'Content-Length: 6'], BROKEN),
  sendHeaders('a negative length', ['Content-Length: -1'], BROKEN),
  sendHeaders('a length in hexadecimal', ['Content-Length: 0x10'], BROKEN),
  sendHeaders('a length of thirty digits', [`Content-Length: ${'9'.repeat(30)}`], BROKEN),
  sendHeaders('a transfer coding that is none', ['Transfer-Encoding: xchunked'], BROKEN),
  sendHeaders('chunks that are not the last coding', ['Transfer-Encoding: chunked, identity'], BROKEN),
  sendChunks('a chunk of a length that overflows', `${'F'.repeat(20)}\r\nx`, BROKEN),
  sendChunks('a chunk of a negative length', '-1\r\nx', BROKEN),
  sendChunks('a chunk whose end is missing', '2\r\nxyz\r\n', BROKEN),
  sendChunks('a chunk with 200 KB of extension', `1;${'x'.repeat(200_000)}\r\n1\r\n0\r\n\r\n`, { closed: true }),
  sendChunks('chunks with short extensions', `${hex(CUSTOMER)};a=b\r\n${CUSTOMER}\r\n0;c\r\n\r\n`, CREATED),
  sendChunks(
    'trailers named after the prototype',
    `${hex(CUSTOMER)}\r\n${CUSTOMER}\r\n0\r\n__proto__: x\r\nconstructor: y\r\n\r\n`,
    CREATED,
    'Trailer: __proto__',
  ),
  sendChunks('200 KB of trailers', `${hex(CUSTOMER)}\r\n${CUSTOMER}\r\n0\r\n${'a: b\r\n'.repeat(33_000)}\r\n`, {
    closed: true,
  }),
  sendChunks(
    'a body in chunks of one byte each',
    `${[...CUSTOMER].map((one) => `1\r\n${one}\r\n`).join('')}0\r\n\r\n`,
    CREATED,
  ),
  sending('lines that end with a line feed alone', () => 'GET /nowhere HTTP/1.1\nHost: a\n\n', BROKEN),
  sendHeaders('a folded header', ['X-Folded: a\r\n b'], BROKEN),
  sendHeaders('a space before the colon', ['X-Space : a'], BROKEN),
  sendHeaders('a header without a name', [': a'], BROKEN),
  sendHeaders('a NUL in a header', ['X-Nul: a\0b'], BROKEN),
  sendHeaders('a carriage return in a header', ['X-Return: a\rb'], BROKEN),
  sendHeaders('a header name outside of ASCII', ['X-\u00e9: a'], BROKEN),
  sendHeaders(
    'a header of every odd byte',
    [`X-Odd: ${Buffer.from(Array.from({ length: 128 }, (_, at) => 128 + at)).toString('latin1')}`],
    { status: 200 },
  ),
  sendHeaders('a header of 100 KB', [`X-Long: ${'a'.repeat(100_000)}`], {
    status: 431,
    code: 'invalid_request',
    closed: true,
  }),
  sendHeaders('a cookie of 1 MB', [`Cookie: a=${'b'.repeat(MEBIBYTE)}`], {
    status: 431,
    code: 'invalid_request',
    closed: true,
  }),
  sendHeaders(
    'five thousand headers',
    Array.from({ length: 5_000 }, (_, at) => `X-${at}: ${at}`),
    { status: 431, code: 'invalid_request', closed: true },
  ),
  sendHeaders('a token of 12 KB', [`Authorization: Bearer ${'a'.repeat(12_000)}`], { status: [200, 401] }),
  sending(
    'a token of odd bytes',
    ({ host }) => `GET /v1/customers HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer \xff\xfe.\x80.\x81\r\n\r\n`,
    { status: 401, code: 'unauthenticated' },
  ),
  sendHeaders('a version of the API that is none', [`IC-Api-Version: ${'9'.repeat(5_000)}`], {
    code: 'unsupported_api_version',
  }),
  sendHeaders('a request id of 8 KB', [`X-Request-Id: ${'a'.repeat(8_000)}`], { status: 200 }),
  sendHeaders(
    'a thousand addresses that it is said to come from',
    [`X-Forwarded-For: ${Array.from({ length: 1_000 }, () => '1.2.3.4').join(', ')}`, 'X-Forwarded-Host: evil.example'],
    { status: 200 },
  ),
  sendHeaders(
    'an upgrade to HTTP/2',
    ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'],
    { status: 200 },
  ),
  sending(
    'an upgrade to a socket behind a request that is not answered yet',
    (target) =>
      request(target, 'GET /v1/customers HTTP/1.1') +
      request(target, 'GET /v1/customers HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket'),
    { closed: true },
  ),
  sendHeaders(
    'an upgrade to a socket where none is',
    [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ],
    { status: 200 },
  ),
  sending(
    'an expectation that is not known',
    (target) => jsonRequest(target, '/v1/customers', CUSTOMER, 'Expect: the-unexpected'),
    CREATED,
  ),
  sending(
    'an expectation of 100 and the body at once',
    (target) => jsonRequest(target, '/v1/customers', CUSTOMER, 'Expect: 100-continue'),
    CREATED,
  ),
  sending('no host', () => 'GET /v1/customers HTTP/1.1\r\n\r\n', { status: 400, code: 'invalid_request' }),
  sending('two hosts', () => 'GET /nowhere HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', { status: [400, 404] }),
  sending(
    'a host that is an address with a path',
    () => 'GET /nowhere HTTP/1.1\r\nHost: evil.example/%0d%0aX: y\r\n\r\n',
    { status: 404 },
  ),
  sending('HTTP/1.0', () => 'GET /nowhere HTTP/1.0\r\n\r\n', { status: 404, closed: true }),
  sending('HTTP/0.9', () => 'GET /nowhere\r\n\r\n', { status: 404, closed: true }),
  sending('HTTP/3.7', () => 'GET /nowhere HTTP/3.7\r\nHost: a\r\n\r\n', BROKEN),
  sending('the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', BROKEN),
  sending('the hello of TLS', () => Buffer.from(`16030100f8010000f40303${'ab'.repeat(240)}`, 'hex'), BROKEN),
  sending('the greeting of SSH', () => 'SSH-2.0-OpenSSH_9.9\r\n', BROKEN),
  sending('a megabyte of noise', () => Buffer.concat([Buffer.from([0]), randomBytes(MEBIBYTE)]), { closed: true }),
  sendTarget('a method that is none', 'FOO /v1/customers HTTP/1.1', BROKEN),
  sendTarget('a method in small letters', 'get /v1/customers HTTP/1.1', BROKEN),
  sendTarget('TRACE', 'TRACE /v1/customers HTTP/1.1', { status: 404 }),
  sendTarget('CONNECT', 'CONNECT evil.example:443 HTTP/1.1', { closed: true }),
  sendTarget('OPTIONS of everything', 'OPTIONS * HTTP/1.1', { status: 404 }),
  sendTarget('the target of a proxy', 'GET http://evil.example/v1/customers HTTP/1.1', { status: [200, 404] }),
  sendTarget('a target with two slashes', 'GET //evil.example/v1 HTTP/1.1', { status: 404 }),
  sendTarget('a path with an encoded NUL', 'GET /v1/customers/%00 HTTP/1.1', { status: 404 }),
  sendTarget('a path whose percent signs encode nothing', 'GET /v1/customers/%ff%zz% HTTP/1.1', { status: 404 }),
  sendTarget('a path up out of the page’s files', 'GET /docs/static/..%2f..%2f..%2fpackage.json HTTP/1.1', {
    status: [403, 404],
  }),
  sendTarget('a path up out of everything', 'GET /docs/static/../../../../etc/passwd HTTP/1.1', { status: [404, 422] }),
  sendTarget('a path of 15 KB', `GET /v1/customers/${'a'.repeat(15_000)} HTTP/1.1`, { status: 404 }),
  sendTarget('a path of 100 KB', `GET /v1/customers/${'a'.repeat(100_000)} HTTP/1.1`, { status: 431, closed: true }),
  sendTarget('five thousand parameters', `GET /v1/customers?${'a=1&'.repeat(3_500)} HTTP/1.1`, { status: [200, 422] }),
  sendTarget(
    'parameters of the prototype',
    'GET /v1/customers?__proto__[a]=1&constructor=2&limit[__proto__]=3 HTTP/1.1',
    { status: [200, 422] },
  ),
  sendTarget('a parameter thrice', 'GET /v1/customers?limit=1&limit=2&limit=3 HTTP/1.1', { status: 422 }),
  {
    name: 'ten thousand requests in one write',
    answer: { closed: true },
    async perform(target) {
      const exchange = await open(target, { from: FROM });
      exchange.socket.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10_000));
      return { closed: await exchange.closed() };
    },
  },
  {
    name: 'as many requests in one write as may wait',
    answer: { status: 404, code: 'not_found' },
    async perform(target) {
      const exchange = await open(target, { from: FROM });
      // The first one is answered, and does not wait.
      exchange.socket.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(65));
      await exchange.answered(65);
      exchange.socket.destroy();
      const answers = readAnswers(exchange.received());
      return answers.length === 65 ? { ...answers.at(-1) } : {};
    },
  },
  {
    name: 'a good request with a broken one behind it',
    answer: BROKEN,
    async perform(target) {
      const exchange = await open(target);
      exchange.socket.write(`${request(target, 'GET /nowhere HTTP/1.1')}BROKEN\r\n\r\n`);
      await exchange.answered(2);
      return outcomeOf(exchange);
    },
  },
  {
    // Node takes it that nobody is left to read an answer.
    name: 'a request whose sender has hung up its side',
    answer: { closed: true },
    async perform(target) {
      const exchange = await open(target);
      exchange.socket.end(request(target, 'GET /nowhere HTTP/1.1'));
      return outcomeOf(exchange);
    },
  },
];
