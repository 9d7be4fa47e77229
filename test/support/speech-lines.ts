/** What text is turned into speech with in tests: the marks of Markdown that a long line may be made of. */
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
