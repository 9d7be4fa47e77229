import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cleanFilename } from './clean-filename.ts';

const cases: readonly (readonly [sent: string, kept: string])[] = [
  ['report.pdf', 'report.pdf'],
  ['Bericht März (2).pdf', 'Bericht März (2).pdf'],
  ['日本語.txt', '日本語.txt'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\ada\\notes.txt', 'notes.txt'],
  ['a\0b.txt', 'ab.txt'],
  ['line\r\nbreak\u2028.txt', 'linebreak.txt'],
  ['say %22hi%22%0D%0A.txt', 'say "hi".txt'],
  ['\u202egpj.exe', 'gpj.exe'],
  ['half \ud800.txt', 'half \ufffd.txt'],
  ['  spaced.txt ', 'spaced.txt'],
  ['.env', '.env'],
  ['', 'upload'],
  ['.', 'upload'],
  ['..', 'upload'],
  ['folder/', 'upload'],
  ['\0\0', 'upload'],
];

for (const [sent, kept] of cases) {
  test(`${JSON.stringify(sent)} is kept as ${JSON.stringify(kept)}`, () => assert.equal(cleanFilename(sent), kept));
}

test('a long name is cut between characters, and keeps its ending', () => {
  const name = cleanFilename(`${'é'.repeat(300)}.docx`);
  assert.match(name, /^é+\.docx$/);
  assert.ok(Buffer.byteLength(name) <= 255 && Buffer.byteLength(name) > 252);
  assert.equal(Buffer.byteLength(cleanFilename(`a.${'x'.repeat(400)}`)), 255);
});

test('whatever is sent, the name is short, has no folder and no control character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (sent) => {
      const name = cleanFilename(sent);
      assert.ok(name.length > 0 && Buffer.byteLength(name) <= 255);
      assert.doesNotMatch(name, /[/\\\p{Cc}]/u);
      assert.ok(name.isWellFormed());
      assert.ok(!/^\.*$/.test(name));
    }),
  );
});
