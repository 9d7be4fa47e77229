import assert from 'node:assert/strict';
import { test } from 'node:test';
import { speak, testLongLines } from '../../../../test/support/speech-lines.ts';
import { SpeechText } from './speech-text.ts';

const LETTERS = 20_000;
/** What is held back at most, with the letter that is one too many. */
const HELD = 4_001;

testLongLines(20_000);

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
