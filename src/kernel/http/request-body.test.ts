/** Bodies that are no JSON: bytes as they came, and forms. */
import assert from 'node:assert/strict';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { sendRaw } from '../../../test/conformance/raw-http.ts';
import { type SmallCaller, startSmallService } from '../../../test/support/small-service.ts';
import { ApiError } from './errors.ts';
import { operationsFor } from './operation.ts';
import { closedObject, component } from './schema.ts';
import { Type } from './type-builder.ts';

const SECRET = 'whisper';
const OWNER_LIMIT = 5;
const { raw, read, change } = operationsFor<SmallCaller>();
const { read: readOpen } = operationsFor<undefined>();

const Received = Type.Object({
  base64: Type.String(),
  contentType: Type.String(),
  sent: Type.Optional(Type.String()),
  by: Type.Optional(Type.String()),
});
const Grant = component(
  'Grant',
  closedObject({
    grant: Type.String({ minLength: 1 }),
    seconds: Type.Optional(Type.Integer()),
    resource: Type.Optional(Type.Array(Type.String())),
  }),
);
const grantFacts = {
  method: 'POST',
  posture: 'public',
  summary: 'Grant',
  body: Grant,
  reply: Grant,
  maxBodyBytes: 8_000,
} as const;

const operations = [
  raw({
    id: 'bytes.receive',
    method: 'POST',
    path: '/v1/bytes',
    posture: 'open',
    summary: 'Receive bytes',
    maxBodyBytes: 2_000,
    reply: Received,
    handler: async ({ body, headers }) => ({
      base64: body.bytes.toString('base64'),
      contentType: body.contentType,
      ...(headers['content-type'] === undefined ? {} : { sent: headers['content-type'] }),
    }),
  }),
  raw({
    id: 'hooks.receive',
    method: 'POST',
    path: '/v1/hooks/{owner}',
    posture: 'public',
    summary: 'Receive a signed message',
    params: Type.Object({ owner: Type.String() }),
    reply: Received,
    async verify({ params, headers, body }) {
      const expected = createHmac('sha256', SECRET).update(body.bytes).digest();
      const given = Buffer.from(String(headers['x-signature'] ?? ''), 'hex');
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw new ApiError('unauthenticated');
      return { name: params.owner };
    },
    handler: async ({ body, caller }) => ({ base64: '', contentType: body.contentType, by: caller.name }),
  }),
  change({ ...grantFacts, id: 'grants.form', path: '/v1/form', bodyFormat: 'form', idempotent: false, handler: echo }),
  change({ ...grantFacts, id: 'grants.either', path: '/v1/either', bodyFormat: 'json or form', handler: echo }),
  readOpen({
    id: 'things.get',
    method: 'GET',
    path: '/v1/open',
    posture: 'public',
    summary: 'Get nothing',
    handler: async () => undefined as never,
  }),
  read({
    id: 'things.own',
    method: 'GET',
    path: '/v1/own',
    posture: 'open',
    summary: 'Get nothing',
    handler: async () => undefined as never,
  }),
];

async function echo({ body }: { body: { grant: string; seconds?: number; resource?: string[] } }) {
  return body;
}

const service = await startSmallService(operations, { requestsPerMinute: OWNER_LIMIT });
after(() => service.close());
let senders = 0;

