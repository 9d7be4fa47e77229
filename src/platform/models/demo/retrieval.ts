import type { ContextSection } from '../context-sections.ts';

/** At most this many lines are quoted, those that match nearly as well as the best one. */
const QUOTED_LINES_MAX = 3;
const NEARLY = 0.75;
const LINE_MAX_CHARS = 500;

const STOP_WORDS = new Set(
  `a about all an and any are as at be been but by can could did do does for from had has have he her his how i if in into
   is it its me my no not of on or our out she should so tell than that the their them there these they this to us was we
   were what when where which who why will with would you your please`.split(/\s+/),
);

/** A line of its own that says what the lines below it are to be cited by: 【1†report.pdf】. */
const MARKER = /^【[^】]*】$/;

/**
 * The lines of the sections that match a question best, best first, each with the marker that it stands under; none when
 * no line shares a word with it. A line's score is the sum, over the distinct words that it shares with the question, of how rare the word is among the lines.
 */
export function findBestLines(question: string, sections: readonly ContextSection[]): string[] {
  const lines = listLines(sections);
  const holdersOfWords = indexWords(lines);
  const scores = new Array<number>(lines.length).fill(0);
  for (const word of readWords(question)) {
    const holders = holdersOfWords.get(word) ?? [];
    const rarity = Math.log(1 + lines.length / Math.max(1, holders.length));
    for (const index of holders) scores[index] = (scores[index] ?? 0) + rarity;
  }
  const best = scores.reduce((highest, score) => Math.max(highest, score), 0);
  if (best === 0) return [];
  return lines
    .map((line, index) => ({ line, score: scores[index] ?? 0 }))
    .filter(({ score }) => score >= best * NEARLY)
    .sort((a, b) => b.score - a.score)
    .slice(0, QUOTED_LINES_MAX)
    .map(({ line: { text, marker } }) => {
      const shown = text.length > LINE_MAX_CHARS ? `${text.slice(0, LINE_MAX_CHARS).toWellFormed()}…` : text;
      return marker === '' ? shown : `${shown} ${marker}`;
    });
}

/** Each word with the indices of the lines that have it. */
function indexWords(lines: readonly Line[]): Map<string, number[]> {
  const holdersOfWords = new Map<string, number[]>();
  for (const [index, { text }] of lines.entries()) {
    for (const word of readWords(text)) {
      const holders = holdersOfWords.get(word);
      if (holders === undefined) holdersOfWords.set(word, [index]);
      else holders.push(index);
    }
  }
  return holdersOfWords;
}

interface Line {
  readonly text: string;
  readonly marker: string;
}

/** Each line once, by its first place. */
function listLines(sections: readonly ContextSection[]): Line[] {
  const lines = new Map<string, Line>();
  for (const section of sections) {
    let marker = '';
    for (const line of section.text.split('\n')) {
      const text = line.trim();
      if (MARKER.test(text)) marker = text;
      else if (/[\p{L}\p{N}]/u.test(text) && !lines.has(text)) lines.set(text, { text, marker });
    }
  }
  return [...lines.values()];
}

/** Lower-case words without the commonest, with a plural's s taken off; scripts without spaces by pairs of characters. */
function readWords(text: string): Set<string> {
  const words = new Set<string>();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u.test(word)) {
      for (let index = 0; index + 1 < word.length; index++) words.add(word.slice(index, index + 2));
    } else if (!STOP_WORDS.has(word)) {
      words.add(word.length > 3 ? word.replace(/(?<!s)s$/, '') : word);
    }
  }
  return words;
}
