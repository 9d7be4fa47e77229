/** What settings of an agent or a smith refer to: stores, servers, skills and tools, by the rule of references.ts. */

import { ApiError } from '../../kernel/http/errors.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { SmithConfig } from '../tables.ts';
import type { ProjectCaller } from './caller.ts';
import { type ReferenceKind, requireReferences } from './references.ts';

/** Settings, as far as they refer to anything. */
export type ReferringConfig = {
  readonly [K in ListKey]?: SmithConfig[K] | null | undefined;
};

type ListKey = 'vector_store_ids' | 'mcp_servers' | 'skills' | 'enabled_hosted_tools';

const lists: readonly { readonly key: ListKey; readonly kind: ReferenceKind; readonly what: string }[] = [
  { key: 'vector_store_ids', kind: 'vector_store', what: 'vector store' },
  { key: 'mcp_servers', kind: 'mcp_server', what: 'MCP server' },
  { key: 'skills', kind: 'skill', what: 'skill' },
  { key: 'enabled_hosted_tools', kind: 'hosted_tool', what: 'hosted tool' },
];

/**
 * Throws `not_found`, with the setting as `param`, where `next` names what `present` does not and the caller could not get
 * itself. What stands there already may be sent back.
 */
export async function requireConfigReferences(
  db: TenantDb,
  caller: ProjectCaller,
  next: ReferringConfig,
  present: ReferringConfig,
): Promise<void> {
  for (const { key, kind, what } of lists) {
    const known = new Set(namesOf(present[key]));
    const added = namesOf(next[key]).filter((name) => !known.has(name));
    await requireReferences(db, caller, kind, added, (name) => {
      const message = `\`${key}\` names a ${what} that this token cannot get: ${name}. Nothing was changed.`;
      return new ApiError('not_found', { param: key, message });
    });
  }
}

/** A skill in another version is another reference. What a caller sends as an id may have a blank, which begins the version. */
function namesOf(list: ReferringConfig[ListKey]): string[] {
  return (list ?? []).map((each) => {
    if (typeof each === 'string') return each;
    const id = each.skill_id.replaceAll(' ', '%20');
    return each.version === undefined ? id : `${id} ${each.version}`;
  });
}
