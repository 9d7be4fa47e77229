/** A zone as queries see it: which names there are, what they have, where it is cut. */
import type { ZoneContent } from '../publisher.ts';
import { encodeSet, types, type WireSet } from './encode-set.ts';

type Node = ReadonlyMap<number, WireSet>;

export interface ZoneTree {
  readonly name: string;
  /** Bytes that it takes, roughly. */
  readonly size: number;
  /** SOA, with the time that a resolver may remember that something is not there (RFC 2308 3). */
  readonly negativeSoa: WireSet;
  /** Undefined: there is no such name. A name that has only names below it is there, and empty. */
  find(name: string): Node | undefined;
}

export type Found =
  /** `wildcard`: the one that answers, where the name itself is not there. */
  | { readonly kind: 'node'; readonly node: Node; readonly wildcard?: string }
  | { readonly kind: 'delegation'; readonly name: string; readonly nameservers: WireSet }
  | { readonly kind: 'nothing' };

/** What a name takes up beside its records. */
const NODE_SIZE = 200;

export function buildZoneTree(content: ZoneContent): ZoneTree {
  const nodes = new Map<string, Map<number, WireSet>>();
  let size = NODE_SIZE;
  let negativeSoa: WireSet | undefined;
  for (const { name, ...recordSet } of content.recordSets) {
    const set = encodeSet(recordSet);
    nodeAt(nodes, name, content.name).set(set.type, set);
    size += set.size + NODE_SIZE;
    if (set.type !== types.SOA) continue;
    const minimum = Number(recordSet.values[0]?.split(' ').at(-1));
    negativeSoa = encodeSet({ ...recordSet, ttl: Math.min(recordSet.ttl, minimum) });
  }
  if (negativeSoa === undefined) throw new Error(`the zone ${content.name} has no SOA record`);
  return { name: content.name, size, negativeSoa, find: (name) => nodes.get(name) };
}

/** The names between it and the zone's own are there too (RFC 4592 2.2.2). */
function nodeAt(nodes: Map<string, Map<number, WireSet>>, name: string, zoneName: string): Map<number, WireSet> {
  const known = nodes.get(name);
  if (known !== undefined) return known;
  const node = new Map<number, WireSet>();
  nodes.set(name, node);
  if (name !== zoneName) nodeAt(nodes, name.slice(name.indexOf('.') + 1), zoneName);
  return node;
}

/**
 * RFC 1034 4.3.2 step 3 with RFC 4592: from the zone's own name down to `name`, which lies in the zone. A cut on the way
 * ends the search; where no name is, the wildcard beside it answers, but never one further up.
 */
export function findInZone(zone: ZoneTree, name: string, type: number): Found {
  let encloser = zone.name;
  for (const ancestor of namesDownTo(name, zone.name)) {
    const node = zone.find(ancestor);
    if (node === undefined) {
      const wildcard = zone.find(`*.${encloser}`);
      return wildcard === undefined ? { kind: 'nothing' } : { kind: 'node', node: wildcard, wildcard: `*.${encloser}` };
    }
    const nameservers = node.get(types.NS);
    // What a parent says of its child's keys is asked of the parent (RFC 4035 3.1.4.1).
    if (nameservers !== undefined && !(type === types.DS && ancestor === name)) {
      return { kind: 'delegation', name: ancestor, nameservers };
    }
    encloser = ancestor;
  }
  const node = zone.find(name);
  return node === undefined ? { kind: 'nothing' } : { kind: 'node', node };
}

/** For names of records, which have no dots inside of labels. */
export function isInZone(name: string, zoneName: string): boolean {
  return name === zoneName || name.endsWith(`.${zoneName}`);
}

/** Below the zone's own name, the shortest first. */
function namesDownTo(name: string, zoneName: string): string[] {
  const names: string[] = [];
  for (let rest = name; rest.length > zoneName.length; rest = parentOf(rest)) names.unshift(rest);
  return names;
}

/** Behind the first dot that is none of a label's own. */
export function parentOf(name: string): string {
  for (let at = 0; at < name.length; at += 1) {
    if (name[at] === '\\') at += 1;
    else if (name[at] === '.') return name.slice(at + 1);
  }
  return '';
}
