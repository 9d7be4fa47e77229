import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from './errors.ts';
import { canonicalJson, MAX_KEY_LENGTH, readClaim } from './idempotency.ts';

describe('canonical JSON', () => {
  test('is the same for the same value, in whatever order its members were given', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        assert.equal(canonicalJson(value), canonicalJson(reverseMembers(value)));
      }),
    );
  });

  test('says what the value says', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('keeps the order of lists, and tells values apart that only look alike', () => {
    const values = [
      [1, 2],
      [2, 1],
      { a: 1 },
      { a: '1' },
      { a: [1] },
      { a: null },
      { a: {} },
      {},
      [],
      null,
      '',
      0,
      false,
    ];
    assert.equal(new Set(values.map(canonicalJson)).size, values.length);
  });

  test('of an object with very many members keeps them as they were sent', () => {
    const names = Array.from({ length: 1_001 }, (_, at) => `k${1_001 - at}`);
    const value = Object.fromEntries(names.map((name) => [name, 1]));
    assert.equal(canonicalJson(value), JSON.stringify(value));
    assert.equal(canonicalJson({ b: 1, a: value }), `{"a":${JSON.stringify(value)},"b":1}`);
  });

  test('of nothing is empty', () => {
    assert.equal(canonicalJson(undefined), '');
  });

  test('keeps members with names of the prototype chain', () => {
    const value = JSON.parse('{"constructor": 1, "toString": 2, "b": 3}');
    assert.equal(canonicalJson(value), '{"b":3,"constructor":1,"toString":2}');
  });
});

describe('a claim', () => {
  const url = '/v1/customers';

  test('is none without the header', () => {
    assert.equal(readClaim('customers.create', undefined, url, {}), undefined);
  });

  test('has one fingerprint for one request, and another for another path, query or body', () => {
    const fingerprint = (at: string, body: unknown) => readClaim('x', 'key', at, body)?.fingerprint;
    const first = fingerprint(url, { a: 1, b: [1, 2] });
    assert.equal(fingerprint(url, { b: [1, 2], a: 1 }), first);
    const others = [
      fingerprint(`${url}/`, { a: 1, b: [1, 2] }),
      fingerprint(`${url}?a=1`, { a: 1, b: [1, 2] }),
      fingerprint(url, { a: 1, b: [2, 1] }),
      fingerprint(url, {}),
      fingerprint(url, undefined),
    ];
    assert.equal(new Set([first, ...others]).size, others.length + 1);
  });

  test('tells the end of the path from the beginning of the body', () => {
    const one = readClaim('x', 'key', '/a', 1)?.fingerprint;
    const other = readClaim('x', 'key', '/a\n1', undefined)?.fingerprint;
    assert.notEqual(one, other);
  });

  test('keeps nothing of the body that could be read', () => {
    const claim = readClaim('x', 'key', url, { api_key: 'sk-secret' });
    assert.doesNotMatch(JSON.stringify(claim), /secret/);
  });

  for (const key of ['', 'x'.repeat(MAX_KEY_LENGTH + 1), 'a\u007f', 'ü', 'a\tb', ['a', 'b']]) {
    test(`is refused for the key ${JSON.stringify(key).slice(0, 20)}`, () => {
      assert.throws(
        () => readClaim('x', key, url, {}),
        (error) =>
          error instanceof ApiError && error.code === 'invalid_request' && error.detail.param === 'Idempotency-Key',
      );
    });
  }
});

function reverseMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseMembers);
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).map(([name, member]) => [name, reverseMembers(member)] as const);
  return Object.fromEntries(members.reverse());
}
