import { createRandom } from '../random.ts';

/** Common words, so that a tokenizer and a full-text index find about as much in the text as in one that somebody wrote. */
const WORDS = (
  'the of and to in is that for it as was with be by on not he this are or his from at which but have an had they you were ' +
  'their one all we can her has there been if more when will would who so no out up into them then she may about other ' +
  'these some two time only new could very my than first now people over such any many much before must where through ' +
  'state world work public government system order between number water house interest power question business market ' +
  'service company development different important national history political following possible according education ' +
  'information management experience understanding particular community university department programme attention'
).split(' ');
const WORDS_PER_SENTENCE = 14;
const SENTENCES_PER_PARAGRAPH = 6;

/** Paragraphs of random sentences, exactly so many bytes of ASCII; the same for the same seed. */
export function makeText(seed: number, bytes: number): string {
  const random = createRandom(seed);
  const pieces: string[] = [];
  let length = 0;
  for (let sentence = 1; length < bytes; sentence += 1) {
    const size = 1 + Math.floor(random() * 2 * WORDS_PER_SENTENCE);
    const words = Array.from({ length: size }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ');
    const end = sentence % SENTENCES_PER_PARAGRAPH === 0 ? '.\n\n' : '. ';
    pieces.push(words.charAt(0).toUpperCase(), words.slice(1), end);
    length += words.length + end.length;
  }
  return pieces.join('').slice(0, bytes);
}
