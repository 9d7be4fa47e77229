import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compilePattern } from './linear-pattern.ts';

const matching: [pattern: string, yes: string[], no: string[]][] = [
  ['^[a-z]+$', ['abc'], ['aBc', '']],
  ['b', ['abc'], ['ac']],
  ['^\\u00e9\\/[\\u4e00-\\u9fff]$', ['é/中'], ['é/a']],
  ['^(?<year>\\d{4})-(?:0[1-9]|1[0-2])$', ['2026-11'], ['2026-13']],
  ['^(?!\\.)(?!.*\\.\\.)[a-z.]+$', ['a.b'], ['.a', 'a..b']],
  ['^(?=.{1,5}$)[a-z]+(?:\\.[a-z]+)*$', ['ab.cd'], ['ab.cde', 'ab.']],
  ['^(?!(?:a|b)$)[a-z]$', ['c'], ['a', 'b']],
  ['^(?!\\)|[)])x', ['x'], [')x']],
  ['^\\p{L}+$', ['été'], ['1']],
  ['', ['', 'x'], []],
];

for (const [pattern, yes, no] of matching) {
  test(`${pattern} matches as ECMAScript has it`, () => {
    const compiled = compilePattern(pattern);
    for (const text of yes) assert.ok(compiled.test(text) && new RegExp(pattern, 'u').test(text), text);
    for (const text of no) assert.ok(!(compiled.test(text) || new RegExp(pattern, 'u').test(text)), text);
  });
}

for (const [pattern, reason] of [
  ['(a)\\1', /refers back/],
  ['(?<a>x)\\k<a>', /refers back/],
  ['a(?=b)', /ahead or behind/],
  ['(?<=a)b', /ahead or behind/],
  ['^(?!a)b|c', /ahead or behind/],
  ['^(?!a(?=b))', /ahead or behind/],
  ['(', /missing/],
  ['[', /missing/],
  ['a{1001}', /repeat/],
  ['(((a{100}){100}){100})', /repeat/],
] as const) {
  test(`${pattern} is refused with the reason`, () => {
    assert.throws(() => compilePattern(pattern), reason);
  });
}