describe('a raw body', () => {
  /** Each request is one of an owner of its own. */
  const post = (body: Uint8Array | string, headers: Record<string, string> = {}) => {
    senders += 1;
    const authorization = `Bearer sender${senders}`;
    return fetch(`${service.url}/v1/bytes`, { method: 'POST', headers: { authorization, ...headers }, body });
  };

  for (const type of [
    'application/json',
    'text/plain; charset=latin1',
    'application/x-www-form-urlencoded',
    'image/png',
  ]) {
    test(`arrives byte for byte as ${type}`, async () => {
      const bytes = Buffer.concat([Buffer.from('{ "a" : 1 }\r\n'), randomBytes(64)]);
      const answer = await post(bytes, { 'content-type': type });
      assert.deepEqual(await answer.json(), { base64: bytes.toString('base64'), contentType: type, sent: type });
    });
  }

  test('arrives with a type that is none, without a type, and empty', async () => {
    senders += 1;
    const head = ['POST /v1/bytes HTTP/1.1', `Authorization: Bearer sender${senders}`];
    const odd = await sendRaw(service.url, [...head, 'Content-Type: ;;;', 'Content-Length: 2'], 'ab');
    assert.deepEqual(odd.body, { base64: 'YWI=', contentType: ';;;', sent: ';;;' });
    const typeless = await sendRaw(service.url, [...head, 'Content-Length: 2'], 'ab');
    assert.deepEqual(typeless.body, { base64: 'YWI=', contentType: '' });
    const empty = await sendRaw(service.url, head);
    assert.deepEqual(empty.body, { base64: '', contentType: '' });
  });

  test('is not unpacked', async () => {
    const answer = await post(Buffer.from([31, 139]), {
      'content-encoding': 'gzip',
      'content-type': 'application/json',
    });
    assert.equal(((await answer.json()) as { base64: string }).base64, Buffer.from([31, 139]).toString('base64'));
  });

  test('has a limit of its own', async () => {
    assert.equal((await post(Buffer.alloc(2_000))).status, 200);
    const answer = await post(Buffer.alloc(2_001));
    assert.equal(answer.status, 413);
    assert.match(await answer.text(), /larger than 2000 bytes/);
  });

  test('is not read for a caller who is nobody', async () => {
    const answer = await sendRaw(service.url, ['POST /v1/bytes HTTP/1.1', 'Content-Length: 900']);
    assert.equal(answer.status, 401);
  });
});

