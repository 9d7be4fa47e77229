/**
 * How many subschemas a validator applies to one and the same value. A schema of a few lines can say 2^30 of them, each
 * `allOf` naming the next twice; or, referring to itself at the same value, endlessly many. Recursion that goes into a
 * member or an item is as deep as the value is, and not counted.
 */

import type { SchemaNode } from './schema-graph.ts';
import { schemaLimits } from './schema-limits.ts';
import type { SchemaProblem } from './schema-problem.ts';

/** Counts each node once, from its last reference back to its first, and follows no reference twice. */
export function findRepeatedApplication(nodes: readonly SchemaNode[]): SchemaProblem | undefined {
  const applied = new Map<SchemaNode, number>();
  const open = new Set<SchemaNode>();
  for (const start of nodes) {
    if (applied.has(start)) continue;
    const trail: { readonly node: SchemaNode; next: number; sum: number }[] = [{ node: start, next: 0, sum: 1 }];
    open.add(start);
    for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
      const target = top.node.appliesHere[top.next];
      if (target === undefined) {
        if (top.sum > schemaLimits.appliedSubschemas) return tooMany(top.node);
        applied.set(top.node, top.sum);
        open.delete(top.node);
        trail.pop();
        continue;
      }
      const known = applied.get(target);
      if (known !== undefined) {
        top.sum += known;
        top.next += 1;
      } else if (open.has(target)) {
        return { pointer: `${target.place}`, problem: 'that applies itself to the same value again, without end' };
      } else {
        open.add(target);
        trail.push({ node: target, next: 0, sum: 1 });
      }
    }
  }
  return undefined;
}

function tooMany({ place }: SchemaNode): SchemaProblem {
  const problem = `that applies more than ${schemaLimits.appliedSubschemas} subschemas to one value, following its references`;
  return { pointer: `${place}`, problem };
}
