/** Pages, texts and redirects out of handlers. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startSmallService } from '../../../test/support/small-service.ts';
import { createNonce, hashSource, nonceSource, pagePolicy } from './content-security-policy.ts';
import { operationsFor } from './operation.ts';
import { escapeHtml, html, plainText, redirect, xml } from './reply.ts';
import { Type } from './type-builder.ts';

const { read, change } = operationsFor<undefined>();
const facts = { method: 'GET', posture: 'public', summary: 'Show' } as const;
const nonce = createNonce();

const service = await startSmallService([
  read({
    ...facts,
    id: 'pages.show',
    path: '/page',
    query: Type.Object({ name: Type.String() }),
    answers: ['html', 'redirect'],
    handler: async ({ query }) => html(`<!doctype html><p>${escapeHtml(query.name)}</p>`),
  }),
  read({
    ...facts,
    id: 'pages.script',
    path: '/script',
    answers: ['html'],
    handler: async () =>
      html(`<script nonce="${nonce}">1</script>`, {
        status: 201,
        cacheControl: 'private, max-age=60',
        policy: {
          scripts: [nonceSource(nonce), hashSource('2')],
          connections: ["'self'"],
          forms: ["'self'", 'https://client.example'],
          frameAncestors: ['https://shop.example'],
        },
      }),
  }),
  read({ ...facts, id: 'texts.plain', path: '/plain', answers: ['text'], handler: async () => plainText('ä\n') }),
  read({
    ...facts,
    id: 'texts.xml',
    path: '/xml',
    answers: ['xml'],
    handler: async () => xml('<a/>', { mediaType: 'application/atom+xml' }),
  }),
  read({
    ...facts,
    id: 'pages.onward',
    path: '/onward',
    query: Type.Object({ to: Type.String() }),
    answers: ['redirect'],
    handler: async ({ query }) => redirect(query.to),
  }),
  change({
    ...facts,
    method: 'POST',
    id: 'pages.sent',
    path: '/sent',
    answers: ['redirect'],
    handler: async () => redirect('/page?name=you', { status: 303 }),
  }),
  read({ ...facts, id: 'pages.undeclared', path: '/undeclared', handler: async () => html('<p>') }),
  read({
    ...facts,
    id: 'things.either',
    path: '/either',
    query: Type.Object({ json: Type.Optional(Type.Boolean()) }),
    reply: Type.Object({ a: Type.Integer() }),
    answers: ['html'],
    handler: async ({ query }) => (query.json === true ? { a: 1 } : html('<p>1')),
  }),
]);
after(() => service.close());

const get = (path: string, method = 'GET') => fetch(service.url + path, { method, redirect: 'manual' });

describe('a page', () => {
  test('is HTML that may run and load nothing, is kept by nobody and framed by nobody', async () => {
    const answer = await get('/page?name=%3Cscript%3E%26%22%27');
    assert.equal(answer.status, 200);
    assert.equal(await answer.text(), '<!doctype html><p>&#60;script&#62;&#38;&#34;&#39;</p>');
    const expected = {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      'x-version': '2',
    };
    for (const [name, value] of Object.entries(expected)) assert.equal(answer.headers.get(name), value, name);
    assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"address"/);
  });

  test('may name what it runs, where it sends forms and who frames it', async () => {
    const answer = await get('/script');
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.get('cache-control'), 'private, max-age=60');
    assert.equal(answer.headers.get('x-frame-options'), null);
    assert.equal(
      answer.headers.get('content-security-policy'),
      `default-src 'none'; script-src 'nonce-${nonce}' 'sha256-1HNeOiZeFu7gP1lxi5tdAwGcB9i2xR+Q2jpmbuwTqzU='; ` +
        "connect-src 'self'; form-action 'self' https://client.example; frame-ancestors https://shop.example; base-uri 'none'",
    );
  });

  test('of HEAD has the headers and no body', async () => {
    const answer = await get('/page?name=a', 'HEAD');
    assert.equal(answer.headers.get('content-length'), String('<!doctype html><p>a</p>'.length));
    assert.equal(await answer.text(), '');
  });

  test('that its operation does not announce is a fault of ours', async () => {
    assert.equal((await get('/undeclared')).status, 500);
  });

  test('may stand beside the JSON of the reply', async () => {
    assert.equal(await (await get('/either?json=true')).text(), '{"a":1}');
    assert.equal(await (await get('/either')).text(), '<p>1');
  });
});

test('text and XML have their types', async () => {
  const plain = await get('/plain');
  assert.deepEqual([await plain.text(), plain.headers.get('content-type')], ['ä\n', 'text/plain; charset=utf-8']);
  const feed = await get('/xml');
  assert.deepEqual(
    [await feed.text(), feed.headers.get('content-type')],
    ['<a/>', 'application/atom+xml; charset=utf-8'],
  );
  for (const { headers } of [plain, feed]) {
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'no-store');
  }
});

describe('a redirect', () => {
  const places: Readonly<Record<string, string>> = {
    'https://client.example/cb?a=1&b=%20#x': 'https://client.example/cb?a=1&b=%20#x',
    'com.example.app:/cb': 'com.example.app:/cb',
    '/ä b\r\nset-cookie: x': '/%C3%A4%20b%0D%0Aset-cookie:%20x',
  };
  for (const [to, location] of Object.entries(places)) {
    test(`to ${JSON.stringify(to)}`, async () => {
      const answer = await get(`/onward?to=${encodeURIComponent(to)}`);
      assert.equal(answer.status, 302);
      assert.equal(answer.headers.get('location'), location);
      assert.equal(answer.headers.get('set-cookie'), null);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal(await answer.text(), '');
    });
  }

  test('of a form’s answer is 303', async () => {
    const answer = await get('/sent', 'POST');
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, '/page?name=you']);
  });
});

test('a policy refuses sources that would end it', () => {
  for (const source of ["'self'; script-src *", 'a b', 'a,b', '', 'ä']) {
    assert.throws(() => pagePolicy({ scripts: [source] }), TypeError, source);
  }
});

test('the document says what is answered', async () => {
  const document = (await fetch(`${service.url}/openapi.json`).then((answer) => answer.json())) as {
    paths: Record<string, Record<string, { responses: Record<string, { content?: object; headers?: object }> }>>;
  };
  const answersOf = (path: string, method = 'get') => {
    const responses = Object.entries(document.paths[path]?.[method]?.responses ?? {});
    const good = responses.filter(([status]) => Number(status) < 400);
    return good.map(([status, { content, headers }]) => [status, Object.keys(content ?? headers ?? {}).join()]);
  };
  assert.deepEqual(answersOf('/page'), [
    ['200', 'text/html'],
    ['302', 'location'],
    ['303', 'location'],
  ]);
  assert.deepEqual(answersOf('/either'), [['200', 'application/json,text/html']]);
  assert.deepEqual(answersOf('/plain'), [['200', 'text/plain']]);
});
