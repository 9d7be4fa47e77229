import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpeechText } from './speech-text.ts';

/** In one piece, and letter by letter. */
function spoken(markdown: string): string {
  const whole = new SpeechText();
  const pieces = new SpeechText();
  const said = whole.push(markdown) + whole.end();
  assert.equal([...markdown].map((letter) => pieces.push(letter)).join('') + pieces.end(), said, 'letter by letter');
  return said;
}

test('marks are not spoken', () => {
  const cases = [
    ['Plain text, as it is.', 'Plain text, as it is.'],
    ['It is **very** *good* and ~~bad~~ `code`.', 'It is very good and bad code.'],
    ['# Plan\n\n- first\n* second\n1. third\n> said', 'Plan\n\nfirst\nsecond\n1. third\nsaid'],
    ['See [the page](https://example.com/a_b) or ![a cat](cat.png "Cat").', 'See the page or a cat.'],
    ['2 * 3 is 6, and snake_case stays, _this_ not.', '2 * 3 is 6, and snake_case stays, this not.'],
    ['```js\nlet a = 1;\n```\nDone.', '\nlet a = 1;\n\nDone.'],
    ['**A sentence. And another.** [1] is no link.', 'A sentence. And another. [1] is no link.'],
    ['| a | b |\n|---|---|\n| 1 | 2 |', 'a , b ,\n\n1 , 2 ,'],
    ['', ''],
  ];
  for (const [markdown = '', expected] of cases) assert.equal(spoken(markdown), expected, markdown);
});

test('words are said as soon as they are there', () => {
  const speech = new SpeechText();
  assert.deepEqual(
    ['Hel', 'lo **wor', 'ld** and [a ', 'link](https://x) he', 're'].map((piece) => speech.push(piece)),
    ['', 'Hello ', 'world and ', 'a link ', ''],
  );
  assert.equal(speech.end(), 'here');
});

test('a bracket that is never closed holds nothing up for long', () => {
  const speech = new SpeechText();
  const said = speech.push(`[${'word '.repeat(200)}`);
  assert.ok(said.length > 900);
});
