/** The query as words: "The Café für Zürich" is `cafe`, `zuerich`. */
import { KNOWN_WORDS, STOP_WORDS } from './vocabulary.ts';

export interface QueryWords {
  /** The host of a URL or name that was given in place of words, as it was spelt. */
  readonly host: string | undefined;
  /** Those that matter, transliterated where they are Latin. At least one, unless the text has no letter or digit. */
  readonly words: readonly string[];
  /** All of them, articles and the like included. */
  readonly allWords: readonly string[];
  /** `words` without the German way to write umlauts: `zurich`. */
  readonly plainWords: readonly string[];
  /** `words` with their accents. */
  readonly accentedWords: readonly string[];
}

/** More make no name that people remember. */
const WORDS_TAKEN = 6;
/** Shorter halves are more often chance than words. */
const SHORTEST_PART = 3;

/** What Unicode does not decompose. */
const LETTERS: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ħ: 'h', ı: 'i', ŋ: 'n' },
};
const GERMAN_LETTERS: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue' };

/** `tlds`: what a host in place of words may end with. */
export function splitWords(text: string, tlds: readonly string[]): QueryWords {
  const plainText = text.toWellFormed().normalize('NFKC');
  const host = hostOf(plainText);
  const accentedAll = spellOut(host === undefined ? plainText : withoutTld(host, tlds));
  const mattering = accentedAll.filter((word) => !STOP_WORDS.has(transliterate(word)));
  const accentedWords = (mattering.length > 0 ? mattering : accentedAll).slice(0, WORDS_TAKEN);
  return {
    host,
    words: accentedWords.map(transliterate),
    allWords: accentedAll.slice(0, WORDS_TAKEN + 2).map(transliterate),
    plainWords: accentedWords.map(withoutAccents),
    accentedWords,
  };
}

/** `https://www.blue-cafe.com/menu` is about `blue-cafe.com`. */
function hostOf(text: string): string | undefined {
  return /^(?:[a-z]+:\/\/)?(?:www\.)?([^\s/?#@:]+\.[^\s/?#@:]+?)\.?(?::\d+)?(?:[/?#]\S*)?$/iu.exec(text.trim())?.[1];
}

function withoutTld(host: string, tlds: readonly string[]): string {
  const ends = tlds.filter((tld) => host.toLowerCase().endsWith(`.${tld}`));
  const longest = Math.max(0, ...ends.map((tld) => tld.length + 1));
  return host.slice(0, host.length - longest);
}

function spellOut(text: string): string[] {
  return text
    .replace(/['’`´]/gu, '')
    .replace(/(\p{Ll})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/&|\+/gu, ' and ')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{Nd}]+/u)
    .filter((word) => word !== '')
    .flatMap(takeApart);
}

/** `coffeeshop` is two words, when both are known. */
function takeApart(word: string): string[] {
  if (KNOWN_WORDS.has(word)) return [word];
  for (let at = word.length - SHORTEST_PART; at >= SHORTEST_PART; at -= 1) {
    const [left, right] = [word.slice(0, at), word.slice(at)];
    if (KNOWN_WORDS.has(left) && KNOWN_WORDS.has(right)) return [left, right];
  }
  return [word];
}

function transliterate(word: string): string {
  return withoutAccents(word.replace(/[äöü]/gu, (letter) => GERMAN_LETTERS[letter] ?? letter));
}

/** Marks are taken from Latin letters only: elsewhere they are part of the writing. */
function withoutAccents(word: string): string {
  return word
    .normalize('NFD')
    .replace(/(?<=\p{Script=Latin})\p{Mn}+/gu, '')
    .replace(/[ßæœøđðþłħıŋ]/gu, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFC');
}
