import { HttpReply } from '../../../kernel/http/operation.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { listDomains as listRows } from '../../portfolio/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import { renderEntry } from './render-domain.ts';
import type { DomainList } from './schema.ts';

const DEFAULT_LIMIT = 100;

export function listDomains({ nameservers, clock }: DomainDependencies) {
  return async ({ db, caller, query }: WorkspaceRead<{ query: { limit?: number; after?: string } }>) => {
    const limit = query.limit ?? DEFAULT_LIMIT;
    const rows = await listRows(workspaceDb(db, caller.workspaceId), { limit, after: query.after });
    const page = rows.slice(0, limit);
    const now = clock.now();
    const list: DomainList = {
      domains: page.map((row) => renderEntry(row, nameservers, now)),
      next_after: rows.length > limit ? (page.at(-1)?.name ?? null) : null,
    };
    return new HttpReply(200, list, { 'cache-control': 'private, no-store' });
  };
}
