/** Label forms under TLDs, the likeliest first. Deterministic: the same words make the same names in the same order. */
import { type LabelForm, listLabelForms } from './label-forms.ts';
import type { QueryWords } from './split-words.ts';
import { GENERAL_TLDS, TOPICAL_TLDS, UNICODE_TLDS } from './vocabulary.ts';

interface RankedName {
  readonly name: string;
  readonly cost: number;
}

/** A label is easy to remember up to here; each letter beyond it costs. */
const EASY_LENGTH = 12;
const LETTER_COST = 0.2;
const TLD_COST = 1.1;
/** For each name that the label has been given already. */
const REPEAT_COST = 0.5;
const TOPICAL_COST = 1;
const SPLIT_COST = 1.5;
/** Across words the point is harder to see. */
const SPLIT_WORDS_COST = 3;
/** `stud.io` reads as a word; `a.io` does not. */
const SHORTEST_SPLIT = 2;

/** Under these TLDs alone. Unchecked: some may not be valid names. Without repetitions. */
export function rankNames(asked: QueryWords, tlds: readonly string[]): string[] {
  const sold = new Set(tlds);
  const usual = GENERAL_TLDS.filter((tld) => sold.has(tld));
  const general = usual.length > 0 ? usual : tlds.slice(0, GENERAL_TLDS.length);
  const suited = new Set(asked.words.flatMap((word) => TOPICAL_TLDS.get(word) ?? []));
  const ranked = [
    ...listLabelForms(asked).flatMap((form) => underTlds(form, { general, suited })),
    ...splitByTld(asked.words, tlds),
  ];
  return spread(ranked.filter(({ name }) => sold.has(name.slice(name.indexOf('.') + 1)))).map(({ name }) => name);
}

/** Each name once, in order of cost, which grows with each name that a label has had: an answer is to be a mixture. */
function spread(names: readonly RankedName[]): RankedName[] {
  const costlier = new Map<string, RankedName>();
  const uses = new Map<string, number>();
  for (const { name, cost } of names.toSorted(byCost)) {
    if (costlier.has(name)) continue;
    const label = name.slice(0, name.indexOf('.'));
    const used = uses.get(label) ?? 0;
    uses.set(label, used + 1);
    costlier.set(name, { name, cost: cost + used * REPEAT_COST });
  }
  return [...costlier.values()].sort(byCost);
}

/** Equal costs: the shorter name, then the alphabet. */
function byCost(a: RankedName, b: RankedName): number {
  return a.cost - b.cost || a.name.length - b.name.length || (a.name < b.name ? -1 : 1);
}

interface CandidateTlds {
  readonly general: readonly string[];
  /** To the words. */
  readonly suited: ReadonlySet<string>;
}

function underTlds({ label, cost, tlds }: LabelForm, { general, suited }: CandidateTlds): RankedName[] {
  const isAscii = /^[a-z\d-]*$/.test(label);
  const candidates = isAscii ? (tlds ?? [...new Set([...general, ...suited])]) : UNICODE_TLDS;
  // `shop.shop` says nothing twice.
  const saying = candidates.filter((tld) => tld !== label);
  const topical = tlds === undefined ? [...suited] : [];
  return saying.map((tld, rank) => {
    const topicalRank = topical.indexOf(tld) + 1;
    const tldCost = Math.min(rank * TLD_COST, topicalRank > 0 ? topicalRank * TOPICAL_COST : Number.POSITIVE_INFINITY);
    return { name: `${label}.${tld}`, cost: cost + tldCost + lengthCost(label) };
  });
}

/** Words that end as a TLD does: `studio` is stud.io. */
function splitByTld(words: readonly string[], tlds: readonly string[]): RankedName[] {
  const joined = words.join('');
  const cost = (words.length === 1 ? SPLIT_COST : SPLIT_WORDS_COST) + lengthCost(joined);
  return tlds
    .filter((tld) => joined.endsWith(tld) && joined.length - tld.length >= SHORTEST_SPLIT)
    .map((tld) => ({ name: `${joined.slice(0, -tld.length)}.${tld}`, cost }));
}

function lengthCost(label: string): number {
  return Math.max(0, label.length - EASY_LENGTH) * LETTER_COST;
}
