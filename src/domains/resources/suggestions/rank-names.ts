/** Label forms under TLDs, the likeliest first. Deterministic: the same words make the same names in the same order. */
import { offeredTlds } from '../../prices/tlds.ts';
import { type LabelForm, listLabelForms } from './label-forms.ts';
import type { AskedWords } from './split-words.ts';
import { GENERAL_TLDS, TOPICAL_TLDS, UNICODE_TLDS } from './vocabulary.ts';

interface RankedName {
  readonly name: string;
  readonly cost: number;
}

/** A label is easy to remember up to here; each letter beyond it costs. */
const EASY_LENGTH = 12;
const LETTER_COST = 0.2;
const TLD_COST = 1.3;
const TOPICAL_COST = 1;
const SPLIT_COST = 1.5;
/** Across words the point is harder to see. */
const SPLIT_WORDS_COST = 3;
/** `stud.io` reads as a word; `a.io` does not. */
const SHORTEST_SPLIT = 2;

/** Unchecked: some may not be valid names. Without repetitions. */
export function rankNames(asked: AskedWords): string[] {
  const suited = new Set(asked.words.flatMap((word) => TOPICAL_TLDS.get(word) ?? []));
  const ranked = [...listLabelForms(asked).flatMap((form) => underTlds(form, suited)), ...splitByTld(asked.words)];
  ranked.sort((a, b) => a.cost - b.cost || a.name.length - b.name.length || (a.name < b.name ? -1 : 1));
  return [...new Set(ranked.map(({ name }) => name))];
}

function underTlds({ label, cost, tlds }: LabelForm, suited: ReadonlySet<string>): RankedName[] {
  const isAscii = /^[a-z\d-]*$/.test(label);
  const candidates = isAscii ? (tlds ?? [...new Set([...GENERAL_TLDS, ...suited])]) : UNICODE_TLDS;
  // `shop.shop` says nothing twice.
  const saying = candidates.filter((tld) => tld !== label);
  return saying.map((tld, rank) => {
    const tldCost = tlds === undefined && suited.has(tld) ? Math.min(TOPICAL_COST, rank * TLD_COST) : rank * TLD_COST;
    return { name: `${label}.${tld}`, cost: cost + tldCost + lengthCost(label) };
  });
}

/** Words that end as a TLD does: `studio` is stud.io. */
function splitByTld(words: readonly string[]): RankedName[] {
  const joined = words.join('');
  const cost = (words.length === 1 ? SPLIT_COST : SPLIT_WORDS_COST) + lengthCost(joined);
  return offeredTlds
    .filter(({ tld }) => joined.endsWith(tld) && joined.length - tld.length >= SHORTEST_SPLIT)
    .map(({ tld }) => ({ name: `${joined.slice(0, -tld.length)}.${tld}`, cost }));
}

function lengthCost(label: string): number {
  return Math.max(0, label.length - EASY_LENGTH) * LETTER_COST;
}
