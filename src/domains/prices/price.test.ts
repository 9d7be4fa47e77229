import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standardPrices, termsOf } from '../../../test/support/prices.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { normalizeName } from '../names/normalize-name.ts';
import { MAX_CENTS } from './money.ts';
import { type PricedOperation, priceCents } from './price.ts';
import { offeredTlds } from './tlds.ts';

const NOW = new Date('2026-03-01T00:00:00Z');

function refusal(param: string, message: RegExp) {
  return (error: unknown) =>
    error instanceof ApiError &&
    error.code === 'bad_request' &&
    error.detail.param === param &&
    message.test(error.message);
}

test('every TLD on offer is a public suffix, listed once, with terms that a registry can have', () => {
  assert.equal(new Set(offeredTlds.map(({ tld }) => tld)).size, offeredTlds.length);
  for (const terms of offeredTlds) {
    assert.equal(normalizeName(`example-name.${terms.tld}`).tld, terms.tld);
    assert.deepEqual(standardPrices.find(terms.tld, NOW), terms);
    for (const { min, max } of [terms.registrationYears, terms.renewalYears]) {
      assert.ok(min >= 1 && min <= max && max <= terms.maxTermYears && terms.maxTermYears <= 10, terms.tld);
    }
    assert.ok(terms.transferYears >= 1 && terms.graceDays >= 0 && terms.redemptionDays >= 0, terms.tld);
    for (const cents of [terms.registerCents, terms.renewCents, terms.transferCents]) {
      assert.ok(Number.isInteger(cents) && cents > 0 && cents * 10 < MAX_CENTS, terms.tld);
    }
    assert.ok(Number.isInteger(terms.tradeCents) && terms.tradeCents >= 0, terms.tld);
  }
});

test('registrations and renewals cost their years; transfers and trades have one price', () => {
  const terms = termsOf('com');
  assert.equal(priceCents(termsOf('com'), 'registration', 1), terms.registerCents);
  assert.equal(priceCents(termsOf('com'), 'registration', 10), terms.registerCents * 10);
  assert.equal(priceCents(termsOf('com'), 'renewal', 3), terms.renewCents * 3);
  assert.equal(priceCents(termsOf('com'), 'transfer', 1), terms.transferCents);
  assert.equal(priceCents(termsOf('ai'), 'transfer', 2), termsOf('ai').transferCents);
  assert.equal(priceCents(termsOf('at'), 'trade', 0), termsOf('at').tradeCents);
});

test('years that a registry does not sell are refused, saying which it does', () => {
  const cases: [string, PricedOperation, number, RegExp][] = [
    ['com', 'registration', 0, /1 to 10 years/],
    ['com', 'registration', 11, /1 to 10 years/],
    ['com', 'registration', 1.5, /1 to 10 years/],
    ['com', 'renewal', Number.NaN, /1 to 10 years/],
    ['ai', 'registration', 1, /2 to 10 years/],
    ['de', 'registration', 2, /for 1 year\./],
    ['com', 'transfer', 2, /for 1 year\./],
    ['com', 'trade', 1, /0 years/],
  ];
  for (const [tld, operation, years, message] of cases) {
    assert.throws(
      () => priceCents(termsOf(tld), operation, years),
      refusal('duration', message),
      `${tld} ${operation} ${years}`,
    );
  }
});

test('a TLD that is not offered has no price', () => {
  assert.equal(standardPrices.find('zzz', NOW), undefined);
  assert.equal(standardPrices.find('constructor', NOW), undefined);
  assert.throws(() => standardPrices.get('zzz', NOW), refusal('domain', /GET \/tlds/));
});
