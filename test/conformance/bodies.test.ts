/** What a body may be: its size, its encoding, its syntax, its members, its text. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startPlatform } from '../support/platform.ts';
import { assertRefusal } from './assert-refusal.ts';
import { sendRaw } from './raw-http.ts';
import { bodyFor, createWorld, OPENAI_DIALECT, pathIn } from './world.ts';

const BODY_LIMIT_BYTES = 64 * 1024;

const platform = await startPlatform({ limits: { bodyLimitBytes: BODY_LIMIT_BYTES } });
after(() => platform.close());
const world = await createWorld(platform);
const { tenant } = world;
/** What tells errors in a protocol's own words takes its members as that protocol has it, and is tested where it is defined. */
const withBody = platform.platform.operations.filter(
  ({ body, errorDialect }) => body !== undefined && errorDialect === undefined,
);

describe('a body that is too large gets 413', () => {
  test('by the length that it announces, before it is sent', async () => {
    const answer = await sendRaw(platform.url, postHead(`Content-Length: ${BODY_LIMIT_BYTES + 1}`));
    assertRefusal(answer, 413, 'payload_too_large');
    assert.match(answer.body.error.message, new RegExp(String(BODY_LIMIT_BYTES)));
  });

  test('by what arrives in chunks', async () => {
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const answer = await sendRaw(platform.url, postHead('Transfer-Encoding: chunked'), chunk.repeat(8));
    assertRefusal(answer, 413, 'payload_too_large');
  });

  test('and one of just the limit is taken', async () => {
    const frame = JSON.stringify({ name: 'Large', instructions: '' }).length;
    const body = { name: 'Large', instructions: 'x'.repeat(BODY_LIMIT_BYTES - frame) };
    assert.equal(Buffer.byteLength(JSON.stringify(body)), BODY_LIMIT_BYTES);
    const answer = await tenant.post('/v1/agents', body);
    assert.equal(answer.status, 201, answer.text.slice(0, 300));
  });
});

describe('a body that is no JSON gets 422 invalid_request', () => {
  const malformed = ['{', '}', '{"name":}', '{"name": "a",}', "{'name': 'a'}", '{name: "a"}', '{"name": "a"} x', 'NaN'];
  for (const text of [
    ...malformed,
    'undefined',
    '{"name": "a\u0001"}',
    '{"name": "\\x41"}',
    '[1,]',
    '01',
    '"unended',
  ]) {
    test(JSON.stringify(text), async () => {
      assertRefusal(await tenant.post('/v1/customers', text), 422, 'invalid_request', null);
    });
  }

  test('and a message that does not repeat the whole of it', async () => {
    const answer = await tenant.post('/v1/customers', `{"api_key": "sk-secret-0123456789", ${'x'.repeat(2000)}`);
    assertRefusal(answer, 422, 'invalid_request');
    assert.ok(answer.text.length < 500, answer.text);
    assert.doesNotMatch(answer.text, /sk-secret/);
  });
});

describe('a body of another type gets 422 invalid_request, which names Content-Type', () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'nonsense',
  ]) {
    test(type, async () => {
      const answer = await tenant.post('/v1/customers', '{"name": "Acme"}', { 'content-type': type });
      assertRefusal(answer, 422, 'invalid_request', 'Content-Type');
      assert.match(answer.body.error.message, /application\/json/);
    });
  }

  for (const type of ['application/json; charset=utf-8', 'application/JSON', 'application/vnd.api+json']) {
    test(`but ${type} is taken`, async () => {
      const answer = await tenant.post('/v1/customers', '{"name": "Acme"}', { 'content-type': type });
      assert.equal(answer.status, 201, answer.text);
    });
  }

  test('and a compressed body is refused with advice', async () => {
    const bytes = gzipSync('{"name": "Acme"}');
    const head = postHead('Content-Encoding: gzip', `Content-Length: ${bytes.length}`);
    const answer = await sendRaw(platform.url, head, bytes);
    assertRefusal(answer, 422, 'invalid_request', 'Content-Encoding');
  });
});

describe('a body that is no object is refused, whatever takes it', () => {
  for (const operation of withBody) {
    test(operation.id, async () => {
      for (const text of ['[]', '"text"', '5', 'true', '[{"name": "Acme"}]']) {
        const answer = await send(operation, text);
        assertRefusal(answer, 422, 'invalid_request', null);
        assert.match(answer.body.error.message, /object/);
      }
    });
  }
});

