/** What text is turned into speech with in tests: the marks of Markdown that a long line may be made of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpeechText } from '../../src/platform/channels/voice/speech-text.ts';

/** Everything that is said of text that arrives in these pieces. */
export function speak(pieces: Iterable<string>): string {
  const speech = new SpeechText();
  let said = '';
  for (const piece of pieces) said += speech.push(piece);
  return said + speech.end();
}

export const MARKS: readonly string[] = [
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

const ENDS = [
  ['', ''],
  ['', 'a'],
  ['', ' \u2028a'],
  ['a', ')a'],
] as const;
/** More than the brackets that one link may have; even, as some marks count in pairs. */
const FEW = 40;

export function testLongLines(chars: number): void {
  for (const mark of MARKS) {
    test(`SpeechText speaks a long line of ${JSON.stringify(mark)} as it speaks a short one`, () => {
      for (const [before, after] of ENDS) {
        const say = (count: number) => speak([before + mark.repeat(count) + after]);
        const [short, longer] = [say(FEW), say(FEW + 2)];
        const pairs = Math.floor(chars / mark.length / 2);
        const said = say(2 * pairs);
        assert.equal(said.length, short.length + (pairs - FEW / 2) * (longer.length - short.length), before + after);
        const half = short.length / 2;
        assert.ok(said.startsWith(short.slice(0, half)) && said.endsWith(short.slice(half)), before + after);
      }
    });
  }
}
