import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type SplitLimits, splitMarkdown } from './split-markdown.ts';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const graphemesOf = (text: string) => [...segmenter.segment(text)].map(({ segment }) => segment);
/** Without white space, also where it is a letter's. */
const inked = (text: string) =>
  graphemesOf(text)
    .map((grapheme) => grapheme.trim())
    .filter((grapheme) => grapheme !== '');

function split(text: string, limits: SplitLimits): string[] {
  return [...splitMarkdown(text, limits)];
}

test('what fits is one part, and nothing is none', () => {
  assert.deepEqual(split('# Hello\n\nWorld', { limit: 100 }), ['# Hello\n\nWorld']);
  assert.deepEqual(split(' \n\t\n', { limit: 100 }), []);
  assert.deepEqual(split('x'.repeat(100), { limit: 100 }), ['x'.repeat(100)]);
});

test('parts end between paragraphs, else between lines, sentences, words', () => {
  const cases: readonly [text: string, parts: readonly string[]][] = [
    [`${'a'.repeat(30)}\n\n${'b '.repeat(15)}`, ['a'.repeat(30), 'b '.repeat(15).trim()]],
    [`${'a'.repeat(30)}\n${'b '.repeat(15)}`, ['a'.repeat(30), 'b '.repeat(15).trim()]],
    [`${'a'.repeat(20)} aaa. ${'b '.repeat(15)}`, [`${'a'.repeat(20)} aaa.`, 'b '.repeat(15).trim()]],
    [`${'word '.repeat(8)}${'x'.repeat(20)}`, ['word '.repeat(8).trim(), 'x'.repeat(20)]],
    ['x'.repeat(90), ['x'.repeat(40), 'x'.repeat(40), 'x'.repeat(10)]],
  ];
  for (const [text, parts] of cases) assert.deepEqual(split(text, { limit: 40 }), parts);
});

test('code that goes on is closed and opened again, with its language and its place', () => {
  const lines = Array.from({ length: 6 }, (_, n) => `  line ${n}`);
  const code = ['Look:', '', '```ts title="x"', ...lines, '```', '', 'Done.'].join('\n');
  const parts = split(code, { limit: 48 });
  assert.deepEqual(parts, [
    'Look:\n\n```ts title="x"\n  line 0\n  line 1\n```',
    '```ts\n  line 2\n  line 3\n  line 4\n  line 5\n```',
    'Done.',
  ]);
  const quoted = split(`> ~~~\n${'> 12345\n'.repeat(9)}> ~~~\n`, { limit: 40 });
  for (const part of quoted) assert.match(part, /^> ~~~\n(?:> 12345\n)+> ~~~$/);
});

test('a block of code begins in a part of its own rather than with its first line alone', () => {
  const parts = split(`${'a'.repeat(30)}\n\`\`\`python\n${'b'.repeat(30)}\n\`\`\``, { limit: 48 });
  assert.deepEqual(parts, ['a'.repeat(30), `\`\`\`python\n${'b'.repeat(30)}\n\`\`\``]);
});

test('no family, flag or letter with its accents is taken apart', () => {
  for (const grapheme of ['👩‍👩‍👧‍👦', '🇩🇪', 'ä', 'नि', '👍🏽', '각', '\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}']) {
    const text = grapheme.repeat(40);
    const parts = split(text, { limit: 50 });
    assert.equal(parts.join(''), text);
    for (const part of parts) {
      assert.ok(part.length <= 50 && part.length % grapheme.length === 0, `${grapheme}: ${part.length}`);
    }
  }
});

test('one letter larger than a part is taken apart between characters', () => {
  const parts = split(`a${'\u0301'.repeat(100)}`, { limit: 30 });
  assert.equal(parts.join('').length, 101);
  assert.ok(parts.every((part) => part.length <= 30));
  assert.ok(split('👍'.repeat(20), { limit: 5 }).every((part) => part.isWellFormed()));
});

const word = fc.oneof(
  fc.stringMatching(/^[a-z.!?,]{1,12}$/),
  fc.constantFrom(
    '👩‍👩‍👧‍👦',
    '🇩🇪🇫🇷',
    'e\u0301',
    '\u0600',
    ' \u0301',
    '한국어',
    '\r\n',
    '\u200d',
    '- ',
    '> ',
    '`',
    '@you',
  ),
);
const prose = fc.array(fc.tuple(word, fc.constantFrom('', ' ', ' ', '\n', '\n\n', '\t')), { maxLength: 120 });
const proseText = prose.map((words) => words.flat().join('').replaceAll(/`{3,}/g, '``'));

test('the parts of a text are within the limit and together the whole of it, no grapheme cut', () => {
  fc.assert(
    fc.property(proseText, fc.integer({ min: 40, max: 200 }), (text, limit) => {
      const parts = split(text, { limit });
      for (const part of parts) assert.ok(part.length <= limit && part.trim() !== '', JSON.stringify(part));
      assert.deepEqual(parts.flatMap(inked), inked(text.replaceAll(/\r\n?/g, '\n')));
    }),
    { numRuns: 300 },
  );
});

const fenced = fc
  .array(
    fc.tuple(
      proseText,
      fc.constantFrom('```', '~~~~'),
      fc.stringMatching(/^[a-z]{0,6}$/),
      fc.stringMatching(/^(?:[ -~]{0,30}\n){0,12}$/),
    ),
    {
      maxLength: 4,
    },
  )
  .map((blocks) =>
    blocks
      .map(
        ([text, marks, language, code]) => `${text}\n\n${marks}${language}\n${code.replaceAll(/[`~]/g, '.')}${marks}\n`,
      )
      .join('\n'),
  );
const isFence = /^(?:```|~~~~)[a-z]*$/;
const withoutFences = (text: string) =>
  text
    .split('\n')
    .filter((line) => !isFence.test(line))
    .join('')
    .replaceAll(/\s/g, '');

test('of a text with code too, and each part closes what it opens', () => {
  fc.assert(
    fc.property(fenced, fc.integer({ min: 60, max: 300 }), (text, limit) => {
      const parts = split(text, { limit });
      for (const part of parts) {
        assert.ok(part.length <= limit, `${part.length} > ${limit}`);
        const fences = part.split('\n').filter((line) => isFence.test(line));
        assert.equal(fences.length % 2, 0, JSON.stringify(part));
      }
      assert.equal(parts.map(withoutFences).join(''), withoutFences(text));
    }),
    { numRuns: 300 },
  );
});

test('parts are as long as whoever limits them measures', () => {
  const bytes = (text: string) => Buffer.byteLength(text);
  fc.assert(
    fc.property(proseText, (text) => {
      for (const part of split(text, { limit: 80, measure: bytes })) assert.ok(bytes(part) <= 80);
    }),
  );
});

test('splitMarkdown keeps every word of a text of a megabyte', () => {
  const text = 'Some words of a long text. '.repeat(40_000);
  const parts = split(text, { limit: 4_096 });
  assert.ok(parts.every((part) => part.length <= 4_096));
  assert.equal(`${parts.join(' ')} `, text);
});