describe('a member that is not known is ignored in the OpenAI dialect, whose clients send more than is known here', () => {
  for (const operation of withBody.filter(({ path }) => OPENAI_DIALECT.test(path))) {
    test(operation.id, async () => {
      const answer = await send(operation, { ...bodyFor(operation, world), surprise: 1 });
      assert.equal(answer.status, 200, answer.text);
    });
  }
});

describe('a member that is not known is refused by name', () => {
  for (const operation of withBody.filter(({ path }) => !OPENAI_DIALECT.test(path))) {
    test(operation.id, async () => {
      const answer = await send(operation, { ...bodyFor(operation, world), surprise: 1 });
      assertRefusal(answer, 422, 'invalid_request', 'surprise');
      assert.match(answer.body.error.message, /`surprise`/);
    });
  }

  test('also inside of a member', async () => {
    const input = [{ role: 'user', content: 'Hello', surprise: 1 }];
    const answer = await tenant.post(`/v1/smiths/${world.smithId}/runs`, { input });
    assertRefusal(answer, 422, 'invalid_request', 'input.0.surprise');
  });
});

describe('names of the prototype chain', () => {
  const bodies = {
    'a __proto__': '{"name": "Acme", "__proto__": {"admin": true}}',
    'a nested __proto__': '{"name": "Acme", "metadata": {"a": {"__proto__": {"admin": true}}}}',
    'an escaped __proto__': '{"name": "Acme", "metadata": {"\\u005f_proto__": {"admin": true}}}',
    'constructor.prototype': '{"name": "Acme", "metadata": {"constructor": {"prototype": {"admin": true}}}}',
  };
  for (const [what, body] of Object.entries(bodies)) {
    test(`${what} is refused and changes nothing`, async () => {
      assertRefusal(await tenant.post('/v1/customers', body), 422, 'invalid_request');
      assert.equal(Reflect.get({}, 'admin'), undefined);
    });
  }

  test('hasOwnProperty, toString and valueOf are names like any other where names are free', async () => {
    const metadata = { hasOwnProperty: 1, toString: 'a', valueOf: null, constructor: 'x', length: 3 };
    const answer = await tenant.post('/v1/customers', { name: 'Acme', metadata });
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(answer.body.metadata, metadata);
    const unknown = await tenant.post('/v1/customers', { name: 'Acme', hasOwnProperty: 1 });
    assertRefusal(unknown, 422, 'invalid_request', 'hasOwnProperty');
  });
});

describe('depth', () => {
  test('of a hundred levels is taken and comes back', async () => {
    const metadata = nest(99);
    const answer = await tenant.post('/v1/customers', { name: 'Deep', metadata });
    assert.equal(answer.status, 201, answer.text.slice(0, 300));
    assert.deepEqual(answer.body.metadata, metadata);
  });

  for (const depth of [100, 5_000, 30_000]) {
    test(`of ${depth + 1} levels is refused with advice`, async () => {
      const objects = `{"name": "Deep", "metadata": ${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`;
      const arrays = `{"name": "Deep", "metadata": {"a": ${'['.repeat(depth)}${']'.repeat(depth)}}}`;
      for (const body of [objects, arrays].filter((text) => text.length < BODY_LIMIT_BYTES)) {
        const answer = await tenant.post('/v1/customers', body, { 'idempotency-key': `deep-${depth}` });
        assertRefusal(answer, 422, 'invalid_request', null);
        assert.match(answer.body.error.message, /100 levels/);
      }
    });
  }

  test('counts brackets in text as text', async () => {
    const name = '[{'.repeat(90);
    const answer = await tenant.post('/v1/customers', { name, metadata: { text: `"${'['.repeat(500)}\\"{` } });
    assert.equal(answer.status, 201, answer.text);
  });
});

