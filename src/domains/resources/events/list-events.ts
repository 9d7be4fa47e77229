import type { HttpReply } from '../../../kernel/http/operation.ts';
import { renderEvent } from '../../events/index.ts';
import { type ListQuery, listReply, rowsOf } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { EventList } from './schema.ts';

export async function listEvents({
  caller,
  db,
  query,
}: WorkspaceRead<{ query: ListQuery }>): Promise<HttpReply<EventList>> {
  // Ids are in the order in which they were made.
  let page = workspaceDb(db, caller.workspaceId).selectFrom('events').selectAll().orderBy('id', 'desc');
  if (query.after !== undefined) page = page.where('id', '<', query.after);
  const rows = await page.limit(rowsOf(query)).execute();
  return listReply(query, rows, (shown, next_after) => ({
    events: shown.map((row) => renderEvent(caller.workspaceId, row)),
    next_after,
  }));
}
