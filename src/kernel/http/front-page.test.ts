/** The root of a service, and which answers are compressed. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, describe, test } from 'node:test';
import { sendRaw } from '../../../test/conformance/raw-http.ts';
import { startSmallService } from '../../../test/support/small-service.ts';
import { ByteContent } from './byte-content.ts';
import { COMPRESSION_THRESHOLD_BYTES } from './compression.ts';
import { EventStream, eventFrame } from './event-stream.ts';
import { operationsFor } from './operation.ts';
import { html } from './reply.ts';
import { Type } from './type-builder.ts';

const { read, change, turn } = operationsFor<undefined>();
const LARGE = 'large '.repeat(COMPRESSION_THRESHOLD_BYTES);
const Text = Type.Object({ text: Type.String() });
const facts = { method: 'GET', posture: 'public', summary: 'Read' } as const;
const service = await startSmallService(
  [
    read({ ...facts, id: 'texts.large', path: '/v1/large', reply: Text, handler: async () => ({ text: LARGE }) }),
    read({ ...facts, id: 'texts.small', path: '/v1/small', reply: Text, handler: async () => ({ text: 'small' }) }),
    read({ ...facts, id: 'pages.large', path: '/v1/page', answers: ['html'], handler: async () => html(LARGE) }),
    change({
      ...facts,
      method: 'POST',
      id: 'texts.create',
      path: '/v1/made',
      reply: Text,
      handler: async () => ({ text: LARGE }),
    }),
    turn({ ...facts, id: 'texts.turn', path: '/v1/turn', reply: Text, handler: async () => ({ text: LARGE }) }),
    turn({
      ...facts,
      id: 'texts.stream',
      path: '/v1/stream',
      reply: Text,
      streams: 'only',
      handler: async () =>
        new EventStream(async (sink) => {
          sink.write(eventFrame(undefined, JSON.stringify(LARGE)));
        }),
    }),
    read({
      ...facts,
      id: 'texts.bytes',
      path: '/v1/bytes',
      answers: 'bytes',
      handler: async () =>
        new ByteContent({
          totalBytes: LARGE.length,
          mediaType: 'text/plain',
          etag: 'a',
          filename: 'a.txt',
          open: async (range) => Readable.from([LARGE.slice(range?.start ?? 0, (range?.end ?? LARGE.length) + 1)]),
        }),
    }),
  ],
  { basePath: '/v1' },
);
after(() => service.close());

const get = (path: string, headers: Record<string, string> = {}) => fetch(service.url + path, { headers });

describe('the root', () => {
  for (const path of ['/', '/v1']) {
    test(`is a page for a browser (${path})`, async () => {
      const answer = await get(path, { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.match(answer.headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-/);
      assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"document"/);
      const text = await answer.text();
      assert.match(text, /<title>Things<\/title>/);
      const links = [...text.matchAll(/<a href="([^"]+)"/g)].map((match) => match[1] ?? '');
      assert.deepEqual(links.slice(0, 2), ['/v1/docs', '/v1/openapi.json']);
      for (const link of links.slice(0, 2)) assert.equal((await get(link)).status, 200, link);
    });

    test(`is JSON for everybody else (${path})`, async () => {
      const answer = await get(path);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('vary'), 'accept');
      const { service: name, title, reference, openapi, api_version: version } = (await answer.json()) as never;
      assert.deepEqual({ name, title, version }, { name: 'things', title: 'Things', version: '2' });
      assert.match(reference, /\/v1\/docs$/);
      assert.match(openapi, /\/v1\/openapi\.json$/);
    });
  }
});

describe('an answer', () => {
  const encodingOf = async (path: string, accepted: string, method = 'GET') => {
    const answer = await sendRaw(service.url, [`${method} ${path} HTTP/1.1`, `Accept-Encoding: ${accepted}`]);
    return answer.headers.get('content-encoding');
  };

  for (const [accepted, encoding] of [
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1.0, br;q=0', 'gzip'],
    ['identity', null],
    ['', null],
  ] as const) {
    test(`that is large is ${encoding ?? 'sent as it is'} for ${JSON.stringify(accepted)}`, async () => {
      assert.equal(await encodingOf('/v1/large', accepted), encoding);
    });
  }

  test('that is packed is the same, and its length is that of what is sent', async () => {
    const packed = await get('/v1/large', { 'accept-encoding': 'gzip' });
    assert.deepEqual(await packed.json(), { text: LARGE });
    assert.match(packed.headers.get('vary') ?? '', /accept-encoding/i);
    const length = Number(packed.headers.get('content-length'));
    assert.ok(length > 0 && length < LARGE.length / 4, `${length}`);
    assert.ok(packed.headers.get('ratelimit'));
  });

  test('of a page is packed', async () => {
    assert.equal(await encodingOf('/v1/page', 'gzip'), 'gzip');
  });

  test('that is small, made, of a turn, a stream, or of bytes is not', async () => {
    for (const path of ['/v1/small', '/v1/turn', '/v1/stream', '/v1/bytes']) {
      assert.equal(await encodingOf(path, 'gzip, br'), null, path);
    }
    assert.equal(await encodingOf('/v1/made', 'gzip', 'POST'), null);
  });

  test('of bytes keeps its ranges', async () => {
    const answer = await get('/v1/bytes', { 'accept-encoding': 'gzip', range: 'bytes=0-4' });
    assert.deepEqual([answer.status, await answer.text()], [206, 'large']);
  });

  test('of the reference’s assets is packed', async () => {
    const answer = await get('/v1/docs/static/swagger-ui.css', { 'accept-encoding': 'gzip' });
    assert.equal(answer.headers.get('content-encoding'), 'gzip');
    assert.match(await answer.text(), /swagger-ui/);
  });
});

describe('the reference page', () => {
  const get = (path: string) => fetch(service.url + path);

  test('may run and load its own files alone, and be framed by nobody', async () => {
    for (const path of [
      '/v1/docs',
      '/v1/docs/',
      '/v1/docs/static/swagger-initializer.js',
      '/v1/docs/static/index.css',
    ]) {
      const { headers } = await get(path);
      const policy = new Map(
        (headers.get('content-security-policy') ?? '')
          .split('; ')
          .map((directive) => directive.split(' '))
          .map(([name = '', ...sources]) => [name, sources]),
      );
      assert.deepEqual(
        [...policy],
        [
          ['default-src', ["'none'"]],
          ['script-src', ["'self'"]],
          ['style-src', ["'self'"]],
          ['img-src', ["'self'", 'data:']],
          ['font-src', ["'self'"]],
          ['connect-src', ["'self'", 'http://127.0.0.1']],
          ['form-action', ["'none'"]],
          ['frame-ancestors', ["'none'"]],
          ['base-uri', ["'none'"]],
        ],
        path,
      );
      assert.equal(headers.get('x-frame-options'), 'DENY');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
    }
  });

  test('has no script and no style in it, and names no other host', async () => {
    const page = await (await get('/v1/docs')).text();
    assert.doesNotMatch(page, /<style|style=|\son\w+=|javascript:/i);
    for (const [, attributes = '', content = ''] of page.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)) {
      assert.match(attributes, /src="\/v1\/docs\/static\/[\w.-]+\.js"/);
      assert.equal(content.trim(), '');
    }
    assert.doesNotMatch(page, /\b(?:https?:)?\/\/\w/);
  });

  test('keeps nothing in the browser', async () => {
    const initializer = await (await get('/v1/docs/static/swagger-initializer.js')).text();
    assert.match(initializer, /"persistAuthorization":false/);
    assert.match(initializer, /validatorUrl: null/);
    assert.doesNotMatch(initializer, /localStorage|sessionStorage|cookie/);
    // The only places of the bundle that keep something ask for that setting first.
    const bundle = await (await get('/v1/docs/static/swagger-ui-bundle.js')).text();
    for (const { index } of bundle.matchAll(/localStorage\.(?:set|get)Item/g)) {
      assert.match(bundle.slice(index - 200, index), /persistAuthorization/);
    }
    assert.doesNotMatch(bundle, /sessionStorage\./);
  });

  test('has its scripts compressed once, and says when they have not changed', async () => {
    const path = '/v1/docs/static/swagger-ui-bundle.js';
    const first = await fetch(service.url + path, { headers: { 'accept-encoding': 'br' } });
    assert.deepEqual(
      ['content-encoding', 'content-type', 'vary'].map((name) => first.headers.get(name)),
      ['br', 'text/javascript; charset=utf-8', 'accept-encoding'],
    );
    assert.equal(first.headers.get('content-length') === null, false);
    const etag = first.headers.get('etag') ?? '';
    assert.match(etag, /^W\//);
    await first.arrayBuffer();
    assert.equal((await fetch(service.url + path, { headers: { 'if-none-match': etag } })).status, 304);
    assert.equal((await get('/v1/docs/static/nothing.js')).status, 404);
    assert.equal((await get('/v1/docs/static/..%2fpackage.json')).status, 404);
  });

  test('has its document as JSON alone, which is the one of /openapi.json', async () => {
    const [own, other] = await Promise.all([get('/v1/docs/json'), get('/v1/openapi.json')]);
    assert.equal(own.headers.get('etag'), other.headers.get('etag'));
    assert.equal(await own.text(), await other.text());
    assert.equal((await get('/v1/docs/yaml')).status, 404);
  });
});
