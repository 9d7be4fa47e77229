import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseMethod, mayUseIndex } from './choose-method.ts';

describe('the way through the chunks', () => {
  const cases: [name: string, chunks: number, indexed: number | undefined, method: string][] = [
    ['scores each of a few', 2000, 10_000_000, 'every'],
    ['compares some thousands', 4000, 4000, 'compare'],
    ['compares where there is no index', 1_000_000, undefined, 'compare'],
    ['asks the index of a large store', 100_000, 100_000, 'index'],
    ['asks the index where half of the chunks count', 50_000, 100_000, 'index'],
    ['compares where few of the indexed chunks count', 10_000, 100_000, 'compare'],
    ['compares a small tenant’s among many', 50_000, 10_000_000, 'compare'],
    ['takes a size that is not known yet for that of the store', 50_000, -1, 'index'],
  ];
  for (const [name, chunks, indexed, method] of cases) {
    it(name, () => assert.equal(chooseMethod(chunks, indexed, 11), method));
  }

  it('looks for an index of usual lengths alone', () => {
    assert.equal(mayUseIndex(100_000, 1536), true);
    assert.equal(mayUseIndex(100_000, 1537), false);
    assert.equal(mayUseIndex(100_000, undefined), false);
    assert.equal(mayUseIndex(100, 1536), false);
  });
});
