import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAX_PIECE_TOKENS, splitPieces } from './split-pieces.ts';

/** A token a word, and one for each 8 characters of it. */
const countTokens = (text: string) => text.split(' ').reduce((sum, word) => sum + Math.ceil(word.length / 8), 0);
const textsOf = (text: string) => splitPieces(text, countTokens).map((piece) => piece.text);

test('a text that the model can read whole is one piece, with its blanks made one', () => {
  assert.deepEqual(textsOf(' One.\r\nTwo.\t\u0000 Three. \u00a0'), ['One. Two. Three.']);
  assert.deepEqual(splitPieces('One two', countTokens), [{ text: 'One two', tokens: 2 }]);
});

test('a longer one is cut into its sentences, and lines that were wrapped are joined', () => {
  const filler = 'word '.repeat(130).trim();
  assert.deepEqual(
    textsOf(`# Title\n\nA sentence that\nis wrapped. Another one!\n- ${filler.slice(0, 300)}.\n${filler}.`).slice(0, 3),
    ['# Title', 'A sentence that is wrapped.', 'Another one!'],
  );
});

test('a sentence that is too long is halved at blanks, and what has none is cut anywhere but in a character', () => {
  const words = Array.from({ length: 1000 }, (_, index) => `w${index}`);
  const pieces = splitPieces(words.join(' '), countTokens);
  assert.ok(pieces.length >= 8 && pieces.length <= 16);
  assert.deepEqual(
    pieces.flatMap((piece) => piece.text.split(' ')),
    words,
  );
  const emoji = '😀'.repeat(3001);
  assert.ok(textsOf(`x${emoji}`).every((text) => text.isWellFormed()));
});

test('rulers are left out where there are words', () => {
  const row = 'cell '.repeat(40);
  const table = `| ${row} |\n|${'-'.repeat(200)}|\n| ${row} |\n| ${row} |\n| ${row} |`;
  assert.ok(textsOf(table).every((text) => text.includes('cell')));
  assert.ok(textsOf('-'.repeat(5000)).length > 0);
});

test('whatever the text, there is a piece, and none is too long or empty', () => {
  const text = fc.string({ unit: 'binary', maxLength: 300 });
  const long = fc.tuple(text, fc.integer({ min: 1, max: 60 })).map(([part, times]) => part.repeat(times));
  fc.assert(
    fc.property(fc.oneof(text, long), (each) => {
      const pieces = splitPieces(each, countTokens);
      assert.ok(pieces.length > 0);
      for (const piece of pieces) {
        assert.ok(piece.text !== '' && piece.tokens >= 1 && piece.tokens <= MAX_PIECE_TOKENS, JSON.stringify(piece));
      }
    }),
    { numRuns: 100 },
  );
});