describe('text', () => {
  const texts: Readonly<Record<string, readonly [sent: string, kept: string]>> = {
    'U+0000': ['a\\u0000b', 'a\ufffdb'],
    'a lone high surrogate': ['a\\ud800b', 'a\ufffdb'],
    'a lone low surrogate': ['a\\udc00b', 'a\ufffdb'],
    'surrogates in the wrong order': ['a\\udc00\\ud83db', 'a\ufffd\ufffdb'],
    'a pair of surrogates': ['a\\ud83d\\ude00b', 'a😀b'],
    'a backslash before u0000': ['a\\\\u0000b', 'a\\u0000b'],
    'right-to-left, combining and zero-width characters': [
      '\u202eשלום\u0301\u200d\ufeff',
      '\u202eשלום\u0301\u200d\ufeff',
    ],
    'characters that HTML, SQL and shells know': [
      "</script>'; drop table customers; --$(id)",
      "</script>'; drop table customers; --$(id)",
    ],
  };
  for (const [what, [sent, kept]] of Object.entries(texts)) {
    test(`with ${what} is kept as the store can hold it, and reads back as it was answered`, async () => {
      const body = `{"name": "${sent}", "metadata": {"${sent}": ["${sent}"]}, "external_ids": {"${sent}": "${sent}"}}`;
      const created = await tenant.post('/v1/customers', body);
      assert.equal(created.status, 201, created.text);
      const read = await tenant.get(`/v1/customers/${created.body.id}`);
      const { usage: _usage, budgets: _budgets, ...shown } = read.body;
      assert.deepEqual(shown, created.body);
      const { name, metadata, external_ids } = read.body;
      assert.deepEqual(
        { name, metadata, external_ids },
        { name: kept, metadata: { [kept]: [kept] }, external_ids: { [kept]: kept } },
      );
    });
  }

  test('of bytes that are no UTF-8 is taken with replacement characters', async () => {
    const bytes = Buffer.concat([Buffer.from('{"name": "a'), Buffer.from([0xff, 0xfe]), Buffer.from('b"}')]);
    const answer = await sendRaw(platform.url, postHead(`Content-Length: ${bytes.length}`), bytes);
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.body.name, 'a\ufffd\ufffdb');
  });
});

describe('JSON that parsers disagree about', () => {
  test('of two members with one name, the last counts', async () => {
    const answer = await tenant.post('/v1/customers', '{"name": "First", "name": "Last"}');
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.body.name, 'Last');
  });

  test('a byte order mark is skipped', async () => {
    const bytes = Buffer.from('\ufeff{"name": "Acme"}');
    const answer = await sendRaw(platform.url, postHead(`Content-Length: ${bytes.length}`), bytes);
    assert.equal(answer.status, 201, answer.text);
  });

  test('numbers that a double cannot hold are refused or kept as the double, and never break', async () => {
    for (const number of ['1e400', '-1e400', '123456789012345678901234567890', '-0', '5e-324', '0.1']) {
      const answer = await tenant.post('/v1/customers', `{"name": "Acme", "metadata": {"n": ${number}}}`);
      assert.ok([201, 422].includes(answer.status), answer.text);
      if (answer.status !== 201) continue;
      const read = await tenant.get(`/v1/customers/${answer.body.id}`);
      const { usage: _usage, budgets: _budgets, ...shown } = read.body;
      assert.deepEqual(shown, answer.body);
    }
  });
});

describe('no body', () => {
  test('says as much as an empty object, with or without a type', async () => {
    const bare = await tenant.post('/v1/customers');
    assertRefusal(bare, 422, 'name_required', 'name');
    const typed = await tenant.post('/v1/customers', '', { 'content-type': 'application/json' });
    assertRefusal(typed, 422, 'name_required', 'name');
  });

  test('is what a DELETE has, and a client that names a type or sends one all the same is served', async () => {
    for (const body of [undefined, '', '{}']) {
      const { id } = (await tenant.post('/v1/customers', { name: 'Acme' })).body;
      const headers = { 'content-type': 'application/json' };
      const answer = await tenant.open('DELETE', `/v1/customers/${id}`, body, headers);
      assert.equal(answer.status, 204, await answer.text());
    }
  });
});

function postHead(...headers: readonly string[]): string[] {
  const authorization = `Authorization: Bearer ${tenant.token}`;
  return ['POST /v1/customers HTTP/1.1', authorization, 'Content-Type: application/json', ...headers];
}

async function send(operation: (typeof withBody)[number], body: unknown) {
  const caller = operation.posture === 'org' ? world.organization : tenant;
  const response = await caller.open(operation.method, pathIn(operation.path, world), body);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

/** Objects and arrays by turns, this deep. */
function nest(depth: number): Record<string, unknown> {
  let value: unknown = 'bottom';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? { a: value } : [value];
  return value as Record<string, unknown>;
}