describe('a raw body that says who sent it', () => {
  const send = (owner: string, signed = 'hello') =>
    fetch(`${service.url}/v1/hooks/${owner}`, {
      method: 'POST',
      headers: { 'x-signature': createHmac('sha256', SECRET).update(signed).digest('hex') },
      body: 'hello',
    });
  const addressLeft = async () => {
    const answer = await fetch(`${service.url}/v1/anything`, { method: 'OPTIONS' });
    await answer.arrayBuffer();
    return Number(answer.headers.get('x-ratelimit-remaining-requests'));
  };

  test('is handled as its caller’s', async () => {
    const answer = await send('ada');
    assert.equal(((await answer.json()) as { by: string }).by, 'ada');
    assert.equal(answer.headers.get('ratelimit'), `"project";r=${OWNER_LIMIT - 1};t=60`);
  });

  test('takes nothing from its address’s budget once it is verified', async () => {
    const before = await addressLeft();
    for (let sent = 0; sent < 3; sent += 1) assert.equal((await send('grace')).status, 200);
    assert.equal(await addressLeft(), before);
  });

  test('takes from its address’s budget where it is not', async () => {
    const before = await addressLeft();
    const answer = await send('grace', 'something else');
    assert.equal(answer.status, 401);
    assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"address"/);
    assert.equal(await addressLeft(), before - 1);
  });

  test('is let in whatever forged ones came from its address, which are counted', async () => {
    const limited = await startSmallService(operations, { addressRequestsPerMinute: 2 });
    const sendThere = async (signed: string) => {
      const answer = await fetch(`${limited.url}/v1/hooks/ada`, {
        method: 'POST',
        headers: { 'x-signature': createHmac('sha256', SECRET).update(signed).digest('hex') },
        body: 'hello',
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    try {
      const forged = [await sendThere('one'), await sendThere('two'), await sendThere('three')];
      assert.deepEqual(forged, [401, 401, 429]);
      assert.equal(await sendThere('hello'), 200);
    } finally {
      await limited.close();
    }
  });

  test('is refused when its owner’s budget is used up, which is the budget of the owner’s tokens too', async () => {
    for (let sent = 0; sent < OWNER_LIMIT; sent += 1) assert.equal((await send('busy')).status, 200);
    assert.equal((await send('busy')).status, 429);
    const own = await fetch(`${service.url}/v1/own`, { headers: { authorization: 'Bearer busy' } });
    assert.equal(own.status, 429);
  });
});

describe('a form', () => {
  const post = (path: string, body: string, type = 'application/x-www-form-urlencoded') =>
    fetch(service.url + path, { method: 'POST', headers: { 'content-type': type }, body });
  const refusal = async (answer: Response) => {
    const { error } = (await answer.json()) as { error: Record<string, unknown> };
    return [answer.status, error.code, error.param];
  };

  for (const path of ['/v1/form', '/v1/either']) {
    test(`is validated by the schema, its text becoming what that names (${path})`, async () => {
      const answer = await post(path, 'grant=a%20b+c&seconds=60&resource=x');
      assert.deepEqual(await answer.json(), { grant: 'a b c', seconds: 60, resource: ['x'] });
    });
  }

  test('may have a member several times where the schema has a list', async () => {
    const answer = await post('/v1/form', 'grant=a&resource=x&resource=y');
    assert.deepEqual(await answer.json(), { grant: 'a', resource: ['x', 'y'] });
  });

  const refused: Readonly<Record<string, readonly [body: string, param: string]>> = {
    'a member that is missing': ['seconds=1', 'grant'],
    'a member that is not known': ['grant=a&other=b', 'other'],
    'a member that is sent twice': ['grant=a&grant=b', 'grant'],
    'a member of another type': ['grant=a&seconds=soon', 'seconds'],
    'a number without end': ['grant=a&seconds=1e999', 'seconds'],
    'a name of the prototype chain': ['grant=a&__proto__=b', '__proto__'],
    'nothing at all': ['', 'grant'],
  };
  for (const [what, [body, param]] of Object.entries(refused)) {
    test(`with ${what} is refused`, async () => {
      assert.deepEqual(await refusal(await post('/v1/form', body)), [422, 'invalid_request', param]);
    });
  }

  test('with more members than anybody needs is refused', async () => {
    const names = Array.from({ length: 1_001 }, (_, number) => `n${number}`);
    const answer = await post('/v1/form', names.join('&'));
    assert.equal(answer.status, 422);
    assert.match(await answer.text(), /more than 1000 fields/);
  });

  test('and nothing else is read where a form is wanted; either, where either is', async () => {
    const json = JSON.stringify({ grant: 'a' });
    const answer = await post('/v1/form', json, 'application/json');
    assert.deepEqual(await refusal(answer), [422, 'invalid_request', 'Content-Type']);
    assert.deepEqual(await (await post('/v1/either', json, 'application/json')).json(), { grant: 'a' });
    // Text becomes a number in a form alone.
    const strict = await post('/v1/either', JSON.stringify({ grant: 'a', seconds: '60' }), 'application/json');
    assert.deepEqual(await refusal(strict), [422, 'invalid_request', 'seconds']);
  });

  test('larger than the limit is refused', async () => {
    assert.equal((await post('/v1/form', `grant=${'a'.repeat(8_000)}`)).status, 413);
  });
});

test('the document says what bodies are read', async () => {
  const document = (await fetch(`${service.url}/openapi.json`).then((answer) => answer.json())) as {
    paths: Record<string, Record<string, Described>>;
  };
  const bodyOf = (path: string) => document.paths[path]?.post?.requestBody;
  assert.deepEqual(Object.keys(bodyOf('/v1/bytes')?.content ?? {}), ['*/*']);
  assert.deepEqual(Object.keys(bodyOf('/v1/form')?.content ?? {}), ['application/x-www-form-urlencoded']);
  assert.deepEqual(Object.keys(bodyOf('/v1/either')?.content ?? {}), [
    'application/json',
    'application/x-www-form-urlencoded',
  ]);
  for (const path of ['/v1/bytes', '/v1/form', '/v1/either']) {
    assert.equal(bodyOf(path)?.required, true, path);
    assert.match(document.paths[path]?.post?.responses['413']?.description ?? '', /payload_too_large/, path);
  }
});

interface Described {
  readonly requestBody: { readonly required: boolean; readonly content: Record<string, unknown> };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}
