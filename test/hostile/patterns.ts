/** Regular expressions of callers that a backtracking engine does not come back from, that are large, or that are meant. */
import type { PatternCase, SchemaPlace } from './cases.ts';

/** What a tool's parameters may have although RE2 does not: nobody runs it. */
const FORMATS: readonly SchemaPlace[] = ['response_format', 'text.format'];
const TOOLS: readonly SchemaPlace[] = ['tool parameters'];

const a = (count: number) => () => `${'a'.repeat(count)}!`;

/** They take time that doubles with each character, or a power of the length, to an engine that tries everything. */
const backtracking: readonly PatternCase[] = [
  { name: 'a repeated repetition', pattern: '^(a+)+$', value: a(200), answer: 'accepted' },
  { name: 'a repeated repetition of none or more', pattern: '^(a*)*$', value: a(200), answer: 'accepted' },
  { name: 'a repetition three deep', pattern: '^((a+)+)+$', value: a(200), answer: 'accepted' },
  { name: 'a repeated choice of the same', pattern: '^(a|a)*$', value: a(200), answer: 'accepted' },
  { name: 'a repeated choice of one and of two', pattern: '^(a|aa)+$', value: a(200), answer: 'accepted' },
  { name: 'a repeated choice that overlaps', pattern: '^(\\w|\\d)+$', value: a(200), answer: 'accepted' },
  { name: 'a repeated word with a space or none', pattern: '^(\\w+\\s?)*$', value: a(200), answer: 'accepted' },
  {
    name: 'an item and a comma, eleven times',
    pattern: '^(.*?,){11}P',
    value: () => '1,'.repeat(40),
    answer: 'accepted',
  },
  {
    name: '28 that may be there and 14 that must',
    pattern: `^${'a?'.repeat(28)}${'a'.repeat(14)}$`,
    value: a(28),
    answer: 'accepted',
  },
  {
    name: '600 that may be there and 600 that must',
    pattern: `^${'a?'.repeat(600)}a{600}$`,
    value: a(600),
    answer: 'accepted',
  },
  {
    name: 'five repetitions side by side',
    pattern: '^a*a*a*a*a*b$',
    value: a(2_000),
    answer: 'accepted',
  },
  { name: 'anything, three times', pattern: '^.*.*.*x$', value: a(2_000), answer: 'accepted' },
  { name: 'nothing in common with an end', pattern: '(x+x+)+y', value: () => 'x'.repeat(5_000), answer: 'accepted' },
  {
    name: 'an e-mail address',
    pattern:
      '^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$',
    value: a(200),
    answer: 'accepted',
  },
  { name: 'blanks at the end', pattern: '\\s+$', value: () => `${' '.repeat(5_000)}x`, answer: 'accepted' },
  { name: 'a repeated group that may be empty', pattern: '^(a?){40}$', value: a(60), answer: 'accepted' },
  { name: 'a lazy repetition of a lazy one', pattern: '^(?:a+?)+?$', value: a(300), answer: 'accepted' },
  {
    name: 'names by a repeated repetition',
    pattern: '^(a+)+$',
    keyword: 'patternProperties',
    value: a(200),
    answer: 'accepted',
  },
  {
    name: 'names that may have 28 and must have 14',
    pattern: `^${'a?'.repeat(28)}${'a'.repeat(14)}$`,
    keyword: 'patternProperties',
    value: a(42),
    answer: 'accepted',
  },
];

