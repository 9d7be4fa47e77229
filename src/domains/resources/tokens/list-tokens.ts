import type { HttpReply } from '../../../kernel/http/operation.ts';
import { type ListQuery, listReply, rowsOf } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderToken } from './render-token.ts';
import type { TokenList } from './schema.ts';

export async function listTokens({
  caller,
  db,
  query,
}: WorkspaceRead<{ query: ListQuery }>): Promise<HttpReply<TokenList>> {
  // Ids are in the order in which they were made.
  let page = workspaceDb(db, caller.workspaceId).selectFrom('tokens').selectAll().orderBy('id', 'desc');
  if (query.after !== undefined) page = page.where('id', '<', query.after);
  const rows = await page.limit(rowsOf(query)).execute();
  return listReply(query, rows, (shown, next_after) => ({
    tokens: shown.map((row) => renderToken(row, caller)),
    next_after,
  }));
}
