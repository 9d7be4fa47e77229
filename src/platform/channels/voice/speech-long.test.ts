import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computedMs } from '../../../../test/support/computed-time.ts';
import { SpeechText } from './speech-text.ts';

const LINE = 200_000;
/** Far beyond what linear time needs; quadratic time is several times this for what was the worst. */
const STALL_MS = 2_000;

function inTime<T>(what: string, work: () => T): T {
  const started = computedMs();
  const result = work();
  const tookMs = computedMs() - started;
  assert.ok(tookMs < STALL_MS, `${what} took ${Math.round(tookMs)} ms of processor time`);
  return result;
}

function speak(pieces: Iterable<string>): string {
  const speech = new SpeechText();
  let said = '';
  for (const piece of pieces) said += speech.push(piece);
  return said + speech.end();
}

test('one long line of marks is spoken in linear time', () => {
  const repeated = [
    '[',
    '![',
    '[](',
    '[a](b',
    '[a] ',
    '[](a "',
    '`',
    '`\u2028',
    '~',
    '- ',
    '# ',
    '> ',
    '_',
    '_a',
    'a_',
    '*',
    '| ',
    ' ',
  ];
  for (const piece of repeated) {
    for (const [before, after] of [
      ['', ''],
      ['', 'a'],
      ['', ' \u2028a'],
      ['a', ')a'],
    ] as const) {
      const line = before + piece.repeat(LINE / piece.length) + after;
      inTime(JSON.stringify([before, piece, after]), () => speak([line]));
    }
  }
});

test('what has no blank is spoken in linear time, letter by letter', () => {
  for (const [first, piece] of [
    ['', 'a'],
    ['', '['],
    ['', '-'],
    ['', ' '],
    ['```', 'a'],
  ] as const) {
    const letters = first + piece.repeat(LINE / 2);
    inTime(JSON.stringify([first, piece]), () => speak(letters));
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
