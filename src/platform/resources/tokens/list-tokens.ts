import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderToken } from './render-token.ts';
import { listTokens as listRows } from './store.ts';

export async function listTokens({ db, caller, query }: ProjectRead<{ query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'tenant.tokens']);
  const rows = await listRows(db, page);
  return pageReply(
    rows,
    page,
    (row) => row.id,
    (row) => renderToken(caller.projectId, row),
  );
}
