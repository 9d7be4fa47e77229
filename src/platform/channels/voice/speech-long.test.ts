import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MARKS, speak } from '../../../../test/support/speech-lines.ts';
import { SpeechText } from './speech-text.ts';

const LINE = 200_000;
const LETTERS = 20_000;
/** What is held back at most, with the letter that is one too many. */
const HELD = 4_001;

const ENDS = [
  ['', ''],
  ['', 'a'],
  ['', ' \u2028a'],
  ['a', ')a'],
] as const;
/** More than the brackets that one link may have; even, as some marks count in pairs. */
const FEW = 40;

for (const mark of MARKS) {
  test(`SpeechText speaks a long line of ${JSON.stringify(mark)} as it speaks a short one`, () => {
    for (const [before, after] of ENDS) {
      const say = (count: number) => speak([before + mark.repeat(count) + after]);
      const [short, longer] = [say(FEW), say(FEW + 2)];
      const pairs = Math.floor(LINE / mark.length / 2);
      const said = say(2 * pairs);
      assert.equal(said.length, short.length + (pairs - FEW / 2) * (longer.length - short.length), before + after);
      const half = short.length / 2;
      assert.ok(said.startsWith(short.slice(0, half)) && said.endsWith(short.slice(half)), before + after);
    }
  });
}

test('SpeechText holds back no more than 4,000 letters when what comes letter by letter has no blank', () => {
  for (const [first, piece] of [
    ['', 'a'],
    ['', '['],
    ['', '-'],
    ['', ' '],
    ['```', 'a'],
  ] as const) {
    const letters = first + piece.repeat(LETTERS);
    const said = speak(letters);
    assert.ok(letters.endsWith(said) && said.length >= letters.length - HELD, JSON.stringify([first, piece]));
  }
  const word = '😀'.repeat(10_000);
  assert.equal(speak(word.split('')), word);
  const speech = new SpeechText();
  const pushed = Array.from(word.slice(0, 9_000), (letter) => speech.push(letter));
  assert.ok(pushed.every((said) => said.isWellFormed()));
  assert.ok(pushed.join('') !== '', 'it is not held for ever');
});

test('an address may have brackets, and be long', () => {
  const address = `https://example.com/?filter[name]=x&signature=${'a'.repeat(1_500)}`;
  const text = `See [the ${'[page'}](${address}) now.`;
  assert.equal(speak([text]), 'See the [page now.');
  assert.equal(speak(`See [it](${address}) now.`), 'See it now.');
});
