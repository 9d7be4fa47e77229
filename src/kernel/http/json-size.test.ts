import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonBytes } from './json-size.ts';

test('the size is that of the JSON, and above a limit it is above it', () => {
  const value = fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 });
  fc.assert(
    fc.property(value, fc.nat(200), (given, limit) => {
      const size = Buffer.byteLength(JSON.stringify(given));
      assert.equal(jsonBytes(given, Number.POSITIVE_INFINITY), size);
      assert.equal(jsonBytes(given, limit) > limit, size > limit);
    }),
  );
});

test('what is beyond the limit is not looked at', () => {
  const trap = {
    get toolate(): never {
      throw new Error('looked at');
    },
  };
  assert.ok(jsonBytes(['x'.repeat(100), trap], 50) > 50);
});
