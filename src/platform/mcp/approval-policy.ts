/** Which calls of a server's tools a person must approve: the first rule that fits decides, and no rule, no approval. */
import type { McpPolicyRule, McpToolEntry, McpToolHints } from '../tables.ts';

/** A hint that a server says nothing of is as the protocol has it: not read-only, destructive, not idempotent, open. */
const selectors: Readonly<Record<string, (hints: McpToolHints) => boolean>> = {
  '@read_only': ({ readOnly }) => readOnly === true,
  '@destructive': ({ readOnly, destructive }) => readOnly !== true && destructive !== false,
  '@idempotent': ({ readOnly, idempotent }) => readOnly === true || idempotent === true,
  '@open_world': ({ openWorld }) => openWorld !== false,
};

export const HINT_SELECTORS: readonly string[] = Object.keys(selectors);

export function requiresApproval(
  policy: readonly McpPolicyRule[],
  tool: Pick<McpToolEntry, 'name' | 'hints'>,
): boolean {
  const rule = policy.find(({ match }) => fits(match, tool));
  return rule?.require === 'always';
}

function fits(match: string, { name, hints }: Pick<McpToolEntry, 'name' | 'hints'>): boolean {
  const selector = selectors[match];
  return selector === undefined ? matchesGlob(match, name) : selector(hints);
}

/** `*` stands for any characters, `?` for one. Without backtracking further than the last `*`: at most the product of both lengths. */
function matchesGlob(pattern: string, text: string): boolean {
  let [at, from, star, mark] = [0, 0, -1, 0];
  while (at < text.length) {
    if (pattern[from] === '*') {
      star = from;
      mark = at;
      from += 1;
    } else if (from < pattern.length && (pattern[from] === '?' || pattern[from] === text[at])) {
      from += 1;
      at += 1;
    } else if (star >= 0) {
      from = star + 1;
      mark += 1;
      at = mark;
    } else {
      return false;
    }
  }
  while (pattern[from] === '*') from += 1;
  return from === pattern.length;
}
