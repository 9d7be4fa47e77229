import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateStates } from './pattern-states.ts';

const cases: [pattern: string, least: number, most: number][] = [
  ['', 0, 0],
  ['^abc$', 5, 5],
  ['a{100}', 100, 110],
  ['[a-z]{2,50}', 50, 60],
  ['[^\\]x]{3}', 3, 4],
  ['a{3,}', 4, 6],
  ['(a{100}){100}', 10_000, 11_000],
  ['(((a{100}){100}){100})', 1_000_000, 1_100_000],
  ['((((a{999}){999}){999}){999}){999}', 1e14, 1e16],
  ['\\d{4}-\\d{2}', 7, 8],
  ['a{,5}', 5, 5],
  ['x{', 2, 2],
  ['(a', 1, 2],
  ['a)', 1, 4],
  ['(?:ab|cd)+', 5, 10],
  ['\\{100}', 5, 5],
  ['[{100}', 1, 1],
];

for (const [pattern, least, most] of cases) {
  test(`${pattern} is written out as ${least} to ${most} states`, () => {
    const states = estimateStates(pattern);
    assert.ok(states >= least && states <= most, String(states));
  });
}

const repeated: [part: string, states: number][] = [
  ['(', 0],
  ['(a{9}', 9 * 20_000],
  ['[', 1],
  ['{9', 2 * 20_000],
  ['\\', 20_000 / 2],
  ['a{1,2}', 2 * 20_000],
  ['a|', 2 * 20_000],
];
for (const [part, states] of repeated) {
  test(`${part} written 20,000 times is written out as ${states} states`, () => {
    assert.equal(estimateStates(part.repeat(20_000)), states);
  });
}
