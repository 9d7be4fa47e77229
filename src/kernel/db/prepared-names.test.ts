import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PreparedNames } from './prepared-names.ts';

test('a text has a name of its own from its second use on', () => {
  const names = new PreparedNames('written', 10);
  assert.deepEqual([names.nameOf('a'), names.nameOf('b')], [undefined, undefined]);
  const [a, b] = [names.nameOf('a'), names.nameOf('b')];
  assert.notEqual(a, b);
  assert.deepEqual([names.nameOf('a'), names.nameOf('b')], [a, b]);
});

test('once the names are given, other texts go without, and those that have one keep it', () => {
  const names = new PreparedNames('generated', 3);
  const use = (text: string) => [names.nameOf(text), names.nameOf(text)][1];
  const given = ['a', 'b', 'c'].map(use);
  assert.equal(new Set(given).size, 3);
  assert.equal(use('d'), undefined);
  assert.deepEqual(['a', 'b', 'c'].map(use), given);
});

test('names of two origins differ', () => {
  const [written, generated] = [new PreparedNames('written', 1), new PreparedNames('generated', 1)];
  const use = (names: PreparedNames) => [names.nameOf('a'), names.nameOf('a')][1];
  assert.notEqual(use(written), use(generated));
});
