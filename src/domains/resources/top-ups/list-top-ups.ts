import type { HttpReply } from '../../../kernel/http/operation.ts';
import { type ListQuery, listReply, rowsOf } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderTopUp } from './render-top-up.ts';
import type { TopUpList } from './schema.ts';
import { listTopUps as listRows } from './store.ts';

export async function listTopUps({
  caller,
  db,
  query,
}: WorkspaceRead<{ query: ListQuery }>): Promise<HttpReply<TopUpList>> {
  const rows = await listRows(workspaceDb(db, caller.workspaceId), query.after, rowsOf(query));
  return listReply(query, rows, (shown, next_after) => ({ top_ups: shown.map(renderTopUp), next_after }));
}
