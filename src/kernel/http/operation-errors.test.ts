/** Operations that tell their errors in a protocol's own way: whatever refuses them. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type SmallCaller, startSmallService } from '../../../test/support/small-service.ts';
import { ApiError } from './errors.ts';
import { operationsFor } from './operation.ts';
import { jsonRpcErrors, oauthErrors, pageErrors } from './operation-errors.ts';
import { closedObject } from './schema.ts';
import { Type } from './type-builder.ts';

const { read, change } = operationsFor<SmallCaller>();
const body = closedObject({ id: Type.Optional(Type.Integer()), method: Type.String() });
const dialects = {
  '/oauth': oauthErrors({ wrong_posture: { error: 'access_denied', status: 400 } }),
  '/rpc': jsonRpcErrors,
  '/page': pageErrors(),
  '/plain': undefined,
};

async function fail({ body: { method } }: { body: { method: string } }): Promise<never> {
  if (method === 'bug') throw new Error('secret');
  throw new ApiError('not_found', { message: 'No "thing" <here>. Look\nelsewhere.', details: { why: 1 } });
}

const operations = [
  ...Object.entries(dialects).map(([path, errorDialect]) =>
    change({
      id: `${path.slice(1)}.send`,
      method: 'POST',
      path,
      posture: 'closed',
      summary: 'Send',
      body,
      reply: Type.Object({ a: Type.String() }),
      ...(errorDialect === undefined ? {} : { errorDialect }),
      handler: fail,
    }),
  ),
  read({
    id: 'oauth.key',
    method: 'GET',
    path: '/oauth/key',
    posture: 'open',
    summary: 'Get',
    errorDialect: oauthErrors(),
    handler: async () => undefined as never,
  }),
];
const service = await startSmallService(operations);
after(() => service.close());

/** Each way to be refused; the service's own status for it. */
const refusals: Readonly<Record<string, readonly [status: number, headers: Record<string, string>, sent: string]>> = {
  unsupported_api_version: [400, { 'x-version': '9' }, '{}'],
  unauthenticated: [401, { authorization: '' }, '{}'],
  wrong_posture: [403, { authorization: 'Bearer guest' }, '{}'],
  'invalid_request, no JSON': [422, {}, '{'],
  'invalid_request, no member': [422, {}, '{"id": 7}'],
  not_found: [404, {}, '{"id": 7, "method": "a"}'],
  internal_error: [500, {}, '{"id": 7, "method": "bug"}'],
  payload_too_large: [413, {}, JSON.stringify({ method: 'a'.repeat(2_000) })],
};

async function send(path: string, what: string) {
  const [, headers, sent] = refusals[what] ?? [0, {}, ''];
  const answer = await fetch(service.url + path, {
    method: 'POST',
    headers: { authorization: 'Bearer owner', 'content-type': 'application/json', ...headers },
    body: sent,
  });
  for (const name of ['ratelimit', 'x-version', 'x-request-id']) assert.notEqual(answer.headers.get(name), null, name);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text };
}

describe('OAuth', () => {
  const told: Readonly<Record<string, readonly [status: number, error: string]>> = {
    unsupported_api_version: [400, 'invalid_request'],
    unauthenticated: [401, 'invalid_client'],
    wrong_posture: [400, 'access_denied'],
    'invalid_request, no JSON': [400, 'invalid_request'],
    'invalid_request, no member': [400, 'invalid_request'],
    not_found: [400, 'invalid_request'],
    internal_error: [500, 'server_error'],
    payload_too_large: [400, 'invalid_request'],
  };
  for (const what of Object.keys(refusals)) {
    test(what, async () => {
      const { status, headers, text } = await send('/oauth', what);
      const { error, error_description: description, ...others } = JSON.parse(text);
      assert.deepEqual([status, error], told[what]);
      assert.deepEqual(others, {});
      assert.match(description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.match(headers.get('content-type') ?? '', /^application\/json/);
      assert.equal(headers.get('www-authenticate'), what === 'unauthenticated' ? 'Bearer realm="things"' : null);
    });
  }
});

describe('JSON-RPC', () => {
  for (const [what, [expected]] of Object.entries(refusals)) {
    test(what, async () => {
      const { status, text } = await send('/rpc', what);
      const { jsonrpc, id, error, ...others } = JSON.parse(text);
      assert.deepEqual([status, jsonrpc, others], [expected, '2.0', {}]);
      const wasRead = /not_found|internal_error|no member/.test(what);
      assert.equal(id, wasRead ? 7 : null);
      assert.equal(error.data.code, what.split(',')[0]);
      assert.ok(Number.isInteger(error.code) && error.code <= -32_000);
      assert.doesNotMatch(text, /secret/);
      if (what === 'not_found') assert.deepEqual(error.data.details, { why: 1 });
    });
  }
});

describe('a page', () => {
  for (const [what, [expected]] of Object.entries(refusals)) {
    test(what, async () => {
      const { status, headers, text } = await send('/page', what);
      assert.equal(status, expected);
      assert.match(headers.get('content-type') ?? '', /^text\/html/);
      assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/);
      assert.match(text, /^<!doctype html>/);
      assert.ok(text.includes(headers.get('x-request-id') ?? '?'));
      assert.doesNotMatch(text, /secret|<here>/);
    });
  }
});

test('an operation without a dialect tells errors as its service does', async () => {
  const { status, text } = await send('/plain', 'not_found');
  assert.equal(status, 404);
  assert.equal(JSON.parse(text).error.code, 'not_found');
});

test('a route that does not exist is told as the service does', async () => {
  const answer = await fetch(`${service.url}/oauth/nothing`);
  assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'not_found');
});

test('a budget that is used up is told in the dialect, with the time to wait', async () => {
  const limited = await startSmallService(operations, { requestsPerMinute: 1 });
  try {
    const get = () => fetch(`${limited.url}/oauth/key`, { headers: { authorization: 'Bearer busy' } });
    await get();
    const answer = await get();
    assert.equal(answer.status, 429);
    assert.notEqual(answer.headers.get('retry-after'), null);
    assert.equal(((await answer.json()) as { error: string }).error, 'temporarily_unavailable');
  } finally {
    await limited.close();
  }
});

test('the document has the dialects’ schemas', async () => {
  const document = (await fetch(`${service.url}/openapi.json`).then((answer) => answer.json())) as {
    paths: Record<string, { post: { responses: Record<string, { content: Record<string, { schema: object }> }> } }>;
    components: { schemas: Record<string, object> };
  };
  const schemaOf = (path: string, type = 'application/json') =>
    document.paths[path]?.post.responses['403']?.content[type]?.schema;
  assert.deepEqual(schemaOf('/oauth'), { $ref: '#/components/schemas/OAuthError' });
  assert.deepEqual(schemaOf('/rpc'), { $ref: '#/components/schemas/JsonRpcError' });
  assert.deepEqual(schemaOf('/page', 'text/html'), { $ref: '#/components/schemas/ErrorPage' });
  assert.deepEqual(schemaOf('/plain'), { $ref: '#/components/schemas/Error' });
  for (const name of ['OAuthError', 'JsonRpcError', 'ErrorPage', 'Error']) assert.ok(document.components.schemas[name]);
});
