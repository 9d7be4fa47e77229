/** Bodies that are large, deep, odd, or not what they say that they are. */
import { gzipSync } from 'node:zlib';
import type { HttpAbuse, HttpTarget } from '../cases.ts';
import { jsonRequest, open, outcomeOf, request, sending } from './raw-exchange.ts';

const REFUSED = { status: 422, code: 'invalid_request' } as const;
const CREATED = { status: 201 } as const;
const TOO_LARGE = { status: 413, code: 'payload_too_large' } as const;
const MAX_BODY = 10 * 1_048_576;
/** Large enough to cost seconds where it is read, and no larger, so that several fit into one caller's room. */
const LARGE = 2 * 1_048_576;
const ORDINARY = '{"name":"Ada"}';

function sendJson(
  name: string,
  body: () => string,
  answer: HttpAbuse['answer'],
  ...lines: readonly string[]
): HttpAbuse {
  return sending(name, (target) => jsonRequest(target, '/v1/customers', body(), ...lines), answer);
}

/** What a member of the metadata may be is not said in advance: all of it is walked. */
const inMetadata = (value: string) => `{"name":"Ada","metadata":{"a":${value}}}`;
const list = (item: string, bytes: number) => `[${`${item},`.repeat(bytes / (item.length + 1) - 1)}${item}]`;

function sendForm(
  name: string,
  parts: (target: HttpTarget) => string,
  answer: HttpAbuse['answer'],
  boundary = 'b',
): HttpAbuse {
  return sending(
    name,
    (target) => {
      const body = parts(target);
      const type = `Content-Type: multipart/form-data${boundary === '' ? '' : `; boundary=${boundary}`}`;
      return request(target, 'POST /v1/files HTTP/1.1', type, `Content-Length: ${body.length}`) + body;
    },
    answer,
  );
}

