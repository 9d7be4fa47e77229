/**
 * Labels that words make, each with what it costs in rank: 0 is the words as they are, and the further a form differs
 * from them the more it costs. With the cost of the TLD (rank-names.ts) the costs decide the mixture of an answer, so
 * that ten names are not ten TLDs of one label.
 */
import type { QueryWords } from './split-words.ts';
import { PREFIXES, SUFFIXES, SYNONYMS, TOPICAL_TLDS } from './vocabulary.ts';

export interface LabelForm {
  readonly label: string;
  readonly cost: number;
  /** The TLDs that it is offered under; absent: all that suit. */
  readonly tlds?: readonly string[];
}

const AFFIX_TLDS = ['com', 'io', 'co', 'app'] as const;
const SYNONYM_TLDS = ['com', 'net', 'io'] as const;
const FEW_TLDS = ['com', 'net', 'org', 'io'] as const;

export function listLabelForms(asked: QueryWords): LabelForm[] {
  const { words, allWords, plainWords, accentedWords } = asked;
  const joined = words.join('');
  const forms: LabelForm[] = [{ label: joined, cost: 0 }, ...topical(words), ...affixed(joined), ...related(words)];
  if (words.length > 1) forms.push({ label: words.join('-'), cost: 3, tlds: FEW_TLDS });
  if (allWords.length > words.length) forms.push({ label: allWords.join(''), cost: 3.5, tlds: FEW_TLDS });
  if (plainWords.join('') !== joined) forms.push({ label: plainWords.join(''), cost: 2.5, tlds: FEW_TLDS });
  if (accentedWords.join('') !== joined) forms.push({ label: accentedWords.join(''), cost: 3, tlds: FEW_TLDS });
  return [...forms, ...shortened(words)];
}

/** `coffee` of "coffee shop", for coffee.shop: the TLD says the rest. */
function topical(words: readonly string[]): LabelForm[] {
  if (words.length < 2) return [];
  return words.flatMap((word, at) => {
    const tlds = TOPICAL_TLDS.get(word);
    if (tlds === undefined) return [];
    const label = words.filter((_, other) => other !== at).join('');
    const [saysIt, others] = [tlds.filter((tld) => tld === word), tlds.filter((tld) => tld !== word)];
    return [
      ...(saysIt.length > 0 ? [{ label, cost: 0.5, tlds: saysIt }] : []),
      ...(others.length > 0 ? [{ label, cost: 3, tlds: others }] : []),
    ];
  });
}

/** The affixes are Latin: with another script they would mix. */
function affixed(joined: string): LabelForm[] {
  if (!/^[a-z\d]+$/.test(joined)) return [];
  const before = PREFIXES.filter((prefix) => !joined.startsWith(prefix));
  const behind = SUFFIXES.filter((suffix) => !joined.endsWith(suffix));
  return [
    ...before.map((prefix, rank) => ({ label: prefix + joined, cost: 4 + rank, tlds: AFFIX_TLDS })),
    ...behind.map((suffix, rank) => ({ label: joined + suffix, cost: 4.5 + rank, tlds: AFFIX_TLDS })),
  ];
}

/** One word in place of another that means as much. */
function related(words: readonly string[]): LabelForm[] {
  return words.flatMap((word, at) => {
    const others = [...new Set(SYNONYMS.filter((group) => group.includes(word)).flat())].filter(
      (other) => other !== word,
    );
    return others.map((other, rank) => ({
      label: words.with(at, other).join(''),
      cost: 3.8 + rank,
      tlds: SYNONYM_TLDS,
    }));
  });
}

/** Of three words and more: the first two, the last two, first and last, and the initials. */
function shortened(words: readonly string[]): LabelForm[] {
  const [first = '', second = ''] = words;
  const [beforeLast = '', last = ''] = words.slice(-2);
  if (words.length < 3) return [];
  const initials = words.map((word) => [...word][0] ?? '').join('');
  return [
    { label: first + second, cost: 3, tlds: FEW_TLDS },
    { label: beforeLast + last, cost: 3.2, tlds: FEW_TLDS },
    { label: first + last, cost: 3.4, tlds: FEW_TLDS },
    { label: initials, cost: 6, tlds: FEW_TLDS },
  ];
}
