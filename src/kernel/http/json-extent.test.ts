import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ExtentScan, findExcess } from './json-extent.ts';

const UNLIMITED = {
  levels: 100,
  values: Number.POSITIVE_INFINITY,
  items: Number.POSITIVE_INFINITY,
  digits: Number.POSITIVE_INFINITY,
};
const nestsDeeper = (text: string, levels: number) => findExcess(text, { ...UNLIMITED, levels }) === 'levels';

test('the depth of JSON is what walking it would find', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 12 }), fc.boolean(), (value, pretty) => {
      const text = JSON.stringify(value, null, pretty ? 2 : 0);
      const depth = depthOf(value);
      assert.equal(nestsDeeper(text, depth), false);
      if (depth > 0) assert.equal(nestsDeeper(text, depth - 1), true);
    }),
  );
});

test('brackets, quotes and backslashes in strings are text', () => {
  for (const text of ['"[[[["', '"\\"[[["', '"\\\\"', '"\\\\\\"[["', '{"[": "{", "a\\\\": "]"}', '["\\\\", "["]']) {
    JSON.parse(text);
    assert.equal(nestsDeeper(text, 1), false, text);
  }
});

test('brackets side by side do not nest', () => {
  assert.equal(nestsDeeper(`[${Array(1_000).fill('[{}]').join(',')}]`, 3), false);
});

test('the values of JSON are its objects, arrays and strings, names included', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      const values = countValues(value);
      assert.equal(findExcess(text, { ...UNLIMITED, values }), undefined);
      if (values > 0) assert.equal(findExcess(text, { ...UNLIMITED, values: values - 1 }), 'values');
    }),
  );
});

test('a list may have as many items as are allowed, and not one more', () => {
  const list = (length: number) => JSON.stringify(Array.from({ length }, () => 1));
  assert.equal(findExcess(list(10), { ...UNLIMITED, items: 10 }), undefined);
  assert.equal(findExcess(list(11), { ...UNLIMITED, items: 10 }), 'items');
  assert.equal(findExcess(JSON.stringify({ a: ',,,,,,,,,,,', b: 1 }), { ...UNLIMITED, items: 2 }), undefined);
});

test('a number may have as many characters as are allowed, and not one more', () => {
  for (const number of ['1234567', '-123456', '1.2e-99', '12E+345']) {
    for (const text of [number, `[${number}]`, `{"a":${number},"b":"12345678"}`, ` ${number} `]) {
      assert.equal(findExcess(text, { ...UNLIMITED, digits: 7 }), undefined, text);
      assert.equal(findExcess(text, { ...UNLIMITED, digits: 6 }), 'digits', text);
    }
  }
});

test('a string ends where JSON says that it does', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('\\', '"', 'a', '[', '\n')), (parts) => {
      const text = JSON.stringify([parts.join(''), 1]);
      assert.equal(findExcess(text, { ...UNLIMITED, levels: 1, values: 2, items: 2 }), undefined, text);
      assert.equal(findExcess(text, { ...UNLIMITED, levels: 1, values: 2, items: 1 }), 'items', text);
    }),
  );
});

test('text that is no JSON is read to its end or to its first level too many', () => {
  for (const text of ['', '"', '"\\', ']]]]', '[[[', '{"a": "unended [[[['])
    assert.equal(nestsDeeper(text, 3), false, text);
  assert.equal(nestsDeeper('[[[[', 3), true);
});

test('findExcess reads to the end a text that begins with 16 million quotes and backslashes', () => {
  const quotes = '"\\\\\\"'.repeat(4_000_000);
  const text = `${quotes}"[[[[`;
  assert.equal(nestsDeeper(text, 4), false);
  assert.equal(nestsDeeper(text, 3), true);
});

function depthOf(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function countValues(value: unknown): number {
  if (typeof value === 'string') return 1;
  if (value === null || typeof value !== 'object') return 0;
  const names = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, member) => sum + countValues(member), 1 + names);
}

test('a text that is read in pieces is judged as one that is read at once', () => {
  const extent = { levels: 4, values: 12, items: 8, digits: 5 };
  const inPieces = (text: string, characters: number) => {
    const scan = new ExtentScan(text, extent);
    while (!scan.isDone) {
      const excess = scan.read(characters);
      if (excess !== undefined) return excess;
    }
    return undefined;
  };
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.integer({ min: 1, max: 20 }), (text, characters) => {
      assert.equal(inPieces(text, characters), findExcess(text, extent));
    }),
  );
});