const field = (name: string, value: string, ...lines: readonly string[]) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${value}\r\n`;
const file = (content: string, filename = 'a.txt') =>
  `--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: text/plain\r\n\r\n${content}\r\n`;
const PURPOSE = field('purpose', 'assistants');
const END = '--b--\r\n';

/** Uploads a file and asks for its content with these headers. */
function askForRange(name: string, range: string, answer: HttpAbuse['answer']): HttpAbuse {
  return {
    name,
    answer,
    async perform(target) {
      const form = new FormData();
      form.set('purpose', 'assistants');
      form.set('file', new Blob(['x'.repeat(100_000)]), 'range.txt');
      const headers = { authorization: `Bearer ${target.token}` };
      const uploaded = await fetch(`${target.url}/v1/files`, { method: 'POST', headers, body: form });
      const { id } = (await uploaded.json()) as { id: string };
      const content = await fetch(`${target.url}/v1/files/${id}/content`, { headers: { ...headers, range } });
      const text = await content.text();
      return { status: content.status, code: /"code":"(\w+)"/.exec(text)?.[1] };
    },
  };
}

export const bodyAbuses: readonly HttpAbuse[] = [
  sendJson('ten million opening brackets', () => '['.repeat(MAX_BODY), REFUSED),
  sendJson('two million objects in objects', () => '{"a":'.repeat(LARGE / 5), REFUSED),
  sendJson('101 lists in lists, closed', () => inMetadata(`${'['.repeat(99)}${']'.repeat(99)}`), REFUSED),
  sendJson('empty lists side by side', () => inMetadata(list('[]', MAX_BODY - 100)), REFUSED),
  sendJson('numbers side by side', () => inMetadata(list('1', MAX_BODY - 100)), REFUSED),
  sendJson(
    'seven hundred thousand members',
    () => `{${Array.from({ length: 7e5 }, (_, at) => `"${at}":1`).join(',')}}`,
    REFUSED,
  ),
  sendJson(
    'as many members as are allowed, with an idempotency key',
    () => `{${Array.from({ length: 99_990 }, (_, at) => `"k${(at * 7919) % 1e6}":1`).join(',')}}`,
    { status: 422, code: 'name_required' },
    'Idempotency-Key: many-members',
  ),
  sendJson('one name a hundred thousand times', () => `{${'"name":"Ada",'.repeat(49_000)}"name":"Ada"}`, CREATED),
  sendJson('a number of ten million digits', () => inMetadata('1'.repeat(MAX_BODY - 100)), { status: [201, 422] }),
  sendJson('a number with an exponent beyond all bounds', () => inMetadata(`1e${'9'.repeat(10_000)}`), {
    status: [201, 422],
  }),
  sendJson('a text of ten million quotes', () => `{"name":"${'\\"'.repeat((MAX_BODY - 100) / 2)}"}`, {
    status: [413, 422],
  }),
  sendJson('a text of ten million escapes', () => `{"name":"${'\\u0041'.repeat((MAX_BODY - 100) / 6)}"}`, {
    status: [413, 422],
  }),
  sendJson('ten million spaces', () => `${' '.repeat(MAX_BODY - 100)}${ORDINARY}`, CREATED),
  sendJson('a member named __proto__', () => '{"name":"Ada","__proto__":{"admin":true}}', REFUSED),
  sendJson(
    'a member named __proto__, escaped',
    () => '{"name":"Ada","metadata":{"\\u005f_proto__":{"admin":true}}}',
    REFUSED,
  ),
  sendJson(
    'a prototype by way of the constructor',
    () => '{"name":"Ada","constructor":{"prototype":{"admin":true}}}',
    REFUSED,
  ),
  sendJson('half of a surrogate pair', () => '{"name":"\\ud800"}', { status: [201, 422] }),
  sendJson('a NUL in a text', () => '{"name":"a\\u0000b"}', { status: [201, 422] }),
  sendJson('a byte order mark', () => `\xef\xbb\xbf${ORDINARY}`, { status: [201, 422] }),
  sendJson('bytes that are no UTF-8', () => '{"name":"\xff\xfe\xc0\x80"}', { status: [201, 422] }),
  sendJson('JSON that ends in its middle', () => ORDINARY.slice(0, -3), REFUSED),
  sendJson('JSON with a comma too many', () => '{"name":"Ada",}', REFUSED),
  sendJson('an idempotency key of 10 KB', () => ORDINARY, REFUSED, `Idempotency-Key: ${'k'.repeat(10_000)}`),
  sendJson('one byte more than a body may have', () => `${ORDINARY}${' '.repeat(MAX_BODY)}`, TOO_LARGE),
  sending(
    'a body that grows beyond the limit in chunks',
    (target) =>
      request(target, 'POST /v1/customers HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked') +
      `100000\r\n${' '.repeat(0x100000)}\r\n`.repeat(12),
    TOO_LARGE,
  ),
  sending(
    'a length of petabytes',
    (target) =>
      request(
        target,
        'POST /v1/customers HTTP/1.1',
        'Content-Type: application/json',
        'Content-Length: 999999999999999',
      ),
    TOO_LARGE,
  ),
  sending(
    'a megabyte of spaces that unpacks to a gigabyte',
    (target) => {
      const packed = gzipSync(Buffer.alloc(64 * 1_048_576, ' ')).toString('latin1');
      const type = ['Content-Type: application/json', 'Content-Encoding: gzip', `Content-Length: ${packed.length}`];
      return request(target, 'POST /v1/customers HTTP/1.1', ...type) + packed;
    },
    REFUSED,
  ),
  sending(
    'a type that is none',
    (target) =>
      `${request(target, 'POST /v1/customers HTTP/1.1', `Content-Type: ${'a/'.repeat(2_000)}`, 'Content-Length: 2')}{}`,
    REFUSED,
  ),
  sending(
    'a form with a million fields where JSON is wanted',
    (target) => {
      const body = 'a=1&'.repeat(250_000);
      const lines = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`];
      return request(target, 'POST /v1/customers HTTP/1.1', ...lines) + body;
    },
    REFUSED,
  ),
  sendForm('a form without a boundary', () => PURPOSE + file('a') + END, REFUSED, ''),
  sendForm(
    'a form with a boundary of 1 KB that does not come',
    () => PURPOSE + file('a') + END,
    REFUSED,
    'x'.repeat(1_000),
  ),
  sendForm('a form of ten thousand parts', () => field('a', '').repeat(10_000) + file('a') + END, REFUSED),
  sendForm(
    'a part with 200 KB of headers',
    () => `--b\r\nX-Long: ${'a'.repeat(200_000)}\r\n\r\n\r\n${PURPOSE}${file('a')}${END}`,
    { status: [200, 422] },
  ),
  sendForm(
    'a part with ten thousand headers',
    () => field('purpose', 'assistants', ...Array.from({ length: 10_000 }, (_, at) => `X-${at}: a`)) + file('a') + END,
    { status: [200, 422] },
  ),
  sendForm(
    'a part without a name',
    () => `--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n${PURPOSE}${file('a')}${END}`,
    { status: [200, 422] },
  ),
  sendForm('a field named __proto__', () => field('__proto__', 'x') + PURPOSE + file('a') + END, REFUSED),
  sendForm(
    'a field of JSON that nests deep',
    () =>
      field('deep', `${'['.repeat(8_000)}${']'.repeat(8_000)}`, 'Content-Type: application/json') +
      PURPOSE +
      file('a') +
      END,
    REFUSED,
  ),
  sendForm(
    'a form in a form in a form',
    () =>
      `${PURPOSE}--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n${'--c\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n'.repeat(1_000)}\r\n${END}`,
    { status: [200, 422] },
  ),
  sendForm('a megabyte before the first part', () => `${'x'.repeat(1_048_576)}\r\n${PURPOSE}${file('a')}${END}`, {
    status: [200, 413, 422],
  }),
  sendForm('a file named as a path up', () => PURPOSE + file('a', '../../../../etc/passwd') + END, {
    status: [200, 422],
  }),
  sendForm('a megabyte that is nearly a boundary', () => PURPOSE + file('\r\n--'.repeat(250_000)) + END, {
    status: 200,
  }),
  askForRange('ten thousand ranges', `bytes=${Array.from({ length: 1_500 }, (_, at) => `${at}-${at}`).join(',')}`, {
    status: 200,
  }),
  askForRange('a range behind the end', 'bytes=99999999999999999999-', { status: 416, code: 'invalid_request' }),
  askForRange('a range of nothing', 'bytes=-0', { status: 416, code: 'invalid_request' }),
  askForRange('a range that ends before it begins', 'bytes=9-1', { status: 200 }),
  {
    name: 'fifty connections that are reset in the middle of their bodies',
    answer: { status: 200 },
    async perform(target) {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const { socket } = await open(target);
          const head = request(
            target,
            'POST /v1/customers HTTP/1.1',
            'Content-Type: application/json',
            'Content-Length: 60000',
          );
          await new Promise<void>((resolve) => socket.write(`${head}{`, () => resolve()));
          socket.resetAndDestroy();
        }),
      );
      const after = await fetch(`${target.url}/readyz`);
      return { status: after.status };
    },
  },
  {
    name: 'fifty connections that are reset in the middle of an answer',
    answer: { status: 200 },
    async perform(target) {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const exchange = await open(target, { from: '127.0.0.78' });
          exchange.socket.write(request(target, 'GET /docs/static/swagger-ui-bundle.js HTTP/1.1'));
          while (exchange.received() === '') await new Promise((resolve) => setTimeout(resolve, 5));
          exchange.socket.resetAndDestroy();
        }),
      );
      const after = await fetch(`${target.url}/readyz`);
      return { status: after.status };
    },
  },
  {
    name: 'good requests behind a large body that is refused',
    answer: { ...REFUSED, closed: true },
    async perform(target) {
      const exchange = await open(target);
      exchange.socket.write(jsonRequest(target, '/v1/customers', '['.repeat(LARGE)));
      exchange.socket.write(request(target, 'GET /v1/customers HTTP/1.1').repeat(10));
      return outcomeOf(exchange);
    },
  },
];
