import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { soldTlds } from '../../../../test/support/prices.ts';
import { examples } from '../../../../test/support/seed.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import { suggestNames } from './suggest-names.ts';

/** Fails unless every one of the names is among the suggestions for the text. */
function assertSuggests(text: string, names: readonly string[], limit = 20): void {
  const suggestions = suggestNames(text, limit, soldTlds);
  for (const name of names)
    assert.ok(suggestions.includes(name), `${text}: ${name} is not in ${suggestions.join(' ')}`);
}

test('the words as they are come first, then what their TLD, a hyphen, an affix or a synonym make of them', () => {
  assert.equal(suggestNames('Coffee Shop', 1, soldTlds)[0], 'coffeeshop.com');
  assertSuggests('Coffee Shop', [
    'coffee.shop',
    'coffeeshop.net',
    'coffee-shop.com',
    'cafeshop.com',
    'getcoffeeshop.com',
  ]);
  assertSuggests('welcome', ['welcome.com', 'welco.me']);
  assertSuggests('photo studio berlin', ['photoberlin.studio', 'photostudioberlin.de']);
});

test('an answer is a mixture: no label takes more than half of it', () => {
  for (const text of ['coffee shop', 'photo studio berlin', 'travel blog']) {
    const labels = suggestNames(text, 10, soldTlds).map((name) => name.slice(0, name.indexOf('.')));
    const most = Math.max(...labels.map((label) => labels.filter((other) => other === label).length));
    assert.ok(most <= 5, `${text}: ${labels.join(' ')}`);
  }
});

test('words are found in compounds, capitals, stop words and accents', () => {
  assert.deepEqual(suggestNames('coffeeshop', 10, soldTlds), suggestNames('coffee shop', 10, soldTlds));
  assertSuggests('MyCoolApp', ['coolapp.com', 'cool.app', 'mycoolapp.com']);
  assertSuggests('Das Café für Zürich GmbH', ['cafezuerich.ch', 'cafezurich.com', 'xn--cafzrich-d1a5q.com']);
  assert.deepEqual(suggestNames('Straße', 1, soldTlds), ['strasse.com']);
  assert.deepEqual(suggestNames('the and of', 1, soldTlds), ['theandof.com']);
});

test('other scripts keep their letters', () => {
  assert.deepEqual(suggestNames('東京 寿司', 1, soldTlds), [normalizeName('東京寿司.com').ascii]);
  assert.deepEqual(suggestNames('яндекс почта', 1, soldTlds), [normalizeName('яндекспочта.com').ascii]);
});

test('a URL or a name stands for its words, and is not suggested itself', () => {
  for (const text of ['https://www.blue-cafe.com/menu?a=b', 'blue-cafe.com', 'Blue-Cafe.COM.']) {
    const names = suggestNames(text, 20, soldTlds);
    assert.equal(names[0], 'bluecafe.com', text);
    assert.ok(!names.includes('blue-cafe.com'), text);
  }
});

test('any text makes valid names of TLDs on offer, each once and the same every time, or is a bad request', () => {
  const words = fc.array(
    fc.constantFrom('coffee', 'shop', 'the', 'é', 'Zürich', '東京', 'почта', '-', '.', 'co.uk', '2'),
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    words.map((list) => list.join(' ')),
  );
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 50 }), (query, limit) => {
      let names: string[];
      try {
        names = suggestNames(query, limit, soldTlds);
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 'bad_request' && error.detail.param === 'q');
        return;
      }
      assert.ok(names.length <= limit);
      assert.equal(new Set(names).size, names.length);
      for (const name of names) {
        const { ascii, tld } = normalizeName(name);
        assert.equal(ascii, name);
        assert.ok(soldTlds.includes(tld), name);
      }
      assert.deepEqual(suggestNames(query, limit, soldTlds), names);
    }),
    { numRuns: examples(30, 300) },
  );
});
