/** The tree that spans make by their parents. A parent that is not there is no fault: it may come later. */
import { MAX_TREE_DEPTH } from './limits.ts';

export interface TreeProblem {
  readonly kind: 'cycle' | 'depth';
  /** Where it was met. */
  readonly spanId: string;
}

/**
 * The first cycle, or the first span that is more than MAX_TREE_DEPTH levels down. By span: its parent. Looks at each span
 * once, without recursion.
 */
export function findTreeProblem(parents: ReadonlyMap<string, string | null>): TreeProblem | undefined {
  const depths = new Map<string, number>();
  for (const start of parents.keys()) {
    const trail: string[] = [];
    const met = new Set<string>();
    let at: string | null = start;
    while (at !== null && parents.has(at) && !depths.has(at)) {
      if (met.has(at)) return { kind: 'cycle', spanId: at };
      met.add(at);
      trail.push(at);
      at = parents.get(at) ?? null;
    }
    let depth = at === null ? 0 : (depths.get(at) ?? 0);
    for (const spanId of trail.toReversed()) {
      depth += 1;
      if (depth > MAX_TREE_DEPTH) return { kind: 'depth', spanId };
      depths.set(spanId, depth);
    }
  }
  return undefined;
}
