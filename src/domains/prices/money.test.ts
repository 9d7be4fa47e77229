import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatEuros, MAX_CENTS, parsePrice, toEuros } from './money.ts';

test('an amount is read to the cent, from a number or a decimal string', () => {
  const cases: [number | string, number][] = [
    ['12.34', 1234],
    ['12.3', 1230],
    ['12', 1200],
    ['0', 0],
    ['0.05', 5],
    [12.34, 1234],
    [12.3, 1230],
    [12, 1200],
    [0.29, 29],
    [1.1, 110],
    [8.2, 820],
    [4.35, 435],
    [1000000, MAX_CENTS],
    ['1000000.00', MAX_CENTS],
  ];
  for (const [value, cents] of cases) assert.equal(parsePrice(value), cents, JSON.stringify(value));
});

test('what is not an amount in euros and cents is refused', () => {
  const cases = [
    ...[1.005, 0.1 + 0.2, -1, -0.01, 1e21, 1e-7, Number.NaN, Number.POSITIVE_INFINITY, 1_000_000.01],
    ...['12.345', '12.340', '12.', '.5', '', ' 12', '12 ', '12,34', '+12', '-12', '1e2', '0x10', '012', '00', 'NaN'],
    ...['1000000.01', '9999999', '99999999999999999999', '12.34 EUR', '１２', '12\n'],
  ];
  for (const value of cases) assert.equal(parsePrice(value), undefined, JSON.stringify(value));
});

test('cents survive the way out and back, as JSON and as text', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_CENTS }), (cents) => {
      assert.equal(parsePrice(toEuros(cents)), cents);
      assert.equal(parsePrice(JSON.stringify(toEuros(cents))), cents);
      assert.equal(parsePrice(formatEuros(cents).replace(' EUR', '')), cents);
      assert.match(JSON.stringify(toEuros(cents)), /^\d+(\.\d{1,2})?$/);
    }),
    { numRuns: 2_000 },
  );
});

test('any text is an amount or none', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.double()), (value) => {
      const cents = parsePrice(value);
      assert.ok(cents === undefined || (Number.isInteger(cents) && cents >= 0 && cents <= MAX_CENTS));
    }),
  );
});

test('people read two decimals, and a part of a cent is an error', () => {
  assert.equal(formatEuros(1230), '12.30 EUR');
  assert.equal(formatEuros(-5), '-0.05 EUR');
  assert.throws(() => toEuros(0.5), RangeError);
});
