import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Figure, isMet } from './figure.ts';

it('a limit is met by its own value, unless the figure must lie below it', () => {
  const figure = { name: 'added', value: 3.5, unit: 'ms' } satisfies Figure;
  assert.equal(isMet(figure), undefined);
  assert.equal(isMet({ ...figure, bar: { atMost: 3.5 } }), true);
  assert.equal(isMet({ ...figure, bar: { atLeast: 3.5 } }), true);
  assert.equal(isMet({ ...figure, bar: { below: 3.5 } }), false);
  assert.equal(isMet({ ...figure, bar: { below: 3.6 } }), true);
});
