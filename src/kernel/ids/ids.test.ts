import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idAt, isId, mintId, suffixOf, withPrefix } from './ids.ts';

test('an id is its prefix and a lower-case ULID', () => {
  assert.match(mintId('obj'), /^obj_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
});

test('mintId gives strictly increasing ids when it is called a hundred thousand times', () => {
  let last = '';
  for (let count = 0; count < 100_000; count += 1) {
    const id = mintId('obj');
    assert.ok(last < id, `${last} ${id}`);
    last = id;
  }
});

test('ids increase when the system clock steps back', (t) => {
  const first = mintId('obj');
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 3_600_000 });
  assert.ok(mintId('obj') > first);
});

test('ids of two times share no random part', (t) => {
  const start = Date.now() + 1_000_000;
  t.mock.timers.enable({ apis: ['Date'], now: start });
  const tails = new Set<string>();
  for (let i = 1; i <= 1000; i++) {
    t.mock.timers.setTime(start + i);
    tails.add(mintId('obj').slice(-16));
  }
  assert.equal(tails.size, 1000);
});

const NOT_IDS: readonly unknown[] = [
  undefined,
  null,
  7,
  '',
  'obj',
  'obj_',
  'obj_short',
  'obj_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  'obj_81arz3ndektsv4rrffq69g5fav',
  'obj_01arz3ndektsv4rrffq69g5fau',
  'obj_01arz3ndektsv4rrffq69g5fav\n',
  'obj_01arz3ndektsv4rrffq69g5fav0',
  'objx01arz3ndektsv4rrffq69g5fav',
  'other_01arz3ndektsv4rrffq69g5fav',
];

test('only an id of the prefix is one', () => {
  assert.ok(isId('obj', 'obj_01arz3ndektsv4rrffq69g5fav'));
  assert.ok(isId('obj', mintId('obj')));
  for (const value of NOT_IDS) assert.ok(!isId('obj', value), String(value));
});

test('an id changes its prefix and keeps its suffix', () => {
  const id = mintId('obj');
  assert.equal(withPrefix('other', id), `other_${suffixOf(id)}`);
  assert.throws(() => suffixOf('nothing'), TypeError);
  assert.throws(() => suffixOf('obj_nothing'), TypeError);
});

test('an id at a time divides the ids minted before from those minted after', () => {
  const before = new Date(Date.now() - 1);
  const id = mintId('obj');
  assert.ok(idAt('obj', before) < id);
  assert.ok(idAt('obj', new Date(Date.now() + 10_000_000)) > id);
  assert.equal(idAt('obj', new Date(-5)), `obj_${'0'.repeat(26)}`);
  assert.ok(isId('obj', idAt('obj', new Date(8.64e15))));
  assert.throws(() => idAt('obj', new Date(Number.NaN)), TypeError);
});
