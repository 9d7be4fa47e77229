/** What a zone answers to a question: RFC 1034 4.3.2, 2308, 4592, 6604, 8482. Nothing is looked up outside of the zone. */
import { minimalAny, types, type WireSet } from './encode-set.ts';
import { rcodes } from './read-query.ts';
import { findInZone, isInZone, type ZoneTree } from './zone-tree.ts';

/** A set at a name. */
export interface PlacedSet {
  readonly owner: string;
  readonly set: WireSet;
}

export interface ZoneAnswer {
  readonly rcode: number;
  readonly isAuthoritative: boolean;
  readonly answers: readonly PlacedSet[];
  readonly authorities: readonly PlacedSet[];
  /** Addresses without which a delegation could not be followed. */
  readonly glue: readonly PlacedSet[];
  /** What it has in common with others that are counted with it, see guard/response-rate.ts. */
  readonly rateName: string;
}

/** CNAMEs that are followed; a longer chain is the resolver's to follow, and a circle ends. */
const LONGEST_CHAIN = 8;

/** `name` is lower case and lies in the zone. */
export function answerQuery(zone: ZoneTree, name: string, type: number): ZoneAnswer {
  const answers: PlacedSet[] = [];
  let owner = name;
  let rateName = name;
  for (let links = 0; ; links += 1) {
    const found = findInZone(zone, owner, type);
    if (found.kind === 'nothing') return negative(zone, answers, rcodes.nameError);
    if (found.kind === 'delegation') return referral(zone, answers, found.name, found.nameservers);
    if (found.wildcard !== undefined) rateName = found.wildcard;
    const set = type === types.ANY ? anyOf(found.node) : found.node.get(type);
    if (set !== undefined) return positive([...answers, { owner, set }], rateName);
    const alias = found.node.get(types.CNAME);
    if (alias === undefined) return negative(zone, answers, rcodes.ok);
    answers.push({ owner, set: alias });
    const target = alias.targets[0] ?? '';
    const isKnown = answers.some((answer) => answer.owner === target);
    if (links + 1 >= LONGEST_CHAIN || isKnown || !isInZone(target, zone.name)) return positive(answers, rateName);
    owner = target;
  }
}

function anyOf(node: ReadonlyMap<number, WireSet>): WireSet | undefined {
  return node.size === 0 ? undefined : minimalAny;
}

function positive(answers: readonly PlacedSet[], rateName: string): ZoneAnswer {
  return { rcode: rcodes.ok, isAuthoritative: true, answers, authorities: [], glue: [], rateName };
}

function negative(zone: ZoneTree, answers: readonly PlacedSet[], rcode: number): ZoneAnswer {
  const authorities = [{ owner: zone.name, set: zone.negativeSoa }];
  return { rcode, isAuthoritative: true, answers, authorities, glue: [], rateName: zone.name };
}

/** Authoritative only for the CNAMEs that led there. */
function referral(zone: ZoneTree, answers: readonly PlacedSet[], cut: string, nameservers: WireSet): ZoneAnswer {
  const glue = nameservers.targets.flatMap((owner) => {
    const node = isInZone(owner, zone.name) ? zone.find(owner) : undefined;
    return [node?.get(types.A), node?.get(types.AAAA)].flatMap((set) => (set === undefined ? [] : [{ owner, set }]));
  });
  const authorities = [{ owner: cut, set: nameservers }];
  return { rcode: rcodes.ok, isAuthoritative: answers.length > 0, answers, authorities, glue, rateName: cut };
}