const large: readonly PatternCase[] = [
  { name: 'a hundred of a hundred of a hundred', pattern: '(((a{100}){100}){100})', answer: 'refused' },
  { name: 'five times 999 of each other', pattern: '((((a{999}){999}){999}){999}){999}', answer: 'refused' },
  { name: 'ten of a thousand, and one', pattern: `^(?:[a-z]{1000}){10}a$`, answer: 'refused' },
  { name: 'ten times up to 1,000 of anything, and one', pattern: `${'.{0,1000}'.repeat(10)}x`, answer: 'refused' },
  { name: '2,001 characters', pattern: 'x'.repeat(2_001), answer: 'refused' },
  { name: '2,000 open groups', pattern: '('.repeat(2_000), places: FORMATS, answer: 'refused' },
  { name: '2,000 open groups of a tool', pattern: '('.repeat(2_000), places: TOOLS, answer: 'accepted' },
  { name: '900 groups in each other', pattern: `${'('.repeat(900)}a${')'.repeat(900)}`, answer: 'accepted' },
  { name: '2,000 characters', pattern: 'x'.repeat(2_000), answer: 'accepted' },
  {
    name: 'names of a hundred of a hundred of a hundred',
    pattern: '((a{100}){100}){100}',
    keyword: 'patternProperties',
    answer: 'refused',
  },
  { name: 'a number of repetitions of 30 digits', pattern: `a{${'9'.repeat(30)}}`, answer: 'either' },
  {
    name: 'nine times up to 1,000 of anything',
    pattern: `^${'.{0,1000}'.repeat(9)}$`,
    value: a(2_000),
    answer: 'accepted',
  },
  {
    name: 'an automaton of 2^200 states',
    pattern: '^(?:a|b)*a(?:a|b){200}$',
    value: () => 'ab'.repeat(1_000),
    answer: 'accepted',
  },
  {
    name: 'every letter of every script, 99 times',
    pattern: '^[\\p{L}\\p{N}]{99}$',
    value: () => 'é'.repeat(99),
    answer: 'accepted',
  },
  {
    name: '400 choices',
    pattern: Array.from({ length: 400 }, (_, n) => `w${n}`).join('|'),
    value: a(500),
    answer: 'accepted',
  },
];

/** What RE2 has no way to run: an answer could not be checked by it. */
const backward: readonly PatternCase[] = [
  { name: 'a reference back', pattern: '^(a+)\\1$', places: FORMATS, answer: 'refused' },
  { name: 'a reference of a tool back', pattern: '^(a+)\\1$', places: TOOLS, value: a(3_000), answer: 'accepted' },
  { name: 'a reference back by name', pattern: '^(?<x>a+)\\k<x>$', places: FORMATS, answer: 'refused' },
  { name: 'a look ahead inside', pattern: '^(a(?=b)|c)+$', places: FORMATS, answer: 'refused' },
  { name: 'a look behind', pattern: '(?<=a)b', places: FORMATS, answer: 'refused' },
  { name: 'a look behind that is not', pattern: '(?<!a)b', places: FORMATS, answer: 'refused' },
  { name: 'no regular expression', pattern: '[', places: FORMATS, answer: 'refused' },
  { name: 'no regular expression of a tool', pattern: '[', places: TOOLS, answer: 'accepted' },
  { name: 'a repetition of nothing', pattern: '*', places: FORMATS, answer: 'refused' },
  {
    name: 'names that look behind',
    pattern: '(?<=a)b',
    keyword: 'patternProperties',
    places: FORMATS,
    answer: 'refused',
  },
];

/** As the common libraries write them. */
const meant: readonly PatternCase[] = [
  { name: 'a word', pattern: '^[a-z]+$', value: () => 'word', answer: 'accepted' },
  {
    name: 'a date',
    pattern: '^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])$',
    value: () => '2026-11-22',
    answer: 'accepted',
  },
  {
    name: 'a UUID',
    pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
    value: () => '00000000-0000-4000-8000-000000000000',
    answer: 'accepted',
  },
  { name: 'a telephone number', pattern: '^\\+[1-9]\\d{6,14}$', value: () => '+4912345678', answer: 'accepted' },
  {
    name: 'a host name with a look ahead at its beginning',
    pattern: '^(?=.{1,253}\\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$',
    value: () => 'example',
    answer: 'accepted',
  },
  {
    name: 'an e-mail address with two looks ahead at its beginning',
    pattern: "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
    value: () => 'kim@example.com',
    answer: 'accepted',
  },
  {
    name: 'Chinese by its code points',
    pattern: '^[\\u4e00-\\u9fff]+$',
    value: () => '中文',
    places: FORMATS,
    answer: 'failed',
  },
  { name: 'the empty pattern', pattern: '', value: () => 'x', answer: 'accepted' },
];

export const patterns: readonly PatternCase[] = [...meant, ...backtracking, ...large, ...backward];
